"""What tests of rules share: a rule on a report, and times computed from the raw export, without our SQL."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from profiledb.findings import judge, rulebook
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.conftest import SAMPLES

Span = tuple[int, int]
"""Begin and end, ns."""


def judged(library: Library, report: str, rule: str, **params: Any) -> Finding:
    """What a rule says of a report, by its id or file name; of all of it unless ``params`` select a part."""
    (finding,) = judge.judge(library, library.find(report), params, [rulebook.load()[rule]])
    assert "error" not in finding.facts, finding.facts["error"]
    return finding


def rows(sample: str, sql: str, folder: Path = SAMPLES) -> list[tuple[Any, ...]]:
    """What the raw export of a sample answers."""
    with closing(sqlite3.connect(f"{(folder / sample).with_suffix('.sqlite').as_uri()}?immutable=1", uri=True)) as db:
        return db.execute(sql).fetchall()


def spans(sample: str, *tables: str, folder: Path = SAMPLES) -> list[Span]:
    """Times of the rows of those tables of CUPTI that the export has: KERNEL, MEMCPY, MEMSET, GRAPH_TRACE."""
    there = {name for (name,) in rows(sample, "SELECT name FROM sqlite_master", folder)}
    names = [f"CUPTI_ACTIVITY_KIND_{table}" for table in tables]
    return [one for name in names if name in there for one in rows(sample, f'SELECT start, "end" FROM {name}', folder)]


def union(several: Iterable[Span]) -> int:
    """How long at least one of them lasts."""
    total, reached = 0, None
    for start, end in sorted(several):
        if reached is None or end > reached:
            total += end - (start if reached is None else max(start, reached))
            reached = end
    return total


def bare(several: Sequence[Span], beside: Sequence[Span]) -> int:
    """How long at least one of ``several`` lasts, and none of ``beside``."""
    return union([*several, *beside]) - union(beside)


def window(sample: str, folder: Path = SAMPLES) -> Span:
    """From the first to the last operation of a sample of one GPU."""
    every = spans(sample, "KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", folder=folder)
    return min(start for start, _ in every), max(end for _, end in every)


def pct(ns: float, of: Span) -> float:
    return 100.0 * ns / (of[1] - of[0])
