"""The menu: the main pages, then groups of others. Links carry the report and its selection, for tabs of their own."""

from collections.abc import Mapping
from itertools import groupby

import streamlit as st

from app import page_list, session
from app.frame import search
from app.page_list import View
from app.selection import page_selection
from app.streamlit_private import StreamlitPage
from app.ui import format as fmt
from app.web import access
from profiledb.library.catalog import Manifest

Scripts = Mapping[View, StreamlitPage]
_NO_REPORT = "No report is open."


def draw_menu(library: StreamlitPage, scripts: Scripts, report: Manifest | None, shown: View | None) -> None:
    """Draw the search and the menu for a report. Pages without data are gray and say why; they never leave the menu.

    Args:
        library: the page of all reports.
        scripts: the other pages.
        report: the report at hand, if there is one.
        shown: the page that is open, whose group is never folded.
    """
    guest = access.is_guest()
    views = [view for view in scripts if view.listed and (view.for_guests or not guest)]
    views.sort(key=lambda view: page_list.GROUPS.index(view.group))
    lacks = {view: _explain_lack(view, report) for view in views}
    with st.sidebar.container(key="menu", gap="xxsmall"):
        if not guest:
            search.draw_search(lacks, report, shown)
            st.page_link(library, icon=":material/folder_open:")
        query = page_selection.link(report.id) if report else {}
        for group, pages in groupby(views, lambda view: view.group):
            _draw_group(group, {view: lacks[view] for view in pages}, scripts, query, shown)
        if access.may_administer():
            st.page_link(page_list.ADMIN, icon=":material/shield_person:")


def _draw_group(
    group: str, lacks: Mapping[View, str], scripts: Scripts, query: dict[str, str | list[str]], shown: View | None
) -> None:
    """Draw the pages of a group, folded if the report has data for none of them."""
    if not group:
        box = st.container(gap="xxsmall", key="menu-main")
    else:
        is_open = shown in lacks or not all(lacks.values())
        key = f"menu-{group.lower()}-{'open' if is_open else 'folded'}"
        box = st.expander(group, expanded=is_open, type="compact", key=key)
    with box:
        for view, lack in lacks.items():
            st.page_link(
                scripts[view], icon=view.icon, query_params=query, disabled=bool(lack),
                help=fmt.plain(lack) or None,
            )  # fmt: skip


def _explain_lack(view: View, report: Manifest | None) -> str:
    """Return why a page has nothing to show; empty if it has."""
    if view.across:
        return ""
    if report is None:
        return _NO_REPORT
    lack = view.find_lack(report, session)
    return f"{report.shown_name} has {lack}." if lack else ""
