"""The bar above every page: report switcher, linked reports, comparison, link to copy."""

from collections.abc import Mapping

import streamlit as st

from app import page_list, session
from app.frame import report_switcher, share_link
from app.selection import compared_report, page_selection
from app.ui import format as fmt
from app.ui import navigation, report_links
from app.ui.report_titles import titles
from app.web import access
from profiledb.library.catalog import TIMELINE, Manifest

COMPARE = page_list.get_script("compare")
_COMPARE_KEY = "compare-with"


def draw_header(current: Manifest | None, view: page_list.View | None) -> None:
    """Draw the bar; nothing in a library without reports."""
    known = {manifest.id: manifest for manifest in session.reports()}
    if not known:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="top-bar"):
        report_switcher.draw_switcher(known, current, view)
        if current is None or current.id not in known or view is None:
            return
        _draw_partner_links(current, known)
        if TIMELINE in current.subjects:
            _draw_compare_picker(current)
        if not access.is_guest():
            _draw_link_to_copy(current)
        if access.may_edit():
            report_switcher.draw_pin_button(current)
    report_links.dialog()


def _draw_partner_links(current: Manifest, known: Mapping[str, Manifest]) -> None:
    """Draw links to the reports that this one is linked to, and for a Systems report the button to link one."""
    if TIMELINE not in current.subjects:
        for report in session.systems_of(current.id)[:1]:
            _draw_report_link(report, "Systems report")
        return
    if (linked := known.get(session.links().get(current.id, ""))) is not None:
        _draw_report_link(linked, "Compute report")
    if (trace := known.get(session.links("trace").get(current.id, ""))) is not None:
        _draw_report_link(trace, "PyTorch trace")
    for report in session.systems_of(current.id, "trace")[:1]:
        _draw_report_link(report, "Systems report")
    if access.may_edit():
        report_links.action(current)


def _draw_report_link(report: Manifest, label: str) -> None:
    st.page_link(
        page_list.get_first_view(report).path, label=label, icon=":material/arrow_outward:", width="content",
        query_params={session.PARAMETER: report.id}, help=fmt.plain(report.name),
    )  # fmt: skip


def _draw_compare_picker(current: Manifest) -> None:
    others = session.about(TIMELINE, without=current.id)
    if not others:
        return
    labels = titles(others)
    # Each choice gives the field and its popover a new key. The browser would otherwise send the choice again with the
    # next page, and leave the popover open over it.
    choices = st.session_state.get(_COMPARE_KEY, 0)
    with st.popover("Compare with", icon=":material/compare_arrows:", key=f"top-compare-{choices}"):
        chosen = st.selectbox(
            "Compare this report with", list(others), index=None, key=f"{_COMPARE_KEY}-{current.id}-{choices}",
            width=520, format_func=labels.__getitem__, placeholder="Type a part of a name, GPU or date",
        )  # fmt: skip
    if chosen:
        st.session_state[_COMPARE_KEY] = choices + 1
        navigation.to(COMPARE, page_selection.link(current.id) | {compared_report.OTHER: chosen})


def _draw_link_to_copy(current: Manifest) -> None:
    with st.popover("Copy link", icon=":material/link:", key="top-link"):
        st.caption(f"Opens {fmt.plain(current.name)} on this page, with this selection.")
        st.code(_get_address(), language=None)
        share_link.draw_share_form(current)


def _get_address() -> str:
    """Return the browser's address with the parameters of this run, which the browser may not show yet."""
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{page_selection.encoded()}"
