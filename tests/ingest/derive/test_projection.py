"""Projection of ranges onto the GPU: small made-up exports, with the expected numbers beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import exports
from tests.support.exports import MAIN, NVTX, OTHER, PID, kernel, kernels

CALLS = ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue")
GRAPHS = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphExecId")
SECOND = PID + (1 << 24)
"""Another process, which counts its correlation ids from 1, too."""

Tables = dict[str, tuple[Sequence[str], exports.Rows]]


def calls(*rows: tuple[int, int, int, int]) -> Tables:
    """CUDA calls: start, end, thread, correlation id."""
    found = [(start, end, 0, tid, correlation, 1, 0) for start, end, tid, correlation in rows]
    return {"CUPTI_ACTIVITY_KIND_RUNTIME": (CALLS, found)}


def ranges(*rows: tuple[int, int | None, str, int]) -> Tables:
    """Push/pop ranges: start, end, name, thread."""
    return {"NVTX_EVENTS": (NVTX, [(s, e, 59, name, None, tid, 0) for s, e, name, tid in rows])}


def projections(folder: Path, tables: Mapping[str, tuple[Sequence[str], exports.Rows]]) -> dict[tuple[str, str], Any]:
    """(mode, range name) -> start, end, launches, operations, operation_ns, kernel_ns, busy_ns."""
    export = exports.write(folder / "made.sqlite", tables)
    with exports.loaded(folder / "report.duckdb", export) as db:
        rows = db.execute("""
            SELECT mode, name, projection.start_ns, projection.end_ns, launches, operations, operation_ns, kernel_ns,
                busy_ns
            FROM projection JOIN range USING (range_id) JOIN range_name USING (name_id)
        """).fetchall()
    return {(mode, name): numbers for mode, name, *numbers in map(list, rows)}


def test_a_range_holds_what_the_ranges_inside_it_launched(tmp_path: Path) -> None:
    found = projections(
        tmp_path,
        ranges((0, 100, "step", MAIN), (10, 40, "forward", MAIN), (50, 60, "nothing", MAIN))
        | calls((11, 12, MAIN, 1), (20, 21, MAIN, 2), (70, 71, MAIN, 3), (200, 201, MAIN, 4))
        | kernels(
            kernel(30, 40, correlation=1),
            kernel(50, 55, correlation=2),
            kernel(80, 90, correlation=3),
            kernel(300, 400, correlation=4),  # launched after the step
        ),
    )
    assert found[("thread", "forward")] == [30, 55, 2, 2, 15, 15, 15]
    assert found[("thread", "step")] == [30, 90, 3, 3, 25, 25, 25]
    assert ("thread", "nothing") not in found
    assert found[("process", "step")] == found[("thread", "step")]


def test_time_that_operations_of_a_range_share_counts_once(tmp_path: Path) -> None:
    found = projections(
        tmp_path,
        ranges((0, 100, "all", MAIN), (1, 30, "a", MAIN), (31, 60, "b", MAIN))
        | calls((2, 3, MAIN, 1), (4, 5, MAIN, 2), (32, 33, MAIN, 3), (34, 35, MAIN, 4))
        | kernels(
            kernel(100, 150, correlation=1),
            kernel(120, 130, correlation=2),  # inside the first
            kernel(140, 170, correlation=3),  # 10 of it beside the first, which is another range's
            kernel(140, 160, correlation=4, device=1),  # another GPU
        ),
    )
    assert found[("thread", "a")][-3:] == [60, 60, 50]
    assert found[("thread", "b")][-3:] == [50, 50, 50]
    assert found[("thread", "all")][-3:] == [110, 110, 70 + 20]


def test_graphs_by_node_and_whole(tmp_path: Path) -> None:
    whole = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (GRAPHS, [(70, 95, 0, 1, 7, 2, PID, 5, 6)])}
    found = projections(
        tmp_path,
        ranges((0, 50, "replay", MAIN))
        | calls((10, 12, MAIN, 1), (20, 22, MAIN, 2))
        | kernels(kernel(30, 40, correlation=1), kernel(40, 60, correlation=1), kernel(60, 65, correlation=1))
        | whole,
    )
    assert found[("thread", "replay")] == [30, 95, 2, 4, 60, 35, 60]


def test_whole_graphs_are_told(tmp_path: Path) -> None:
    whole = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (GRAPHS, [(70, 95, 0, 1, 7, 2, PID, 5, 6)])}
    export = exports.write(tmp_path / "made.sqlite", whole)
    with exports.loaded(tmp_path / "report.duckdb", export) as db:
        (text,) = db.execute("SELECT text FROM diagnostic").fetchone() or ("",)
    assert "1 launch of a CUDA graph" in text
    assert "--cuda-graph-trace=node" in text


def test_processes_with_the_same_correlation_ids_are_kept_apart(tmp_path: Path) -> None:
    found = projections(
        tmp_path,
        ranges((0, 50, "first", MAIN), (0, 50, "second", SECOND + 80))
        | calls((10, 12, MAIN, 1), (10, 12, SECOND + 80, 1))
        | kernels(kernel(30, 40, correlation=1), kernel(60, 90, correlation=1, pid=SECOND, device=1)),
    )
    assert found[("thread", "first")][:2] == [30, 40]
    assert found[("thread", "second")][:2] == [60, 90]


@pytest.mark.parametrize("own", [(), ((22, 26, "library", OTHER),)])
def test_a_helper_thread_works_for_the_range_that_waits_for_it(
    tmp_path: Path, own: tuple[tuple[int, int, str, int], ...]
) -> None:
    """Another thread launches the backward pass, and may open its own ranges."""
    main = PID + 7  # the thread whose id is that of the process
    names = {"ThreadNames": (("nameId", "globalTid", "priority"), [(9, OTHER, 20)])}
    texts = {"StringIds": (("id", "value"), [(1, "one"), (9, "pt_autograd_0")])}
    found = projections(
        tmp_path,
        ranges((0, 100, "step", main), (1, 10, "forward", main), (20, 60, "backward", main), *own)
        | calls((5, 6, main, 1), (23, 24, OTHER, 2), (70, 71, main, 3), (200, 201, OTHER, 4))
        | kernels(*(kernel(100 * n, 100 * n + 10, correlation=n) for n in (1, 2, 3, 4)))
        | names
        | texts,
    )
    assert ("thread", "backward") not in found
    assert found[("process", "backward")][:4] == [200, 210, 1, 1]
    assert found[("thread", "step")][2:4] == [2, 2]
    assert found[("process", "step")][2:4] == [3, 3]
    if own:
        assert found[("thread", "library")] == found[("process", "library")] == [200, 210, 1, 1, 10, 10, 10]
