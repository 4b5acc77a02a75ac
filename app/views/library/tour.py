"""A tour of the sample reports: questions, what the samples show, and links to the pages that show it."""

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
from profiledb.library.catalog import Manifest

FILE = Path(__file__).parents[2] / "tour.toml"
NAMES_REPORT = (session.PARAMETER, OTHER, "ncu")
"""Query parameters whose value in the tour file is a report name."""

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
    """A question, the answer that the samples give (Markdown), and links to the pages that show it."""

    question: str
    see: str
    links: tuple[Link, ...]


def show(reports: Sequence[Manifest]) -> None:
    """Draw the tour, expanded while the library holds only samples. Draws nothing if no stop has all its samples."""
    if not (shown := stops(reports)):
        return
    opened = only_samples(reports)
    box = st.expander(
        "Tour of the samples", expanded=opened, key=f"tour-{'first' if opened else 'later'}", on_change="rerun",
        icon=":material/explore:",
    )  # fmt: skip
    if box.open:
        with box, st.container(key="library-tour"):
            for stop in shown:
                _stop(stop, first=stop.question == written()[0]["question"])


def only_samples(reports: Sequence[Manifest]) -> bool:
    """Return True if the library holds only samples."""
    return all(report.sample for report in reports)


def stops(reports: Sequence[Manifest], views: Sequence[View] = VIEWS) -> list[Stop]:
    """Return the stops whose samples are all in the library, linked to existing pages; omit stops without a link."""
    ids = {report.name: report.id for report in reports if report.sample}
    pages = {view.url: view for view in views}
    complete = [
        Stop(stop["question"], stop["see"], tuple(_links(stop["links"], ids, pages)))
        for stop in written()
        if ids.keys() >= set(stop["reports"])
    ]
    return [stop for stop in complete if stop.links]


@cache
def written() -> list[dict[str, Any]]:
    """Return the stops as written in the tour file."""
    listed: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["stop"]
    return listed


def _links(links: Sequence[Query], ids: Mapping[str, str], pages: Mapping[str, View]) -> Iterator[Link]:
    for link in links:
        if view := pages.get(str(link["page"])):
            query = {key: value for key, value in link.items() if key not in ("label", "page")}
            query.update({key: ids[str(query[key])] for key in NAMES_REPORT if key in query})
            yield Link(str(link["label"]), view, query)


def _stop(stop: Stop, *, first: bool) -> None:
    with st.container(gap="xxsmall"):
        st.markdown((":primary-badge[Start here] " if first else "") + f"**{stop.question}**")
        st.caption(_UNIT.sub("\N{NO-BREAK SPACE}", stop.see))
        with st.container(horizontal=True, gap="small"):
            for link in stop.links:
                st.page_link(link.view.path, label=f":primary[{link.label}]", query_params=link.query, width="content")
