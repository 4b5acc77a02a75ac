"""A page of sections, each of which a report may lack. Data that several sections lack is mentioned once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import streamlit as st

from app.ui import page_elements
from profiledb.errors import NotCapturedError


class Part(Protocol):
    """A part of a page: a ``Section``, or the table of an analysis (``analysis_table.py``)."""

    @property
    def title(self) -> str:
        """Return the heading."""

    @property
    def loud(self) -> bool:
        """Return whether missing data gets its own box; otherwise it is one line at the end of the page."""

    @property
    def draw(self) -> Callable[[str], None]:
        """Return a function that draws the part for a report id; it raises NotCapturedError if the data is missing."""


@dataclass(frozen=True)
class Section:
    """A part of a page that does more than show a table."""

    title: str
    draw: Callable[[str], None]
    loud: bool = True


def draw_sections(report_id: str, sections: Sequence[Part]) -> None:
    """Draw the sections in order, then the missing data of those that are not ``loud``."""
    messages: dict[str, str] = {}
    shown: set[str] = set()
    quiet: dict[str, NotCapturedError] = {}
    for section in sections:
        try:
            section.draw(report_id)
        except NotCapturedError as error:
            if section.loud and error.hint not in messages:
                st.subheader(section.title, anchor=False)
                page_elements.draw_not_captured(error)
                messages[error.hint] = error.message
                shown.add(error.command)
            elif messages.get(error.hint) != error.message:
                quiet[error.message] = error
    page_elements.draw_lacks(list(quiet.values()), shown)
