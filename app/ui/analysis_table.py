"""A section of a page that is the table of one analysis: declared as data, drawn in one way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import share_bar, table_columns, tables
from app.ui.table_columns import Col, HeaderChanges

Words = str | Callable[[pd.DataFrame], str]
"""A sentence (Markdown), or what makes it of the rows."""


@dataclass(frozen=True)
class AnalysisTable:
    """A section that shows an analysis. The header of the analysis names the columns (``-- show:``).

    Args:
        analysis: its name.
        title: of the section.
        empty: the sentence where the selection has no row; "": then not even the title is drawn.
        changes: what the page says of these columns otherwise (``table_columns.shown``).
        columns: the columns of a table that is not that of the analysis's own page, in place of these.
        lead: sentence above the table; ``caption``: a quiet one there; ``note``: a quiet one below.
        filled: columns without a value in any row are left out.
        few: the table scrolls after a few rows, since other sections follow; else after a screen.
        top: rows that are shown at most; 0 for all.
        hidden: further columns for the CSV; ``download`` is its name where that is not the name of the analysis.
        key: of the widget, where it is not the name of the analysis.
        loud: see ``sections.Section``.
    """

    analysis: str
    title: str = ""
    empty: str = ""
    changes: Mapping[str, HeaderChanges] = field(default_factory=dict)
    columns: Sequence[Col] = ()
    lead: Words = ""
    caption: Words = ""
    note: Words = ""
    filled: bool = False
    few: bool = False
    top: int = 0
    hidden: Sequence[str] = ()
    download: str = ""
    key: str = ""
    loud: bool = True

    @property
    def shown(self) -> Sequence[Col]:
        """The columns of the table, in order."""
        return self.columns or table_columns.shown(self.analysis, self.changes)

    def draw(self, report_id: str, ask: Callable[..., pd.DataFrame] | None = None, **params: Any) -> None:
        """Ask the analysis of what is selected, and draw the section.

        ``ask`` takes the name of the analysis and its parameters, where it is asked in another way.

        Raises:
            NotCapturedError: the report lacks what the analysis needs.
        """
        self.draw_rows((ask or partial(session.run, report_id))(self.analysis, **params))

    def draw_rows(self, rows: pd.DataFrame, without: Sequence[str] = ()) -> None:
        """Draw the section from rows of the analysis; see ``table``."""
        if rows.empty and not self.empty:
            return
        st.subheader(self.title, anchor=False)
        if rows.empty:
            st.caption(self.empty)
            return
        self.table(rows, without=without)

    def table(self, rows: pd.DataFrame, *, select: bool = False, without: Sequence[str] = ()) -> int | None:
        """Draw the table with its sentences; return the position of the row that was clicked, if any.

        ``rows`` are those of the analysis, and may have columns of the page's own besides. ``without``: columns that
        say nothing here, and stand in the CSV alone.
        """
        if lead := _said(self.lead, rows):
            st.markdown(lead)
        if caption := _said(self.caption, rows):
            st.caption(caption)
        first = rows.head(self.top) if self.top else rows
        columns = [column for column in self.shown if column.name not in without]
        chosen = tables.table(
            first, table_columns.filled(first, columns) if self.filled else columns, key=self.key or self.analysis,
            download=self.download or f"{self.analysis}.csv", select=select, hidden=[*self.hidden, *without],
            height=share_bar.height(len(first)) if self.few else None,
        )  # fmt: skip
        if note := _said(self.note, rows):
            st.caption(note)
        return chosen


def _said(words: Words, rows: pd.DataFrame) -> str:
    return words if isinstance(words, str) else words(rows)
