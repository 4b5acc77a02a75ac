"""The search of the menu (Ctrl+K): it opens a page, a report, a kernel or a range."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import page_list, session
from app.frame import search_route
from app.page_list import View
from app.selection import page_selection
from app.ui import navigation, page_elements, served_component
from profiledb.library.catalog import Manifest

_LIBRARY = {"title": "Library", "url": "", "lack": ""}


def draw_search(lacks: Mapping[View, str], report: Manifest | None, shown: View | None) -> None:
    """Draw the button and its dialog, and open the choice.

    Args:
        lacks: the pages of the menu, with the reason if they have nothing to show.
        report: the report at hand.
        shown: the page that is open.
    """
    pages = [{"title": view.title, "url": view.url, "lack": lack} for view, lack in lacks.items()]
    data = {
        "pages": [_LIBRARY, *pages], "report": report.id if report else "", "address": search_route.get_address(),
    }  # fmt: skip
    result: Any = served_component.declare_component("search")(
        key="menu-search", data=data, on_chosen_change=_do_nothing
    )
    chosen = result.chosen
    if isinstance(chosen, dict) and isinstance(chosen.get("value"), str):
        _open_choice(str(chosen.get("kind")), chosen["value"], list(lacks), report, shown)


def _open_choice(kind: str, value: str, views: Sequence[View], report: Manifest | None, shown: View | None) -> None:
    """Open the item that the browser names; ignore any that is not on offer."""
    if kind == "report" and (chosen := session.reports([value]).get(value)):
        page_elements.open_report(chosen)
    if kind == "page" and not value:
        navigation.to(page_list.LIBRARY, {})
    view = next((view for view in views if view.url == value), None)
    if kind == "page" and view:
        _open_page(view, page_selection.link(report.id) if report else {}, shown)
    if kind == "kernel" and report:
        _open_page(page_list.get_view("kernel"), page_selection.link(report.id, kernel=value), shown)
    if kind == "range" and report:
        page = shown if shown and shown.selects and not shown.across else page_list.get_view("summary")
        _open_page(page, {session.PARAMETER: report.id, "range": value}, shown)


def _open_page(view: View, query: Mapping[str, str | list[str]], shown: View | None) -> None:
    """Open a page. Streamlit does not open the page that is open already: its address is changed instead."""
    if view is not shown:
        navigation.to(view.path, query)
    st.query_params.from_dict(query)
    st.rerun()


def _do_nothing() -> None:
    """Do nothing: the rerun that follows reads the value."""
