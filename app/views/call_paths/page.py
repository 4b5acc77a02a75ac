"""Call paths: kernels and scopes of a profile that has sums and no times, such as one of Triton's proton."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, icicle, theme
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable
from app.ui.icicle import Node

KERNELS = AnalysisTable("path_kernels", "Kernels", filled=True, few=True, hidden=("flops", "bytes", "demangled"))
PATHS = AnalysisTable(
    "path_tree",
    "Call paths",
    filled=True,
    hidden=("node_id", "parent_id", "level", "is_kernel"),
    caption="Each with all paths below it. FLOPs and bytes are those that the program states.",
)
_ROOT, _INDENT = "all", "\N{FIGURE SPACE}" * 2


def draw_page() -> None:
    report_id = session.report().id
    st.caption("This profile has sums: when a launch ran, and how much launches vary, is not in it.")
    KERNELS.draw(report_id)
    rows = session.run(report_id, "path_tree")
    if rows["total_ns"].any():
        drawn = list_boxes(rows)
        chart_element.draw_chart(icicle.plot_icicle(drawn, theme.get_theme()), "paths")
        st.caption("Width: share of the kernels' time. Click a box to zoom in, the top bar to zoom out.")
    PATHS.draw_rows(rows.assign(name=rows["level"].map(lambda level: _INDENT * level) + rows["name"]))


def list_boxes(rows: pd.DataFrame) -> list[Node]:
    """Return the boxes of paths with time, parents first."""
    timed = rows[rows["total_ns"].notna()].assign(function=rows["name"])
    whole = float(timed.loc[timed["level"] == 0, "total_ns"].sum())
    root = Node(_ROOT, "", "All paths", whole, f"<b>All paths</b><br>{fmt.duration(whole)}", 0)
    return icicle.build_tree(timed, "total_ns", root, _format_hover)


def _format_hover(row: Mapping[Any, Any]) -> str:
    lines = [f"<b>{fmt.escape_plotly(fmt.shortened(str(row['function']), 100))}</b>"]
    lines.append(f"{fmt.duration(row['total_ns'])}, {fmt.percent(row['share_pct'])} of the kernels' time")
    if not pd.isna(row["calls"]):
        lines.append(fmt.counted(int(row["calls"]), "launch"))
    return "<br>".join(lines)


draw_page()
