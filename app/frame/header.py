"""The header of a report's page, in one line: title, report switcher, linked reports, and what can be done with it."""

from urllib.parse import urlsplit

import streamlit as st

from app import page_list, session
from app.frame import report_switcher, share_link
from app.selection import compared_report, page_selection
from app.ui import format as fmt
from app.ui import navigation, page_elements, report_links, served_component
from app.ui.pin_button import draw_pin_button
from app.ui.report_titles import make_titles
from app.web import access, startup
from profiledb.library.catalog import TIMELINE, Manifest

COMPARE = page_list.get_script("compare")
_COMPARE_KEY = "compare-with"
_LOCAL = "It opens on this machine only."


def draw_header(view: page_list.View, current: Manifest | None) -> None:
    """Draw the header of a page; without a report the title and the switcher."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="top-bar"):
        about = page_elements.describe(current) if current else None
        st.header(fmt.plain(view.title), anchor=False, width="content", help=about)
        if not session.count():
            return
        report_switcher.draw_switcher(current, view)
        if current is None:
            return
        _draw_partner_links(current)
        if TIMELINE in current.subjects:
            _draw_compare_picker(current)
        if not access.is_guest():
            _draw_copy_button()
            share_link.draw_share_popover(current)
        if access.may_edit():
            draw_pin_button(current, "top-pin")
    report_links.draw_dialog()


def _draw_partner_links(current: Manifest) -> None:
    """Draw links to the reports that this one is linked to, and for a Systems report the button to link one."""
    if TIMELINE not in current.subjects:
        for report in session.find_systems(current.id)[:1]:
            _draw_report_link(report, "Systems report")
        return
    for links, label in ((session.read_links(), "Compute report"), (session.read_links("trace"), "PyTorch trace")):
        for report in session.reports([links[current.id]] if current.id in links else []).values():
            _draw_report_link(report, label)
    for report in session.find_systems(current.id, "trace")[:1]:
        _draw_report_link(report, "Systems report")
    if access.may_edit():
        report_links.draw_action(current)


def _draw_report_link(report: Manifest, label: str) -> None:
    st.page_link(
        page_list.get_first_view(report).path, label=label, icon=":material/arrow_outward:", width="content",
        query_params={session.PARAMETER: report.id}, help=fmt.plain(report.shown_name),
    )  # fmt: skip


def _draw_compare_picker(current: Manifest) -> None:
    others = session.list_about(TIMELINE, without=current.id)
    if not others:
        return
    labels = make_titles(others)
    # Each choice gives the field and its popover a new key. The browser would otherwise send the choice again with the
    # next page, and leave the popover open over it.
    choices = st.session_state.get(_COMPARE_KEY, 0)
    with st.popover("Compare with", icon=":material/compare_arrows:", key=f"top-compare-{choices}"):
        chosen = st.selectbox(
            "Compare this report with", list(others), index=None, key=f"{_COMPARE_KEY}-{current.id}-{choices}",
            width=520, format_func=labels.__getitem__, placeholder="Type a part of a name, GPU or date",
        )  # fmt: skip
        served_component.declare_component("first_field")(key=f"{_COMPARE_KEY}-focus")
    if chosen:
        st.session_state[_COMPARE_KEY] = choices + 1
        navigation.to(COMPARE, page_selection.link(current.id) | {compared_report.OTHER: chosen})


def _draw_copy_button() -> None:
    """Draw the button that copies the browser's address, with a note if other machines cannot open it."""
    host = urlsplit(st.context.url or "").hostname or ""
    note = _LOCAL if startup.is_loopback(host) else ""
    served_component.declare_component("copy_link")(key="top-link", data={"note": note}, width="content")
