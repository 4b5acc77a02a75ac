"""Ways between the pages of kernels; each is an address that can be sent."""

import streamlit as st

from app import pages
from app.selection import settled
from app.ui import navigate

KERNELS = pages.script("kernels")
KERNEL = pages.script("kernel")


def to_list(report_id: str, label: str) -> None:
    """A link to the table of all kernels; ``label`` is our own words."""
    st.page_link(
        KERNELS, label=label, icon=":material/table_rows:", query_params=settled.link(report_id), width="content"
    )


def open_kernel(report_id: str, kernel: int) -> None:
    """Goes to the page of one kernel."""
    navigate.to(KERNEL, settled.link(report_id, kernel=str(kernel)))
