"""Ways between the pages of kernels; each is an address that can be sent."""

from collections.abc import Sequence

import streamlit as st

from app import page_list
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import navigation

KERNELS = page_list.get_script("kernels")
KERNEL = page_list.get_script("kernel")
TIMELINE = page_list.get_view("timeline")
_ROOM = 0.5
WITH = "with"
"""The parameter of the timeline's address that names the reports below the page's own."""
MOST_BESIDE = 7
"""Reports below it at most."""
ALIGN = "align"
"""The parameter that says how they are aligned: ``collective``, ``step``, ``clock`` (wall clock) or ``start``."""


def to_list(report_id: str, label: str) -> None:
    """A link to the table of all kernels; ``label`` is our own words."""
    st.page_link(
        KERNELS, label=f":primary[{label}]", icon=":material/table_rows:", query_params=page_selection.link(report_id),
        width="content",
    )  # fmt: skip


def open_kernel(report_id: str, kernel: int) -> None:
    """Goes to the page of one kernel."""
    navigation.to(KERNEL, page_selection.link(report_id, kernel=str(kernel)))


def timeline(report_id: str, from_ns: float, to_ns: float) -> dict[str, str | list[str]]:
    """The query of a link to a stretch of time on the timeline, with some room around it.

    Args:
        report_id: the report.
        from_ns: its begin, ns from the begin of the capture.
        to_ns: its end.
    """
    room = max(_ROOM * (to_ns - from_ns), 1_000)
    return page_selection.link(report_id, t0=str(round(from_ns - room)), t1=str(round(to_ns + room)))


def to_timeline(report_id: str, label: str, from_ns: float, to_ns: float) -> None:
    """A link to a stretch of time on the timeline, if that time is known; ``label`` is untrusted text."""
    if fmt.number(from_ns) is None or fmt.number(to_ns) is None:
        return
    st.page_link(
        TIMELINE.path, label=f":primary[{fmt.plain(label)}]", icon=TIMELINE.icon,
        query_params=timeline(report_id, from_ns, to_ns), width="content",
    )  # fmt: skip


def to_timelines(report_id: str, beside: Sequence[str], label: str, align: str) -> None:
    """A link to the timelines of several reports below each other.

    Args:
        report_id: the page's report, which stands on top.
        beside: ids of the others; more than fit are left out.
        label: our own words.
        align: what of ``ALIGN`` aligns them.
    """
    query = page_selection.link(report_id) | {WITH: list(beside[:MOST_BESIDE]), ALIGN: align}
    st.page_link(TIMELINE.path, label=f":primary[{label}]", icon=TIMELINE.icon, query_params=query, width="content")
