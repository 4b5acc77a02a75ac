"""A page section with the table of one analysis, declared as data."""

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
"""A sentence (Markdown), or a function that builds one from the rows."""


@dataclass(frozen=True)
class AnalysisTable:
    """A section that shows an analysis. The header of the analysis lists its columns (``-- show:``).

    Args:
        analysis: its name.
        title: the heading of the section.
        empty: sentence for a selection without rows; "" hides the whole section.
        changes: overrides of the listed columns (``table_columns.list_shown``).
        columns: replaces the listed columns, on pages other than the analysis's own.
        lead: sentence above the table; ``caption`` is a quieter one there, ``note`` a quieter one below.
        filled: hide columns without any value.
        few: scroll after a few rows because other sections follow; otherwise after a screen.
        top: maximum number of rows; 0 for all.
        hidden: additional columns for the CSV; ``download`` is its file name, by default that of the analysis.
        key: key of the widget; by default the name of the analysis.
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
        """Return the columns of the table, in order."""
        return self.columns or table_columns.list_shown(self.analysis, self.changes)

    def draw(self, report_id: str, ask: Callable[..., pd.DataFrame] | None = None, **params: Any) -> None:
        """Run the analysis on the selection, and draw the section.

        ``ask`` replaces ``session.run``; it takes the name of the analysis and its parameters.

        Raises:
            NotCapturedError: the report lacks data that the analysis needs.
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
        """Draw the table with its sentences; return the position of the clicked row, if any.

        ``rows`` come from the analysis and may have extra columns that the page added. Columns in ``without`` appear in
        the CSV only.
        """
        if lead := _format_words(self.lead, rows):
            st.markdown(lead)
        if caption := _format_words(self.caption, rows):
            st.caption(caption)
        first = rows.head(self.top) if self.top else rows
        columns = [column for column in self.shown if column.name not in without]
        chosen = tables.draw_table(
            first, table_columns.select_filled(first, columns) if self.filled else columns,
            key=self.key or self.analysis, download=self.download or f"{self.analysis}.csv", select=select,
            hidden=[*self.hidden, *without], height=share_bar.compute_height(len(first)) if self.few else None,
        )  # fmt: skip
        if note := _format_words(self.note, rows):
            st.caption(note)
        return chosen


def _format_words(words: Words, rows: pd.DataFrame) -> str:
    return words if isinstance(words, str) else words(rows)
