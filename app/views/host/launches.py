"""From where in the program GPU work is launched, where the capture took back traces of CUDA calls."""

import streamlit as st

from app import session
from app.ui import share_bar, table_columns, tables

FLAGS = "nsys profile --trace=cuda --sample=process-tree --cudabacktrace=all:0 --python-backtrace=cuda"
COLUMNS = table_columns.of(
    "launch_sites",
    table_columns.use("site", width=300),
    table_columns.use("module", width=200),
    "gpu_ns",
    "operations",
    "cuda_ns",
    "calls",
    table_columns.use("function", width=180),
    table_columns.use("inner", width=220),
)


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where the report has no back traces or no CUDA calls."""
    rows = session.run(report_id, "launch_sites")
    if rows.empty:
        st.markdown("No back traces of CUDA calls in this report.")
        st.code(FLAGS, language=None)
        return
    st.subheader("Where GPU work is launched", anchor=False)
    tables.table(rows, COLUMNS, key="launch-sites", download="launch_sites.csv", height=share_bar.height(len(rows)))
    st.caption("Only CUDA calls with a back trace: nsys takes one of a call that lasts longer than its threshold.")
