"""A page of several sections, each of which a report may lack: what several lack is said once."""

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
        """Its heading."""

    @property
    def loud(self) -> bool:
        """Whether its absence gets a box of its own; else one quiet line below all others."""

    @property
    def draw(self) -> Callable[[str], None]:
        """Draws it for a report's id; raises NotCapturedError where the report lacks it."""


@dataclass(frozen=True)
class Section:
    """A part of a page that does more than show a table."""

    title: str
    draw: Callable[[str], None]
    loud: bool = True


def show(report_id: str, sections: Sequence[Part]) -> None:
    """Draws them in order."""
    told: dict[str, str] = {}
    quiet: dict[str, NotCapturedError] = {}
    for section in sections:
        try:
            section.draw(report_id)
        except NotCapturedError as error:
            if section.loud and error.hint not in told:
                st.subheader(section.title, anchor=False)
                page_elements.not_captured(error)
                told[error.hint] = error.message
            elif told.get(error.hint) != error.message:
                quiet[error.message] = error
    for lack in quiet.values():
        page_elements.lacking(lack)
