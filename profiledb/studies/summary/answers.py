"""Ask analyses for the sections of a summary, and format rows and names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from profiledb import config, words
from profiledb.findings import judge, rulebook
from profiledb.findings.finding import Finding
from profiledb.findings.judge import Steady
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import answer_store, header
from profiledb.rules import classes

STEP_ROWS = frozenset(("steps", "kernel_iterations", "tensor_steps"))
"""Shared rows (``once:``) of analyses that choose the counted steps themselves."""

LONGEST_KERNEL = 40
"""Characters of a kernel's name in a statement."""


def restrict_params(part: Steady | None, analysis: str) -> dict[str, Any]:
    """Return the parameters that restrict an analysis to the steady part; none if it reads ``STEP_ROWS``."""
    asked = header.get(analysis)
    return {} if part is None or STEP_ROWS.intersection(asked.once) else asked.taken(part.times)


@dataclass(frozen=True)
class Answers:
    """The answers of analyses for a report and a selection (profiledb.selection).

    ``part`` is the steady part of the selection (judge.find_steady_part). All rows are restricted to it, so that all
    figures of a summary have one basis.
    """

    library: Library
    report: Manifest
    params: Mapping[str, Any] = field(default_factory=dict)
    part: Steady | None = None

    def rows(self, name: str, **params: Any) -> pd.DataFrame:
        """Return the rows of an analysis for the selection; raises NotCapturedError."""
        selected = header.get(name).taken(self.params) | restrict_params(self.part, name)
        return answer_store.run(self.library, self.report.id, name, selected | params)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings of the report and its selection, the costliest first."""
        rules = rulebook.load(config.load().rules)
        return judge.judge(self.library, self.report, self.params, rules.values(), self.part)


Section = Callable[[Answers], str]


def name_cell(value: Any, length: int = 80) -> str:
    """Format a name as code for a table cell."""
    return words.code(words.shortened(value, length), cell=True) if isinstance(value, str) else words.MISSING


def get_class_title(value: str) -> str:
    """Return the title of a kernel class."""
    known = {one.name: one.title for one in classes.load(config.load().classes)}
    return words.plain(known.get(value, value))


Text = Callable[[Any], str]
_TEXTS: dict[str, Text] = {
    "ns": words.duration, "%": words.percent, "count": words.count, "id": words.count, "bytes": words.bytes_,
    "bytes/s": words.rate, "FLOP": words.work, "FLOP/s": words.flops, "class": get_class_title, "text": name_cell,
}  # fmt: skip


def list_contradictions(rows: pd.DataFrame, name: str, reason: str = "contradiction", kind: str = "") -> str:
    """Return a line for each impossible share of a peak, which the table above leaves out.

    Args:
        rows: of an analysis.
        name: column of the names.
        reason: column with the reason why the share is impossible.
        kind: kind of the names, written before each.
    """
    lines = [
        f"- {kind}{words.code(row[name])}: {words.plain(row[reason])}"
        for _, row in rows.dropna(subset=[reason]).iterrows()
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


Shown = Mapping[str, str | tuple[str, Text]]
"""The column under each heading of a table, formatted by its unit or by a function."""


def format_table(asked: str, rows: pd.DataFrame, shown: Shown) -> str:
    """Format rows of an analysis as a Markdown table."""
    units = {column.name: column.unit for column in header.get(asked).columns}
    columns = {head: (one, _TEXTS[units[one]]) if isinstance(one, str) else one for head, one in shown.items()}
    cells = [[text(value) for value in rows[column]] for column, text in columns.values()]
    lines = [tuple(columns), ("---",) * len(columns), *zip(*cells, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
