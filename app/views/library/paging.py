"""The order of the list of reports, and its pages if there are several; the URL keeps both."""

from dataclasses import replace

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import url_widgets
from profiledb.library.catalog import Manifest
from profiledb.library.report_list import PAGE, Filters

ORDER, PAGE_NUMBER = "order", "page"
SAMPLES = Filters(is_sample=True)
MOST_SAMPLES = 200
ORDERS = {
    "newest": "Newest first", "name": "By name", "gpu": "By GPU", "captured": "Last captured first",
    "duration": "Longest first", "kernels": "Most kernels first", "size": "Largest first",
}  # fmt: skip


def draw_pager(count: int) -> tuple[str, int]:
    """Draw order and pager if the reports fill several pages; return the order and the first position."""
    if count <= PAGE:
        return "newest", 0
    pages = -(-count // PAGE)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="library-pages"):
        order = st.selectbox(
            "Order", list(ORDERS), format_func=ORDERS.__getitem__, label_visibility="collapsed", width=190,
            **url_widgets.bind_option(ORDER, list(ORDERS), "newest"),
        )  # fmt: skip
        number = st.number_input(
            "Page", 1, pages, step=1, placeholder="1", label_visibility="collapsed", width=130,
            **url_widgets.bind_number(PAGE_NUMBER, pages),
        )  # fmt: skip
        first = PAGE * (int(number or 1) - 1)
        last = min(first + PAGE, count)
        st.caption(f"{fmt.count(first + 1)}–{fmt.count(last)} · page {fmt.count(number or 1)} of {fmt.count(pages)}",
                   width="content")  # fmt: skip
    return order, first


def read_page(filters: Filters, order: str, first: int) -> list[Manifest]:
    """Return a page of the list.

    The newest come first, then the samples in the order of their import, so that none pushes others down.
    """
    if order != "newest":
        return session.list_page(filters, order, first)
    own = replace(filters, is_sample=False)
    shown = session.list_page(own, first=first)
    if len(shown) < PAGE:
        samples = session.list_page(replace(filters, is_sample=True), most=MOST_SAMPLES)[::-1]
        begin = max(0, first - session.count(own))
        shown += samples[begin : begin + PAGE - len(shown)]
    return shown
