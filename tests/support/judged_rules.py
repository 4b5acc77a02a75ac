"""Helpers of rule tests: judge a rule on a report, and compute times from its raw export without Warpdeck's SQL."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from profiledb.findings import judge, rulebook
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.conftest import SAMPLES

Span = tuple[int, int]
"""Start and end in ns."""


def judged(library: Library, report: str, rule: str, **params: Any) -> Finding:
    """Judge a rule alone, without a replay of its change, under the selection in ``params``.

    ``report`` is an id or a file name.
    """
    (finding,) = judge.judge(library, library.find(report), params, [replace(rulebook.load()[rule], changes=())])
    assert "error" not in finding.facts, finding.facts["error"]
    return finding


def rows(sample: str, sql: str, folder: Path = SAMPLES) -> list[tuple[Any, ...]]:
    """Run SQL on the raw export of a sample."""
    with closing(sqlite3.connect(f"{(folder / sample).with_suffix('.sqlite').as_uri()}?immutable=1", uri=True)) as db:
        return db.execute(sql).fetchall()


def spans(sample: str, *tables: str, folder: Path = SAMPLES) -> list[Span]:
    """Return the times of the rows in the CUPTI tables that exist: KERNEL, MEMCPY, MEMSET, GRAPH_TRACE."""
    there = {name for (name,) in rows(sample, "SELECT name FROM sqlite_master", folder)}
    names = [f"CUPTI_ACTIVITY_KIND_{table}" for table in tables]
    return [one for name in names if name in there for one in rows(sample, f'SELECT start, "end" FROM {name}', folder)]


def union(several: Iterable[Span]) -> int:
    """Return the total time that at least one span covers."""
    total, reached = 0, None
    for start, end in sorted(several):
        if reached is None or end > reached:
            total += end - (start if reached is None else max(start, reached))
            reached = end
    return total


def bare(several: Sequence[Span], beside: Sequence[Span]) -> int:
    """Return the total time that ``several`` cover and ``beside`` do not."""
    return union([*several, *beside]) - union(beside)


def window(sample: str, folder: Path = SAMPLES) -> Span:
    """Return the span from the first to the last operation of a single-GPU sample."""
    every = spans(sample, "KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", folder=folder)
    return min(start for start, _ in every), max(end for _, end in every)


def pct(ns: float, of: Span) -> float:
    return 100.0 * ns / (of[1] - of[0])
