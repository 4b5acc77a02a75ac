"""The menu: pages in groups. Its links carry the report and the selection, so that people can open them in tabs."""

from collections.abc import Mapping
from itertools import groupby

import streamlit as st

from app import page_list, session
from app.selection import page_selection
from app.streamlit_private import StreamlitPage
from app.ui import format as fmt
from app.web import access
from profiledb.library.catalog import Manifest

Scripts = Mapping[page_list.View, StreamlitPage]


def draw_menu(library: StreamlitPage, scripts: Scripts, report: Manifest | None) -> None:
    """Draw the menu for a report; without one, the Library and the pages that show all reports."""
    with st.sidebar.container(key="menu", gap="xxsmall"):
        guest = access.is_guest()
        if not guest:
            st.page_link(library, icon=":material/folder_open:")
        _draw_pages({view: page for view, page in scripts.items() if view.for_guests or not guest}, report)
        if access.may_administer():
            st.page_link(page_list.ADMIN, icon=":material/shield_person:")


def _draw_pages(scripts: Scripts, report: Manifest | None) -> None:
    if report is None:
        for view, script in scripts.items():
            if view.across:
                st.page_link(script, icon=view.icon)
        return
    query = page_selection.link(report.id)
    fitting = [view for view in scripts if view.listed and view.fits(report)]
    fitting.sort(key=lambda view: page_list.GROUPS.index(view.group))
    for group, views in groupby(fitting, lambda view: view.group):
        _draw_group(group, list(views), scripts, report, query)


def _draw_group(
    group: str,
    views: list[page_list.View],
    scripts: Scripts,
    report: Manifest,
    query: dict[str, str | list[str]],
) -> None:
    offered = {view: view.offers(report, session) for view in views}
    shown = [view for view in views if offered[view] or group != page_list.SPECIAL]
    if group and shown:
        st.caption(group)
    for view in shown:
        lack = "" if offered[view] else f"{fmt.plain(report.name)} has {view.lack}."
        st.page_link(scripts[view], icon=view.icon, query_params=query, disabled=bool(lack), help=lack or None)
