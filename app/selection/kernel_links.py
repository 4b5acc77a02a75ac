"""Links between the pages of kernels; each is a shareable URL."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import page_list
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import navigation
from app.ui.analysis_table import AnalysisTable

KERNELS = page_list.get_script("kernels")
KERNEL = page_list.get_script("kernel")
TIMELINE = page_list.get_view("timeline")
_ROOM = 0.5
WITH = "with"
"""URL parameter of the timeline with the reports below the page's own."""
MOST_BESIDE = 7
"""Maximum number of reports below the page's own."""
ALIGN = "align"
"""URL parameter for the alignment of those reports: ``collective``, ``step``, ``clock`` (wall clock) or ``start``."""


def to_list(report_id: str, label: str) -> None:
    """Draw a link to the table of all kernels; ``label`` is trusted text."""
    st.page_link(
        KERNELS, label=f":primary[{label}]", icon=":material/table_rows:", query_params=page_selection.link(report_id),
        width="content",
    )  # fmt: skip


def open_kernel(report_id: str, kernel: int) -> None:
    """Open the page of a kernel."""
    navigation.to(KERNEL, page_selection.link(report_id, kernel=str(kernel)))


def link_timeline(report_id: str, from_ns: float, to_ns: float) -> dict[str, str | list[str]]:
    """Return the query of a link to a time window on the timeline, with some margin.

    Args:
        report_id: the report.
        from_ns: start of the window, ns after the start of the capture.
        to_ns: end of the window.
    """
    room = max(_ROOM * (to_ns - from_ns), 1_000)
    area = f"{round(from_ns)}~{round(to_ns)}"
    return page_selection.link(report_id, t0=str(round(from_ns - room)), t1=str(round(to_ns + room)), area=area)


def to_timeline(report_id: str, label: str, from_ns: float, to_ns: float, key: str = "") -> None:
    """Draw a link to a time window on the timeline, and a button that selects it, if its times are known.

    Args:
        report_id: the report.
        label: untrusted text.
        from_ns: start of the window, ns after the start of the capture.
        to_ns: end of the window.
        key: key of the button, if another one on the page has the same label.
    """
    if fmt.number(from_ns) is None or fmt.number(to_ns) is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.page_link(
            TIMELINE.path, label=f":primary[{fmt.plain(label)}]", icon=TIMELINE.icon,
            query_params=link_timeline(report_id, from_ns, to_ns), width="content",
        )  # fmt: skip
        if to_ns > from_ns:
            st.button(
                "Select this time", key=f"select-time-{key or label}", type="tertiary", icon=":material/crop:",
                help="All pages then show only this time.", on_click=_select_times, args=(from_ns, to_ns),
            )  # fmt: skip


def draw_times(
    report_id: str, table: AnalysisTable, rows: pd.DataFrame, what: str, length: str, **options: Any
) -> None:
    """Draw a table of times, and the links of the chosen row below it; at first those of the first row.

    Args:
        report_id: the report.
        table: the table, whose rows have ``start_ns``.
        rows: its rows.
        what: what a row is, for example "gap".
        length: the column with the length of a row, ns.
        options: see ``AnalysisTable.table``.
    """
    chosen = table.table(rows, select=True, **options) or 0
    start, size = rows["start_ns"].iloc[chosen], rows[length].iloc[chosen]
    label = f"Show the {what} at {fmt.duration(start)} on the timeline"
    to_timeline(report_id, label, start, start + size, key=f"{what}-of-table")


def _select_times(from_ns: float, to_ns: float) -> None:
    times = page_selection.milliseconds(round(from_ns)), page_selection.milliseconds(round(to_ns))
    st.query_params.update(dict(zip(("from", "to"), times, strict=True)))


def to_timelines(report_id: str, beside: Sequence[str], label: str, align: str) -> None:
    """Draw a link to the timelines of several reports, stacked.

    Args:
        report_id: the page's report, which is on top.
        beside: ids of the others; those that do not fit are dropped.
        label: trusted text.
        align: one of the values of ``ALIGN``.
    """
    query = page_selection.link(report_id) | _stack(report_id, beside, align)
    st.page_link(TIMELINE.path, label=f":primary[{label}]", icon=TIMELINE.icon, query_params=query, width="content")


def open_timelines(report_id: str, beside: Sequence[str], align: str, from_ns: float, to_ns: float) -> None:
    """Open the timelines of several reports, stacked, at a time window of the first one."""
    navigation.to(TIMELINE.path, link_timeline(report_id, from_ns, to_ns) | _stack(report_id, beside, align))


def _stack(report_id: str, beside: Sequence[str], align: str) -> dict[str, str | list[str]]:
    others = [one for one in beside if one != report_id]
    return {WITH: others[:MOST_BESIDE], ALIGN: align}
