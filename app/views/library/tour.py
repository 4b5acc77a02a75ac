"""A tour through the sample reports: questions, what the samples show, and links to the pages that show it."""

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
"""Parameters of a page's address whose value in the file is a report's name."""

_UNIT = re.compile(r"(?<=\d) (?=%|[mµn]?s\b|mJ\b)")

Query = dict[str, str | list[str]]


@dataclass(frozen=True)
class Link:
    """A page to look at, and the parameters of its address."""

    label: str
    view: View
    query: Query


@dataclass(frozen=True)
class Stop:
    """A question, what the samples say to it (Markdown), and where."""

    question: str
    see: str
    links: tuple[Link, ...]


def show(reports: Sequence[Manifest]) -> None:
    """Draws the tour, open while the library holds only samples; nothing where it has not the samples of any stop."""
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
    """Whether nobody has dropped a report of their own yet."""
    return all(report.sample for report in reports)


def stops(reports: Sequence[Manifest], views: Sequence[View] = VIEWS) -> list[Stop]:
    """The stops of which the library has all samples, with links to the pages that there are; none without a link."""
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
    """The stops as the file has them."""
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
