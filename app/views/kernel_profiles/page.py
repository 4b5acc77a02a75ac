"""Kernel profiles from Nsight Compute: all launches with their speed of light, and one launch in detail."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import (
    capture_facts,
    capture_notes,
    chart_element,
    charts,
    summary_button,
    theme,
    verdicts,
)
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable
from app.views.kernel_profiles import launch as ncu_launch
from profiledb import words

FLAGS = "ncu --section SpeedOfLight --section LaunchStats --section Occupancy"
LAUNCHES = AnalysisTable(
    "ncu_speed_of_light",
    "Launches",
    changes={"name": {"click": "opens the launch"}},
    filled=True,
    hidden=("reason", "kernel", "process"),
    download="ncu_launches.csv",
)


def draw_page() -> None:
    manifest = session.report()
    capture_facts.draw_facts(manifest.id)
    capture_notes.draw_reading(manifest.id)
    summary_button.draw_buttons(manifest)
    rows = session.run(manifest.id, "ncu_speed_of_light")
    verdict_rows = session.run(manifest.id, "ncu_verdicts")
    _draw_verdicts(verdict_rows)
    number = _draw_launches(rows)
    launch = None if number is None else rows[rows["launch_id"] == number].iloc[0]
    is_read = st.query_params.get("show", ncu_launch.READING) == ncu_launch.READING
    if launch is None or launch["verdict"] != words.NOT_MEASURED or not is_read:  # else its reading says so
        _draw_unmeasured(verdict_rows)
    if launch is None:
        st.info("Select a launch to see its limits, ncu's rules and all metrics.")
    else:
        ncu_launch.draw_launch(manifest.id, launch, rows)
    capture_notes.draw_diagnostics(manifest.id)
    capture_notes.draw_lacks(manifest.id)


def _draw_verdicts(rows: pd.DataFrame) -> None:
    """Draw the share of time by verdict if there are several launches."""
    launches, known = _count_known(rows)
    if launches > 1 and known:
        st.subheader("What limits the launches", anchor=False)
        parts = [_make_part(row) for _, row in rows[rows["duration_ns"].notna()].iterrows()]
        chart_element.draw_chart(charts.share_bar(parts, theme.get_theme()), "verdicts-bar")
        shares = "  ·  ".join(f"{fmt.plain(part.title)} {fmt.percent(part.share_pct)}" for part in parts)
        st.caption(f"Share of time over all {fmt.counted(launches, 'launch')}: {shares}")


def _draw_unmeasured(rows: pd.DataFrame) -> None:
    """Say how many launches have no verdict, and how to record it."""
    launches, known = _count_known(rows)
    if known < launches:
        whose = "" if launches == 1 else f" for {fmt.count(launches - known)} of {fmt.count(launches)} launches"
        st.markdown(f"Not measured{whose}: speed of light was not collected. To record it, run:")
        st.code(FLAGS, language=None)


def _count_known(rows: pd.DataFrame) -> tuple[int, int]:
    """Return the number of launches, and of those with a verdict."""
    return int(rows["launches"].sum()), int(rows.loc[rows["verdict"] != words.NOT_MEASURED, "launches"].sum())


def _make_part(row: "pd.Series[Any]") -> charts.Part:
    """Convert a row of ``ncu_verdicts`` to a bar segment."""
    detail = f"{fmt.counted(row['launches'], 'launch')}, {fmt.duration(row['duration_ns'])}"
    share = fmt.number(row["share_pct"]) or 0.0
    return charts.Part(row["verdict"], share, detail, verdicts.get_color(row["verdict"]))


def _draw_launches(rows: pd.DataFrame) -> int | None:
    """Draw the launch table and return the launch selected there, else the one in the URL, else the only one."""
    st.subheader(LAUNCHES.title, anchor=False)
    chosen = LAUNCHES.table(rows, select=True)
    known = [int(number) for number in rows["launch_id"]]
    if chosen is not None and st.query_params.get("launch") != str(known[chosen]):
        st.query_params["launch"] = str(known[chosen])
    named = st.query_params.get("launch", "")
    if named.isdecimal() and int(named) in known:
        return int(named)
    return known[0] if len(known) == 1 else None


draw_page()
