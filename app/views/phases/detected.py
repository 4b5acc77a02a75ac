"""Iterations that the kernels of a report without ranges tell, each with its stretch of time to choose."""

import streamlit as st

from app.selection import settled
from app.ui import format as fmt
from app.ui import heads, tables

COLUMNS = heads.of(
    "detected_iterations",
    heads.use("number", click="offers it alone", width=90),
    "start_ns",
    "duration_ns",
    "busy_ns",
    "kernels",
)


def show(report_id: str) -> None:
    """Draws the iterations of the whole report, folded away; nothing where no kernel repeats so."""
    rows = settled.optional(report_id, "detected_iterations", [])
    if rows.empty:
        return
    one = rows.iloc[0]
    with st.expander(f"Iterations that the kernels tell: {fmt.count(len(rows))}"):
        st.caption(
            f"{fmt.plain(one['marker'])} comes back after about the same number of kernels, which varies by"
            f" {fmt.percent(one['kernels_cv_pct'])}; the time between varies by {fmt.percent(one['cv_pct'])}. An"
            " iteration lasts from one to the next. It is a guess, and where it begins is arbitrary."
        )
        picked = tables.table(
            rows, COLUMNS, key="detected", download="detected_iterations.csv", select=True, hidden=("marker", "stream")
        )
        if picked is not None:
            row = rows.iloc[picked]
            label = f"Split of iteration {fmt.count(row['number'])} alone"
            settled.stretch_button(label, "detected-alone", int(row["start_ns"]), int(row["end_ns"]))
