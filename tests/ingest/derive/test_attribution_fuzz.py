"""Random captures against brute force: ranges around calls, nesting, and selections."""

import random
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import views
from profiledb.selection import apply
from tests.support import exports
from tests.support.attribution_oracle import Call, Capture, Export, Operation
from tests.support.every_report import slow_but
from tests.support.selection_oracle import Chooser

pytestmark = pytest.mark.integration

SEEDS = 150
"""Captures of an export."""

BATCHES = pytest.mark.parametrize("batch", slow_but([0], range(10), "a thousand random captures"))
OPERATIONS = {"kernel": "kernel_id", "memop": "memop_id", "graph_launch": "launch_id"}


def load_export(export: Export, folder: Path) -> Library:
    """A library whose report ``fuzz`` is that export, loaded in this process."""
    library = Library(folder / "library")
    path = exports.write(folder / "made.sqlite", export.tables())
    with exports.loaded(library.path("fuzz"), path):
        pass
    return library


@BATCHES
def test_ranges_calls_and_operations(batch: int, tmp_path: Path) -> None:
    export = Export(range(batch * SEEDS, (batch + 1) * SEEDS))
    with load_export(export, tmp_path).cursor("fuzz", views=views.list_all()) as db:
        numbers = check_ranges(db, export)
        check_calls(db, export, numbers)
        check_operations(db, export)
        drivers = db.execute("SELECT global_tid, driver_tid FROM thread_driver").fetchall()
    assert dict(drivers) == {tid: other for c in export.captures for tid, other in c.drivers.items()}


def check_ranges(db: duckdb.DuckDBPyConnection, export: Export) -> dict[int, set[int]]:
    """Check the nesting; return the ranges around each number: pre -> ids of ranges."""
    columns = "range_id, pre, post, range.parent_id, range.level, path, start_ns, end_ns, closed"
    rows = db.execute(f"SELECT {columns} FROM range LEFT JOIN range_path USING (path_id)").fetchall()
    found = {row[0]: row for row in rows}
    paths: dict[int, str] = {}

    def path_of(capture: Capture, number: int) -> str:
        parent = found[number][3]
        own = next(r.name for r in capture.ranges if r.id == number).replace("/", "\\/")
        paths[number] = f"{path_of(capture, parent)}/{own}" if parent else own
        return paths[number]

    for capture in export.captures:
        for one in capture.ranges:
            if one.end < one.start:
                assert one.id not in found
                continue
            _, _, _, parent, level, path, *facts = found[one.id]
            assert parent in capture.parents(one), (capture.pid, one)
            assert level == (found[parent][4] + 1 if parent else 0)
            assert path == path_of(capture, one.id)
            assert facts == [one.start, one.end, one.closed]
    assert len(rows) == len(found) == len(paths)
    assert len({row[1] for row in rows}) == len(rows), "pre is unique"
    around: dict[int, set[int]] = {row[1]: set() for row in rows}
    for number, pre, post, *_ in rows:
        assert pre <= post
        for inside in range(pre, post + 1):
            if inside in around:
                around[inside].add(number)
    return around


def check_calls(db: duckdb.DuckDBPyConnection, export: Export, around: dict[int, set[int]]) -> None:
    rows = db.execute("""
        SELECT call_id, thread_range, process_range, true FROM api_call
        UNION ALL SELECT call_id, thread_range, process_range, false FROM call_range
    """).fetchall()
    found: dict[str, dict[int, list[int]]] = {"thread": defaultdict(list), "process": defaultdict(list)}
    first = {row[0]: row for row in rows if row[3]}
    for call_id, *pres, _ in rows:
        for mode, pre in zip(found, pres, strict=True):
            found[mode][call_id] += [] if pre is None else [pre]
    assert len(first) == sum(len(c.calls) for c in export.captures)
    for capture in export.captures:
        for call in capture.calls:
            for mode, numbers in found.items():
                expected = capture.around(call, mode)
                inner = numbers[call.id]
                assert set().union(*(around[pre] for pre in inner)) == expected, (capture.pid, call, mode)
                assert len(inner) == len(set(inner)), "no range twice"
            _, thread, process, _ = first[call.id]
            assert (process is None) == (not capture.around(call, "process"))
            assert thread is None or thread == process
            assert thread is not None or not capture.around(call, "thread")


def check_operations(db: duckdb.DuckDBPyConnection, export: Export) -> None:
    calls = {
        row[0]: row[1:] for row in db.execute("SELECT call_id, thread_range, process_range FROM api_call").fetchall()
    }
    copies = sum(o.table == "memcpy" for c in export.captures for o in c.operations)
    expected = Counter[tuple[Any, ...]]()
    for capture in export.captures:
        for o in capture.operations:
            call = capture.call_of(o)
            expected[operation_key(o, copies), call.id if call else None] += 1
    found = Counter[tuple[Any, ...]]()
    for table, key in OPERATIONS.items():
        rows = db.execute(f"SELECT {key}, call_id, thread_range, process_range FROM {table}").fetchall()
        for number, call_id, *ranges in rows:
            found[(table, number), call_id] += 1
            assert tuple(ranges) == calls.get(call_id, (None, None))
    assert found == expected


@pytest.mark.parametrize("batch", slow_but([0], range(3), "a thousand random captures"))
def test_projection(batch: int, tmp_path: Path) -> None:
    """Every call takes time here: two adjacent ranges may both hold one without duration, which then counts twice."""
    first = 20_000 + batch * SEEDS
    export = Export(range(first, first + SEEDS), shortest=1)
    with load_export(export, tmp_path).cursor("fuzz", views=views.list_all()) as db:
        found = {(mode, number): facts for mode, number, *facts in db.execute("FROM projection").fetchall()}
    checked = 0
    for capture in export.captures:
        calls = {o: capture.call_of(o) for o in capture.operations}
        for mode in ("thread", "process"):
            around = {o: capture.around(call, mode) if call else set() for o, call in calls.items()}
            for one in capture.ranges:
                inside = [o for o, numbers in around.items() if one.id in numbers]
                assert found.get((mode, one.id)) == projected(inside, calls), (mode, one)
                checked += bool(inside)
    assert checked > SEEDS


def projected(operations: list[Operation], calls: dict[Operation, Call | None]) -> list[int] | None:
    """A row of the table projection, without mode and range; None without operations."""
    if not operations:
        return None
    moments = {(o.device, t) for o in operations for t in range(o.start, o.end)}
    return [
        min(o.start for o in operations),
        max(o.end for o in operations),
        len({calls[o] for o in operations}),
        len(operations),
        sum(o.end - o.start for o in operations),
        sum(o.end - o.start for o in operations if o.table == "kernel"),
        len(moments),
    ]


def operation_key(o: Operation, copies: int) -> tuple[str, int]:
    """Table and number of an operation in the report; memory sets count on after the copies."""
    table = {"kernel": "kernel", "graph": "graph_launch"}.get(o.table, "memop")
    return table, o.id + (copies if o.table == "memset" else 0)


def test_an_operation_counts_once_whatever_its_row_number(tmp_path: Path) -> None:
    """SQLite's row numbers may have gaps, so the largest is not the count."""
    calls = [(0, 1, exports.MAIN, 9, 1, 0, 0), (2, 3, exports.MAIN, 9, 1, 0, 0)]
    columns = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
    kernels = exports.kernels(exports.kernel(1, 2), exports.kernel(1, 2), exports.kernel(4, 6, correlation=9))
    path = exports.write(tmp_path / "made.sqlite", {**kernels, "CUPTI_ACTIVITY_KIND_RUNTIME": (columns, calls)})
    with closing(sqlite3.connect(path)) as export, export:
        export.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId <> 9")
    with exports.loaded(tmp_path / "made.duckdb", path) as db:
        assert db.execute("SELECT start_ns, call_id FROM kernel").fetchall() == [(4, 1)]


@BATCHES
def test_selections(batch: int, tmp_path: Path) -> None:
    first = 10_000 + batch * SEEDS
    export = Export(range(first, first + SEEDS // 3))
    library = load_export(export, tmp_path)
    copies = sum(o.table == "memcpy" for c in export.captures for o in c.operations)
    with library.cursor("fuzz", views=views.list_all()) as db:
        chooser = Chooser(export, db)
    rnd = random.Random(batch)
    outcomes = Counter[bool]()
    for _ in range(40):
        chosen = chooser.draw(rnd)
        kept = chooser.content(chosen)
        outcomes[kept is None] += 1
        with library.cursor("fuzz", views=views.list_all()) as db:
            if kept is None:
                with pytest.raises(AnalysisError):
                    apply.apply(db, chosen)
                continue
            apply.apply(db, chosen)
            found = [
                (table, number)
                for table, key in OPERATIONS.items()
                for (number,) in db.execute(f"SELECT {key} FROM selected_{table}").fetchall()
            ]
            ranges = [number for (number,) in db.execute("SELECT range_id FROM selected_range").fetchall()]
        operations, inside = kept
        assert sorted(found) == sorted(operation_key(o, copies) for o in operations), chosen
        assert sorted(ranges) == sorted(inside), chosen
    assert outcomes[False] > 10
