"""Measure the cost of preparing a report, statement by statement: `python -m bench.plans LIBRARY [REPORT...]`.

DuckDB profiles every statement that preparing runs (profiledb/studies/prefetch.py): parse, bind, optimize, physical
plan, execution, rows. A statement is named after the analysis, rule or shared rows whose text it is; all others (views
of a selection, paths, checks of what a report has) are named after their first words.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb

from bench.ingestion import list_report_ids
from profiledb.findings import rulebook
from profiledb.library.library import Library
from profiledb.query import header, shared_rows, views
from profiledb.report.attachments import Attachments, Opened
from profiledb.studies import prefetch

_COSTS = ("parse", "bind", "optimize", "physical", "execute")
_SPACES = re.compile(r"\s+")


@dataclass
class Cost:
    """The cost of all runs of one statement: milliseconds by kind, and returned rows."""

    name: str
    runs: int = 0
    parse: float = 0.0
    bind: float = 0.0
    optimize: float = 0.0
    physical: float = 0.0
    execute: float = 0.0
    cpu: float = 0.0
    rows: int = 0

    @property
    def plan(self) -> float:
        """Return everything before execution."""
        return self.parse + self.bind + self.optimize + self.physical


class Profile:
    """The costs of statements by name, in the order of their first run, and of the optimizer's passes."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}
        self.passes: dict[str, float] = {}
        self._names = _name_statements()

    def execute(self, cursor: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> Cost:
        """Execute statements one by one, and add the cost of each to that of its text."""
        text = _SPACES.sub(" ", re.sub(r"^--.*$", "", sql, flags=re.MULTILINE)).strip()
        name = self._names.get(sql.strip()) or text[:40]
        cost = self.costs.setdefault(name, Cost(name))
        cost.runs += 1
        spent, began = _read_cpu_s(), time.perf_counter()
        statements = duckdb.extract_statements(sql)
        cost.parse += 1000 * (time.perf_counter() - began)
        for statement in statements:
            cursor.execute(statement, *values)
            self.add(cost, cursor)
        cost.cpu += 1000 * (_read_cpu_s() - spent)
        return cost

    def add(self, cost: Cost, cursor: duckdb.DuckDBPyConnection) -> None:
        """Add DuckDB's profile of the last statement, which is empty before its rows were read."""
        profile = json.loads(cursor.get_profiling_information(format="json"))
        took = {
            key: 1000 * profile.get(key, 0.0) for key in ("planner", "cumulative_optimizer_timing", "physical_planner")
        }
        cost.bind += took["planner"]
        cost.optimize += took["cumulative_optimizer_timing"]
        cost.physical += took["physical_planner"]
        cost.execute += max(0.0, 1000 * profile.get("latency", 0.0) - sum(took.values()))
        cost.rows += profile.get("rows_returned", 0)
        for key, seconds in profile.items():
            if key.startswith("optimizer_"):
                one = key.removeprefix("optimizer_")
                self.passes[one] = self.passes.get(one, 0.0) + 1000 * seconds

    @contextmanager
    def watch_statements(self) -> Iterator[None]:
        """Profile all statements on cursors of reports."""
        original_cursor, original_kept_cursor = Attachments.cursor, Attachments.kept_cursor

        def watch_cursor(cursor: Any) -> _Watched:
            if isinstance(cursor, _Watched):
                return cursor
            cursor.execute("SET enable_profiling = 'no_output'; SET profiling_mode = 'detailed'")
            cursor.execute("SET profiling_coverage = 'ALL'")
            return _Watched(cursor, self)

        @contextmanager
        def open_cursor(attached: Attachments, *asked: Any) -> Iterator[tuple[Any, Sequence[str]]]:
            with original_cursor(attached, *asked) as (cursor, catalogs):
                yield watch_cursor(cursor), catalogs

        @contextmanager
        def open_kept_cursor(attached: Attachments, *asked: Any) -> Iterator[Opened]:
            with original_kept_cursor(attached, *asked) as opened:
                opened.cursor = watch_cursor(opened.cursor)  # type: ignore[assignment]
                yield opened

        with mock.patch.multiple(Attachments, cursor=open_cursor, kept_cursor=open_kept_cursor):
            yield


class _Watched:
    """A cursor whose statements a profile measures."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, profile: Profile) -> None:
        self._cursor = cursor
        self._profile = profile
        self._last: Cost | None = None

    def execute(self, sql: str, *values: Any) -> _Watched:
        self._last = self._profile.execute(self._cursor, sql, *values)
        return self

    def fetchone(self) -> Any:
        rows = self.fetchall()
        return rows[0] if rows else None

    def fetchall(self) -> Any:
        return self._read(self._cursor.fetchall)

    def to_arrow_table(self, *given: Any) -> Any:
        return self._read(lambda: self._cursor.to_arrow_table(*given))

    def _read(self, rows: Callable[[], Any]) -> Any:
        assert self._last is not None
        spent, result = _read_cpu_s(), rows()
        self._last.cpu += 1000 * (_read_cpu_s() - spent)
        self._profile.add(self._last, self._cursor)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def _name_statements() -> dict[str, str]:
    """Return the name of each text that the program runs."""
    named = {sql: f"rule {name}" for name, rule in rulebook.load().items() for sql in rule.analysis.queries}
    named |= {sql: name for name, one in header.list_analyses().items() for sql in one.queries}
    named |= {one.sql: f"once {name}" for name, one in shared_rows.list_files().items()}
    named |= {one.sql: f"views {name}" for name, one in views.list_files().items()}
    return {sql.strip(): name for sql, name in named.items()}


def _read_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def prepare(library: Library, report_id: str) -> float:
    """Prepare a report of which nothing is prepared; return the seconds of processor time."""
    shutil.rmtree(library.derived.answers, ignore_errors=True)
    spent = _read_cpu_s()
    prefetch.prepare(library, report_id)
    return _read_cpu_s() - spent


def measure(folder: Path, report_id: str, repeat: int) -> tuple[float, Profile]:
    """Return the least processor seconds of preparing a report, as the worker does, and the profile of one more run."""
    prefetch.store_views(_open(folder), report_id)
    least = min(prepare(_open(folder), report_id) for _ in range(repeat))
    profile = Profile()
    with profile.watch_statements():
        prepare(_open(folder), report_id)
    return least, profile


def _open(folder: Path) -> Library:
    library = Library(folder)
    library.use_one_thread()
    return library


def format_table(costs: Sequence[Cost]) -> str:
    """Return costs as a table in Markdown, in milliseconds."""
    lines = ["| statement | runs | parse | bind | optimize | physical plan | execute | processor | rows |"]
    lines.append("|---|" + "---:|" * 8)
    for one in costs:
        took = " | ".join(f"{getattr(one, kind):.1f}" for kind in (*_COSTS, "cpu"))
        lines.append(f"| `{one.name}` | {one.runs} | {took} | {one.rows} |")
    return "\n".join(lines)


def add_costs(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs."""
    kinds = ("runs", *_COSTS, "cpu", "rows")
    return Cost("all", **{kind: sum(getattr(one, kind) for one in costs) for kind in kinds})


def main() -> int:
    """Print a table for each report."""
    parser = argparse.ArgumentParser(prog="bench.plans", description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("report", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most", type=int, default=40, help="statements that take most, in the table")
    given = parser.parse_args()
    for report_id in given.report or list_report_ids(given.library):
        least, profile = measure(given.library, report_id, given.repeat)
        costs = sorted(profile.costs.values(), key=lambda one: -(one.plan + one.execute))
        print(f"{report_id}: {least:.2f} s of processor\n\n{format_table([add_costs(costs), *costs[: given.most]])}\n")
        passes = sorted(profile.passes.items(), key=lambda one: -one[1])
        print("Optimizer: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in passes if ms >= 1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
