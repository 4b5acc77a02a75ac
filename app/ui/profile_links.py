"""Links between a kernel of a Systems report and its launches in a Compute report. Each is a shareable URL."""

from typing import Any

import pandas as pd
import streamlit as st

from app import page_list, session
from app.ui import format as fmt
from app.ui import navigation
from profiledb.errors import WarpdeckError

LAUNCHES = page_list.get_script("kernel_profiles")
KERNEL = page_list.get_script("kernel")
_ICON = ":material/arrow_outward:"


def open_launch(report_id: str, launch: int) -> None:
    """Navigate to a launch of a Compute report."""
    navigation.to(LAUNCHES, {session.PARAMETER: report_id, "launch": str(launch)})


def to_launch(report_id: str, launch: int) -> None:
    """Draw a link to a launch that Nsight Compute measured."""
    st.page_link(
        LAUNCHES, label="Stalls, roofline and rules in Nsight Compute", icon=_ICON, width="content",
        query_params={session.PARAMETER: report_id, "launch": str(launch)},
    )  # fmt: skip


def to_kernels(report_id: str, launch: "pd.Series[Any]") -> None:
    """Link a launch (a row of ``ncu_speed_of_light``) to its kernel in up to three linked Systems reports."""
    for systems in session.find_systems(report_id)[:3]:
        try:
            rows = session.run_whole(systems.id, "time_weighted_roofline", ncu=report_id)
        except WarpdeckError:
            continue
        same = rows[(rows["name"] == launch["name"]) & (rows["grid"] == launch["grid"])]
        row = next(
            (matches.iloc[0] for matches in (same[same["block"] == launch["block"]], same) if len(matches)), None
        )
        if row is None:
            continue
        share = f"{fmt.percent(row['share_pct'])} of kernel time"
        st.page_link(
            KERNEL, label=f"This kernel in {fmt.plain(systems.name)}: {share}", icon=_ICON, width="content",
            query_params={session.PARAMETER: systems.id, "kernel": str(row["kernel"])},
        )  # fmt: skip
