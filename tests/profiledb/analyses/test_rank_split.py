"""Time of a rank: unions of intervals against cases by hand and against brute force."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.support.every_report import slow_but
from tests.support.page_reports import H100, Publish, insert, kernel, name, run
from tests.support.range_captures import Capture

PARTS = ("compute_ns", "exposed_ns", "hidden_ns", "copy_ns", "idle_ns")
Interval = tuple[str, int, int]
"""c (compute), n (communication) or m (copy), begin, end."""
KINDS = {"one": "matmul", "two": "communication", "three": "copy"}


def split(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[part] for part in PARTS)


def publish_work(publish: Publish, work: Sequence[Interval], device: int = 0) -> str:
    """A report of these intervals without ranges."""
    ran = [(number, *one) for number, one in enumerate(work, 1)]

    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "gpu", [H100])
        insert(db, "kernel_name", [name(1, "gemm", "matmul"), name(2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")])
        insert(
            db, "kernel", [kernel(n, 2 if k == "n" else 1, s, e, device_id=device) for n, k, s, e in ran if k != "m"]
        )
        copies = [{"memop_id": n, "start_ns": s, "end_ns": e} for n, k, s, e in ran if k == "m"]
        insert(db, "memop", [one | {"device_id": device, "global_pid": 1, "kind": "memcpy"} for one in copies])

    return publish(fill)


MORE = pytest.mark.slow("more work by hand")


def brute(work: Sequence[Interval], low: int, high: int) -> tuple[int, ...]:
    """The same, nanosecond by nanosecond."""
    ran = {kind: {ns for k, s, e in work if k == kind for ns in range(max(s, low), min(e, high))} for kind in "cnm"}
    compute, nccl = ran["c"], ran["n"]
    rest = ran["m"] - compute - nccl
    idle = high - low - len(compute | nccl | rest)
    return len(compute), len(nccl - compute), len(nccl & compute), len(rest), idle


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param([("c", 0, 100)], (100, 0, 0, 0, 0), marks=MORE),
        pytest.param([("c", 0, 10), ("c", 5, 20), ("c", 30, 40)], (30, 0, 0, 0, 10), marks=MORE),
        ([("c", 0, 50), ("n", 40, 80)], (50, 30, 10, 0, 0)),
        pytest.param([("n", 0, 100), ("c", 10, 20), ("c", 60, 70)], (20, 80, 20, 0, 0), marks=MORE),
        pytest.param([("n", 0, 40), ("n", 20, 60), ("c", 30, 50)], (20, 40, 20, 0, 0), marks=MORE),
        ([("c", 0, 10), ("m", 5, 30), ("n", 20, 25), ("c", 40, 50)], (20, 5, 0, 15, 10)),
        pytest.param([("c", 0, 10), ("c", 10, 20), ("c", 0, 20)], (20, 0, 0, 0, 0), marks=MORE),
        ([("c", -30, -10), ("n", -20, 0)], (20, 10, 10, 0, 0)),
    ],
)
def test_by_hand(library: Library, publish: Publish, work: list[Interval], expected: tuple[int, ...]) -> None:
    (row,) = run(library, publish_work(publish, work), "rank_split", steps="nothing")
    assert split(row) == expected


@pytest.mark.parametrize("seed", slow_but([0, 1], range(5), "another random work"))
def test_against_brute_force(library: Library, publish: Publish, seed: int) -> None:
    draw = random.Random(seed)
    work = []
    for _ in range(draw.randint(5, 120)):
        start = draw.randint(-200, 800)
        work.append((draw.choice("ccnm"), start, start + draw.choice([0, 1, 3, 20, 300])))
    kernels = [one for one in work if one[0] != "m"]
    (row,) = run(library, publish_work(publish, work), "rank_split", steps="nothing")
    assert split(row) == brute(work, min(s for _, s, _ in kernels), max(e for *_, e in kernels))


def test_steps_cut_what_runs_across_their_edges(library: Library, capture: Capture) -> None:
    ranges = [(0, 1000, "step_0"), (1000, 2000, "step_1"), (2500, 3500, "step_2")]
    work = [
        (10, 100, 900, "one"), (20, 800, 1200, "two"), (1010, 1100, 1300, "one"), (1020, 1900, 2100, "one"),
        (2510, 2400, 2600, "two"), (2520, 2700, 3600, "one"),
    ]  # fmt: skip
    made = capture(ranges, work, KINDS)
    found = run(library, made, "rank_split")
    # The first lasts until the work that it launched ends, at 1200, and the second from there to 2100.
    assert [(row["step"], row["name"], row["duration_ns"]) for row in found] == [
        (1, "step_0", 1200), (2, "step_1", 900), (3, "step_2", 1100),
    ]  # fmt: skip
    intervals = [({"one": "c", "two": "n"}[what], s, e) for _, s, e, what in work]
    for row, (low, high) in zip(found, [(0, 1200), (1200, 2100), (2500, 3600)], strict=True):
        assert split(row) == brute(intervals, low, high)
    (total,) = run(library, made, "rank_split", by="total")
    assert split(total) == tuple(sum(values) for values in zip(*map(split, found), strict=True))
    assert (total["steps"], total["step"]) == (3, None)


def test_steps_that_only_launch_last_as_long_as_the_gpu_takes(library: Library, capture: Capture) -> None:
    ranges = [(100 * n, 100 * n + 90, f"step_{n}") for n in range(3)]
    work = [(100 * n + 5, 200 + 1000 * n, 1200 + 1000 * n, "one") for n in range(3)]
    found = run(library, capture(ranges, work, KINDS), "rank_split")
    assert [row["duration_ns"] for row in found] == [1200, 1000, 1000]
    assert [row["idle_ns"] for row in found] == [200, 0, 0]


def test_a_warmup_is_no_step(library: Library, capture: Capture) -> None:
    ranges = [(0, 5000, "warmup"), (10, 4000, "step_0"), (6000, 7000, "step_0"), (7000, 8000, "step_1")]
    work = [(20, 100, 900, "one"), (6010, 6100, 6900, "one"), (7010, 7100, 7900, "one")]
    found = run(library, capture(ranges, work, KINDS), "rank_split")
    assert [row["compute_ns"] for row in found] == [800, 800]


def test_no_steps_no_rows(library: Library, publish: Publish) -> None:
    report = publish_work(publish, [("c", 0, 10)])
    assert run(library, report, "rank_split") == []
    assert run(library, report, "rank_split", steps="kernels") == []


def test_each_gpu_and_process_for_itself(library: Library, publish: Publish) -> None:
    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "kernel_name", [name(1, "gemm", "matmul"), name(2, "all_reduce", "communication")])
        places = [{"device_id": 0, "global_pid": 1 << 24}, {"device_id": 1, "global_pid": 1 << 24}]
        places.append({"device_id": 0, "global_pid": 2 << 24})
        times = [(1, 0, 10, 0), (2, 5, 30, 0), (1, 0, 40, 1), (1, 0, 7, 2), (2, 0, 7, 2)]
        insert(db, "kernel", [kernel(n, k, s, e, **places[p]) for n, (k, s, e, p) in enumerate(times, 1)])

    found = run(library, publish(fill), "rank_split", steps="nothing")
    assert [(row["pid"], row["gpu_id"], *split(row)) for row in found] == [
        (1, 0, 10, 20, 5, 0, 10), (1, 1, 40, 0, 0, 0, 0), (2, 0, 7, 0, 7, 0, 0),
    ]  # fmt: skip
