"""Ways between the pages of kernels; each is an address that can be sent."""

from pathlib import Path

import streamlit as st

from app import navigate, selecting

KERNELS = Path(__file__).with_name("kernels.py")
KERNEL = Path(__file__).with_name("kernel.py")


def to_list(report_id: str, label: str) -> None:
    """A link to the table of all kernels; ``label`` is our own words."""
    st.page_link(
        KERNELS, label=label, icon=":material/table_rows:", query_params=selecting.link(report_id), width="content"
    )


def open_kernel(report_id: str, kernel: int) -> None:
    """Goes to the page of one kernel."""
    navigate.to(KERNEL, selecting.link(report_id, kernel=str(kernel)))
