"""What a section of a summary asks, and how it writes rows and names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from profiledb import config, words
from profiledb.findings.judge import Steady
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import answer_store, header
from profiledb.rules import classes

BY_STEPS = frozenset(("iterations", "iteration_summary", "detected_iterations", "mfu", "tensor_growth", "tensor_steps"))
"""Analyses that choose the steps that count by themselves."""


def times(part: Steady | None, analysis: str) -> dict[str, Any]:
    """The parameters with which an analysis answers of the steady part; none where it chooses steps by itself."""
    return {} if part is None or analysis in BY_STEPS else header.get(analysis).taken(part.times)


@dataclass(frozen=True)
class Answers:
    """What the analyses answer for a report and a selection of it (profiledb.selection).

    ``part`` is what repeats in the selection (judge.steady_part). All rows are of that, so that a summary has one basis
    for all of its figures.
    """

    library: Library
    report: Manifest
    params: Mapping[str, Any] = field(default_factory=dict)
    part: Steady | None = None

    def rows(self, name: str, **params: Any) -> pd.DataFrame:
        """The rows of an analysis, of the selected part where it looks at one; raises NotCapturedError."""
        selected = header.get(name).taken(self.params) | times(self.part, name)
        return answer_store.run(self.library, self.report.id, name, selected | params)


Section = Callable[[Answers], str]


def name(value: Any, length: int = 80) -> str:
    """A name as code for a cell of a table."""
    return words.code(words.shortened(value, length), cell=True) if isinstance(value, str) else words.MISSING


def class_title(value: str) -> str:
    """What people read for a kernel class."""
    known = {one.name: one.title for one in classes.load(config.load().classes)}
    return words.plain(known.get(value, value))


Text = Callable[[Any], str]
_TEXTS: dict[str, Text] = {
    "ns": words.duration, "%": words.percent, "count": words.count, "id": words.count, "bytes": words.bytes_,
    "bytes/s": words.rate, "class": class_title, "text": name,
}  # fmt: skip


def contradictions(rows: pd.DataFrame, name: str, told: str = "contradiction", kind: str = "") -> str:
    """A line for each share of a peak that cannot be, and so is not in the table above.

    Args:
        rows: of an analysis.
        name: the column that names what the share is of.
        told: the column that says why it cannot be.
        kind: what the names are of, before each.
    """
    lines = [
        f"- {kind}{words.code(row[name])}: {words.plain(row[told])}" for _, row in rows.dropna(subset=[told]).iterrows()
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


Shown = Mapping[str, str | tuple[str, Text]]
"""What stands under each heading of a table: a column, which its unit words, or a column and who words it."""


def table(asked: str, rows: pd.DataFrame, shown: Shown) -> str:
    """Rows of an analysis as a Markdown table."""
    units = {column.name: column.unit for column in header.get(asked).columns}
    told = {head: (one, _TEXTS[units[one]]) if isinstance(one, str) else one for head, one in shown.items()}
    cells = [[text(value) for value in rows[column]] for column, text in told.values()]
    lines = [tuple(told), ("---",) * len(told), *zip(*cells, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
