"""Which code the CPU ran while a GPU was idle, where the report has samples of the CPU or of Python."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, table_columns, tables

COLUMNS = table_columns.of(
    "idle_code",
    table_columns.use("function", width=320),
    table_columns.bar("share_pct", width=120),
    "samples",
    "time_ns",
    table_columns.use("called_from", width=260),
    table_columns.use("module", width=180),
)


def show(report_id: str) -> None:
    """Draws the section, where a GPU was idle; raises NotCapturedError where the report has no samples."""
    rows = session.run(report_id, "idle_code")
    if session.run(report_id, "idle_reasons").empty:
        return
    st.subheader("CPU code during gaps", anchor=False)
    if rows.empty:
        st.caption("No sample lies in the non-CUDA code of these gaps.")
        return
    tables.table(rows, COLUMNS, key="idle-code", download="idle_code.csv", height=share_bar.height(len(rows)))
    stacks = rows["source"].iloc[0]
    st.caption(
        f"{fmt.count(rows['samples'].sum())} {stacks} samples of the threads that launch, taken in non-CUDA code while"
        f" the GPU was idle.{' Only a running thread is sampled.' if stacks == 'CPU' else ''}"
    )
