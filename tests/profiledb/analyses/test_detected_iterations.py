"""Iterations detected from kernels, on sequences counted by hand."""

import duckdb
import pytest

from profiledb.library.library import Library
from tests.support.page_reports import Publish, insert, kernel, name, picked, run


def loop(names: list[int], begins: list[int], **more: int) -> list[dict[str, object]]:
    """Kernels of 5 ns at these times, each with its name."""
    return [
        kernel(number, name_id, start, start + 5, **more)
        for number, (name_id, start) in enumerate(zip(names, begins, strict=True))
    ]


def fill(db: duckdb.DuckDBPyConnection, kernels: list[dict[str, object]]) -> None:
    insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 1000, "duration_ns": 1000}])
    insert(db, "kernel_name", [name(number, f"k{number}") for number in range(1, 6)])
    insert(db, "kernel", kernels)
    insert(db, "busy", [{"device_id": 0, "start_ns": k["start_ns"], "end_ns": k["end_ns"]} for k in kernels])


def test_a_loop_after_a_start(library: Library, publish: Publish) -> None:
    """k1 runs once before three times k2 k3 k3 k4; no marker follows the last pass."""
    begins = [0, 100, 110, 120, 130, 200, 210, 220, 230, 300, 310, 320, 330]
    report = publish(lambda db: fill(db, loop([1, *[2, 3, 3, 4] * 3], begins)))
    rows = run(library, report, "detected_iterations")
    assert picked(rows, "number", "start_ns", "end_ns", "duration_ns", "kernels", "busy_ns") == [
        (1, 100, 200, 100, 4, 20),
        (2, 200, 300, 100, 4, 20),
    ]
    assert picked(rows, "marker", "kernels_cv_pct", "cv_pct", "iterations", "stream") == [("k2", 0, 0, 2, 7)] * 2


def test_work_over_an_edge_counts_on_both_sides(library: Library, publish: Publish) -> None:
    """One busy stretch from 90 to 250 covers two markers at 100 and 200, like a kernel of another stream."""
    kernels = [*loop([2, 2, 2, 2], [0, 100, 200, 300]), kernel(9, 5, 90, 250, stream_id=8)]

    def write(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, kernels)
        db.execute("DELETE FROM busy; INSERT INTO busy VALUES (0, 0, 5), (0, 90, 250), (0, 300, 305)")
        db.execute("UPDATE kernel SET end_ns = start_ns + 60 WHERE stream_id = 7")

    rows = run(library, publish(write), "detected_iterations")
    assert picked(rows, "start_ns", "kernels", "busy_ns") == [(0, 2, 15), (100, 1, 100), (200, 1, 50)]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([1, 2, 3, 4, 5], id="nothing repeats"),
        pytest.param([1, 1, 2, 3, 4, 5, 2, 3, 4, 1], id="far from steady"),
        pytest.param([1, 1, 1, 2, 3, 4, 5, 2, 3, 4], id="only at the start"),
    ],
)
def test_no_row_where_nothing_repeats(library: Library, publish: Publish, names: list[int]) -> None:
    report = publish(lambda db: fill(db, loop(names, [10 * n for n in range(len(names))])))
    assert run(library, report, "detected_iterations") == []
