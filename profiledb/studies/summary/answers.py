"""What a section of a summary asks, and how it writes rows and names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from profiledb import config, words
from profiledb.errors import NotCapturedError
from profiledb.query import analysis, header
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.rules import classes


@dataclass(frozen=True)
class Answers:
    """What the analyses answer for a report and a selection of it (profiledb.selection)."""

    library: Library
    report: Manifest
    params: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, name: str, **params: Any) -> pd.DataFrame:
        """The rows of an analysis, of the selected part where it looks at one; raises NotCapturedError."""
        return analysis.run(self.library, self.report.id, name, header.get(name).taken(self.params) | params)

    def rows_or_none(self, name: str, **params: Any) -> pd.DataFrame:
        """The same; no rows and no columns where the report does not have the data."""
        try:
            return self.rows(name, **params)
        except NotCapturedError:
            return pd.DataFrame()


Section = Callable[[Answers], str]


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as a Markdown table, with the keys of the first as its head; the texts are Markdown already."""
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def name(value: Any, length: int = 80) -> str:
    """A name as code for a cell of a table."""
    return words.code(words.shortened(value, length), cell=True) if isinstance(value, str) else words.MISSING


def class_title(value: str) -> str:
    """What people read for a kernel class."""
    known = {one.name: one.title for one in classes.load(config.load().classes)}
    return words.plain(known.get(value, value))
