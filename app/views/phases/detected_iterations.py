"""Iterations detected from the kernels of a report; each can be selected as a time window."""

import streamlit as st

from app.selection import page_selection
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable

ITERATIONS = AnalysisTable(
    "detected_iterations",
    changes={"number": {"click": "shows the phases of this iteration"}},
    hidden=("marker", "stream"),
    key="detected",
)

NONE = "Iterations were looked for in the kernels: no period explains them."


def draw_iterations(report_id: str) -> None:
    """Draw the iterations of the whole report, folded, or say that no period was found."""
    rows = page_selection.run_or_none(report_id, "detected_iterations", [])
    if rows.empty:
        st.caption(NONE)
        return
    one = rows.iloc[0]
    with st.expander(f"Iterations detected from kernels: {fmt.count(len(rows))}"):
        st.caption(
            f"{_say_every(int(one['every']))}{fmt.plain(one['marker'])} repeats after about the same number of kernels"
            f" (varies by {fmt.percent(one['kernels_cv_pct'])}) and time (varies by {fmt.percent(one['cv_pct'])}). Each"
            " iteration lasts from one launch of it to the next. This is a guess; the starting point is"
            " arbitrary."
        )
        picked = ITERATIONS.table(rows, select=True)
        if picked is not None:
            row = rows.iloc[picked]
            label = f"Phases of iteration {fmt.count(row['number'])} alone"
            page_selection.draw_stretch_button(label, "detected-alone", int(row["start_ns"]), int(row["end_ns"]))


def _say_every(launches: int) -> str:
    """Say which launches of the marker kernel start an iteration."""
    return "" if launches == 1 else f"Every {fmt.count(launches)} launches "
