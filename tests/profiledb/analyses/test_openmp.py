"""OpenMP regions of captures by hand: work, waits, and ends of regions."""

from typing import Any

import duckdb
import pytest

from profiledb.library.library import Library
from profiledb.query import captures, views
from tests.support.gaps import ranges
from tests.support.memory_reports import MAIN, WORKER, fill
from tests.support.page_reports import Publish, insert, run

SESSION = 100_000
BARRIER, REDUCTION = 2, 7


def event(kind: str, start: int, end: int, tid: int = MAIN, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "start_ns": start, "end_ns": end, "global_tid": tid, "parallel_id": 2} | more


def numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"event_id": number} | one for number, one in enumerate(events, 1)]


def regions(library: Library, publish: Publish, *events: dict[str, Any], **tables: Any) -> list[dict[str, Any]]:
    report = publish(lambda db: fill(db, openmp_event=numbered(*events), **tables))
    return run(library, report, "openmp_regions")


def picked(row: dict[str, Any], *names: str) -> list[Any]:
    return [row[f"{name}_ns"] for name in names]


def test_work_and_waiting(library: Library, publish: Publish) -> None:
    """The first thread waits 20 of 100 ns in a barrier.

    The other comes 10 late, and waits 5 for a lock and 40 in a barrier, beyond the region's end too; its reduction is
    work.
    """
    (row,) = regions(
        library, publish, event("parallel", 1000, 1100),
        event("task", 1000, 1100, task_id=1), event("sync_region", 1080, 1100, detail=BARRIER),
        event("task", 1010, 1300, WORKER, task_id=2), event("sync_region", 1060, 1300, WORKER, detail=BARRIER),
        event("sync_region_wait", 1061, 1299, WORKER, detail=BARRIER),
        event("mutex_wait", 1020, 1025, WORKER, task_id=2, parallel_id=None),
        event("sync_region", 1030, 1040, WORKER, detail=REDUCTION),
    )  # fmt: skip
    assert (row["regions"], row["threads"]) == (1, 2)
    assert picked(row, "wall", "work", "barrier", "lock", "late", "lost") == [100, 125, 60, 5, 10, 18]
    assert row["work_pct"] == pytest.approx(62.5)
    assert row["wait_pct"] == pytest.approx(37.5)
    assert row["imbalance"] == pytest.approx(80 / 62.5)
    assert row["share_pct"] == pytest.approx(0.1)


def test_a_region_that_nsys_never_saw_end(library: Library, publish: Publish) -> None:
    """An explicit task separates its two pieces, the first of which lasts until the end of the session."""
    (row,) = regions(
        library, publish, event("parallel", 1000, SESSION), event("parallel", 1050, 1100),
        event("task", 1000, 1040, task_id=1), event("task", 1040, 1050, task_id=3),
        event("task", 1050, SESSION, task_id=1), **ranges((990, 1110, "step_7")),
    )  # fmt: skip
    assert (row["regions"], row["threads"]) == (1, 1)
    assert picked(row, "wall", "work", "late", "lost") == [100, 100, 0, 0]


def test_pieces_that_follow_each_other_are_one_region(library: Library, publish: Publish) -> None:
    (row,) = regions(library, publish, event("parallel", 0, 40), event("parallel", 60, 90), event("task", 0, 80))
    assert (row["regions"], *picked(row, "wall", "work", "late")) == (1, 90, 80, 10)


def test_regions_inside_others_and_of_other_processes(library: Library, publish: Publish) -> None:
    """Each process numbers its own regions. Work of the inner region is not work of the outer one."""
    stranger = MAIN + (1 << 24)
    rows = regions(
        library, publish, event("parallel", 0, 100, name_id=1), event("task", 0, 100, task_id=1),
        event("parallel", 10, 30, WORKER, parallel_id=3, name_id=2), event("task", 10, 25, WORKER, parallel_id=3),
        event("parallel", 50, 60, stranger, name_id=2), event("task", 50, 60, stranger, task_id=1),
        event("task", 0, 100, parallel_id=0), event("parallel", 0, 100, parallel_id=0),
        event("parallel", 0, 9, parallel_id=None),
    )  # fmt: skip
    assert [(row["regions"], *picked(row, "wall", "work", "late")) for row in rows] == [
        (1, 100, 100, 0),
        (2, 30, 25, 5),
    ]


def test_selections(library: Library, publish: Publish) -> None:
    """A region counts by its start, in time and in the range around it; its threads have no ranges of their own."""
    events = numbered(
        event("parallel", 1000, 1100, thread_range=1), event("task", 1000, 1100, WORKER),
        event("parallel", 2000, 2200, parallel_id=3, thread_range=2), event("task", 2000, 2200, WORKER, parallel_id=3),
    )  # fmt: skip
    named = ranges((990, 1110, "load"), (1990, 2210, "train"))
    report = publish(lambda db: fill(db, openmp_event=events, **named))

    def asked(**params: Any) -> list[tuple[str, int, int]]:
        return [
            (row["range"], row["wall_ns"], row["work_ns"]) for row in run(library, report, "openmp_regions", **params)
        ]

    assert asked() == [("train", 200, 200), ("load", 100, 100)]
    assert asked(range="load") == [("load", 100, 100)]
    assert asked(from_ns=1000, to_ns=2000) == [("load", 100, 100)]
    assert asked(from_ns=1050) == [("train", 200, 200)]
    assert asked(to_ns=1000) == []


def test_the_flag_is_advised_where_a_library_could_tell(library: Library, publish: Publish) -> None:
    """libgomp tells tools nothing; without any OpenMP, nobody needs the advice."""

    def advised(*strings: str) -> bool:
        def write(db: duckdb.DuckDBPyConnection) -> None:
            fill(db)
            insert(db, "string", [{"string_id": 100 + n, "value": value} for n, value in enumerate(strings)])

        with library.cursor(publish(write), views=views.list_all()) as cursor:
            return "openmp_event" in {one.table for one in captures.list_missing(cursor)}

    assert advised("/opt/intel/lib/libiomp5.so")
    assert advised("/usr/lib/libomp.so.5")
    assert not advised("/usr/lib/libgomp.so.1", "libomp", "/usr/lib/libcompat.so")
    assert not advised()
