"""A tour of the sample reports: three cards for newcomers, and more questions with their answers on demand."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from app import session
from app.page_list import VIEWS, View
from app.selection.compared_report import OTHER
from app.ui import page_elements
from app.views.library import paging
from profiledb.library.catalog import Manifest

FILE = Path(__file__).parents[2] / "tour.toml"
NAMES_REPORT = (session.PARAMETER, OTHER, "ncu")
"""Query parameters whose value in the tour file is a report name."""

_OPEN = "library-tour-open"
_UNIT = re.compile(r"(?<=\d) (?=%|[mµn]?s\b|mJ\b)")

Query = dict[str, str | list[str]]


@dataclass(frozen=True)
class Link:
    """A link to a page, with its query parameters."""

    label: str
    view: View
    query: Query


@dataclass(frozen=True)
class Stop:
    """A question, the answer that the samples give (Markdown; none for a card), and links to pages that show it."""

    question: str
    see: str
    links: tuple[Link, ...]


def draw_cards(reports: Sequence[Manifest]) -> None:
    """Draw a card for each first question, with one button, and the button that shows the other questions.

    While the samples come in, the button keeps the room of the cards.
    """
    with st.container(key="library-cards"):
        for card in find_stops(reports, "card"):
            (link,) = card.links
            with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{card.question}**")
                st.page_link(link.view.path, label=link.label, query_params=link.query, width="content")
        _draw_button("More questions", disabled=not find_stops(reports))


def draw_button(label: str, reports: Sequence[Manifest]) -> None:
    """Draw the button that opens the tour; nothing if no stop has all its samples."""
    if find_stops(reports):
        _draw_button(label)


def _draw_button(label: str, *, disabled: bool = False) -> None:
    st.button(
        label, icon=":material/explore:", type="tertiary", on_click=_open_tour, key="library-tour", disabled=disabled
    )  # fmt: skip


def find_stops(reports: Sequence[Manifest], kind: str = "stop", views: Sequence[View] = VIEWS) -> list[Stop]:
    """Return the stops, or the cards, whose samples are all in the library; omit those without a page to link to."""
    ids = {report.name: report.id for report in reports if report.sample}
    pages = {view.url: view for view in views}
    complete = [
        Stop(stop["question"], stop.get("see", ""), tuple(_list_links(stop["links"], ids, pages)))
        for stop in read_tour()[kind]
        if ids.keys() >= set(stop["reports"])
    ]
    return [stop for stop in complete if stop.links]


@cache
def read_tour() -> dict[str, list[dict[str, Any]]]:
    """Return the cards and stops as written in the tour file."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def _list_links(links: Sequence[Query], ids: Mapping[str, str], pages: Mapping[str, View]) -> Iterator[Link]:
    for link in links:
        if view := pages.get(str(link["page"])):
            query = {key: value for key, value in link.items() if key not in ("label", "page")}
            query.update({key: ids[str(query[key])] for key in NAMES_REPORT if key in query})
            yield Link(str(link["label"]), view, query)


def draw_dialog() -> None:
    """Show the tour after its button was pressed, until it is closed."""
    if st.session_state.get(_OPEN):
        st.dialog("Tour of the samples", width="large", on_dismiss=_close_tour)(_draw_stops)()


def _draw_stops() -> None:
    with page_elements.boundary(), st.container(key="library-stops"):
        for stop in find_stops(session.list_page(paging.SAMPLES, most=paging.MOST_SAMPLES)):
            with st.container(gap="xxsmall"):
                st.markdown(f"**{stop.question}**")
                st.caption(_UNIT.sub("\N{NO-BREAK SPACE}", stop.see))
                with st.container(horizontal=True, gap="small"):
                    for link in stop.links:
                        st.page_link(
                            link.view.path, label=f":primary[{link.label}]", query_params=link.query, width="content"
                        )


def _open_tour() -> None:
    st.session_state[_OPEN] = True


def _close_tour() -> None:
    st.session_state.pop(_OPEN, None)
