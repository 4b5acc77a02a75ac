"""Code that launches GPU work, if the capture has back traces of CUDA calls."""

import streamlit as st

from app import session
from app.ui.analysis_table import AnalysisTable

FLAGS = "nsys profile --trace=cuda --sample=process-tree --cudabacktrace=all:0 --python-backtrace=cuda"
SITES = AnalysisTable(
    "launch_sites", "Where GPU work is launched", few=True,
    note="Only CUDA calls with a back trace: nsys takes one of a call that lasts longer than its threshold.",
)  # fmt: skip


def draw_launches(report_id: str) -> None:
    """Draw the section; raise NotCapturedError if the report has no back traces or no CUDA calls."""
    rows = session.run(report_id, "launch_sites")
    if rows.empty:
        st.markdown("No back traces of CUDA calls in this report.")
        st.code(FLAGS, language=None)
        return
    SITES.draw_rows(rows)
