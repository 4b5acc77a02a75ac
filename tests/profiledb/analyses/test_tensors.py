"""Tensor memory in a made-up trace: reused addresses, earlier allocations, several devices, growth, selections."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis, header, shared_rows
from tests.conftest import Once, ingest_files
from tests.ingest.torch.test_trace_load import BACK, event, instant, text
from tests.support.every_report import slow_but
from tests.support.page_reports import Publish, insert, picked, records, run

STEPS = 5
Ask = Callable[..., list[dict[str, Any]]]


def memory(at: int, address: int, size: int, total: int | None, device: int = 0, tid: int = 900) -> str:
    """An event of GPU ``device``, or of the CPU with -1. Reserved memory is four times the allocated."""
    args: dict[str, Any] = {"Addr": address, "Bytes": size, "Device Type": int(device >= 0), "Device Id": device}
    if total is not None:
        args |= {"Total Allocated": total, "Total Reserved": 4 * total if device >= 0 else 0}
    return instant("[memory]", at, tid, **args)


def step(number: int) -> list[str]:
    """A step of 10 µs from 10 µs times its number on; each holds on to 1,000 bytes, 5,000 are there before."""
    at, held = 10_000 * number, 5_000 + 1_000 * (number - 1)
    sequence = {"Sequence number": number, "Fwd thread id": 0}
    return [
        event("user_annotation", f"ProfilerStep#{number}", at, at + 9_000),
        event("python_function", "nn.Module: Net_0", at + 100, at + 3_000, Python_id=2 * number),
        event("python_function", "nn.Module: Linear_3", at + 200, at + 2_500, Python_id=2 * number + 1),
        event("cpu_op", "aten::linear", at + 300, at + 2_000, **sequence),
        event("cpu_op", "aten::empty", at + 400, at + 600, **{"Ev Idx": 1}),
        memory(at + 500, 64, 300, held + 300),
        event("cpu_op", "LinearBackward0", at + 4_000, at + 6_000, BACK, **{**sequence, "Fwd thread id": 1}),
        event("cpu_op", "aten::mm", at + 4_100, at + 5_900, BACK, **{"Ev Idx": 2}),
        memory(at + 4_500, 64, -300, held, tid=BACK),
        memory(at + 4_600, 64, 2_000, held + 2_000, tid=BACK),  # at the address that was just released
        memory(at + 5_000, 64, -2_000, held, tid=BACK),
        memory(at + 8_000, 1_000 + number, 1_000, held + 1_000),  # outside of all operators, and kept
    ]


EVENTS = [
    event("user_annotation", "setup", 0, 9_000),
    *(line for number in range(1, STEPS + 1) for line in step(number)),
    memory(1_000, 7, -700, 5_000),  # of before the capture
    memory(2_000, 7, -1, 4_999, device=1),
    memory(3_000, 9, 50, None, device=-1),
    memory(4_000, 9, -50, None, device=-1),
    memory(5_000, 11, -30, None, device=-1),  # unseen: held from the start
    instant("[OutOfMemory]", 20_500, **{"Bytes": 10**12, "Device Type": 1, "Device Id": 0}),
    event("cuda_runtime", "cudaLaunchKernel", 14_200, 14_250, BACK, correlation=1),
]


def by_hand(once: Once) -> Library:
    """A library with the report of ``EVENTS``."""

    def fill(folder: Path) -> None:
        path = folder / "by_hand.pt.trace.json"
        path.write_text(text(EVENTS))
        ingest_files(folder, [path])

    return Library(once("tensors_by_hand", fill) / "library")


@pytest.fixture(scope="module")
def ask(once: Once) -> Ask:
    library = by_hand(once)
    (report,) = library.list()
    return lambda name, **params: records(analysis.run(library, report.id, name, params))


def of(rows: list[dict[str, Any]], device: str = "GPU 0") -> list[dict[str, Any]]:
    return [row for row in rows if row["device"] == device]


def test_each_device_by_itself(ask: Ask) -> None:
    wanted = "device", "peak_bytes", "before_bytes", "end_bytes", "allocations", "unseen", "out_of_memory", "is_stated"
    assert picked(ask("tensor_memory"), *wanted) == [
        ("GPU 0", 11_000, 5_700, 10_000, 15, 1, 1, True),
        ("GPU 1", 4_999, 5_000, 4_999, 0, 1, 0, True),
        ("CPU", 80, 30, 0, 1, 1, 0, False),
    ]
    (gpu,) = of(ask("tensor_memory"))
    assert (gpu["reserved_bytes"], gpu["unused_bytes"], gpu["unused_pct"]) == (44_000, 33_000, 75)


def test_who_holds_the_peak(ask: Ask) -> None:
    """It is in the last step: four steps have kept their tensor, and the backward operator has its own."""
    rows = of(ask("tensor_peak", by="module"))
    assert picked(rows, "part", "name", "tensors", "bytes") == [
        ("before", None, None, 5_000), ("none", None, 4, 4_000), ("named", "Net_0/Linear_3", 1, 2_000),
    ]  # fmt: skip
    assert sum(row["bytes"] for row in rows) == 11_000
    (rest,) = [row for row in of(ask("tensor_peak", limit=0)) if row["part"] == "rest"]
    assert (rest["tensors"], rest["bytes"]) == (5, 6_000)


def test_operators_that_only_allocate_count_as_those_around_them(ask: Ask) -> None:
    wanted = "name", "allocations", "bytes", "median_ns", "net_bytes"
    assert picked(of(ask("tensor_allocations")), *wanted) == [
        ("aten::mm", 5, 10_000, 400, 0), (None, 5, 5_000, None, 5_000), ("aten::linear", 5, 1_500, 4_000, 0),
    ]  # fmt: skip
    assert "aten::empty" in [row["name"] for row in ask("tensor_allocations", by="innermost")]


def test_lives(ask: Ask) -> None:
    rows = of(ask("tensor_lifetimes", limit=7))
    assert [row["bytes"] for row in rows] == [2_000] * 5 + [1_000] * 2
    assert {row["freed_by"] for row in rows[:5]} == {"aten::mm"}
    assert [row["end_ns"] for row in rows[5:]] == [None, None]
    (old,) = [row for row in of(ask("tensor_lifetimes")) if row["bytes"] == 700]
    assert (old["start_ns"], old["operator"]) == (None, None)


@pytest.mark.parametrize(
    "selection",
    slow_but([{"range": "ProfilerStep#2"}], [{}, {"range": "ProfilerStep#2"}, {"device": 1}], "each analysis twice"),
    ids=str,
)
def test_what_is_answered_together_is_what_it_is_alone(
    once: Once, selection: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = by_hand(once)
    (report,) = library.list()
    sharing = [one for one in header.list_analyses().values() if {"tensors", "tensor_steps"} & set(one.once)]
    asked = [one.name for one in sharing if ("tensor_segment",) not in one.needs]  # of snapshots
    together = {one: analysis.run(library, report.id, one, selection) for one in asked}
    monkeypatch.setattr(shared_rows, "fit", lambda *_: False)
    for name, rows in together.items():
        assert rows.equals(analysis.run(library, report.id, name, selection)), name


def test_growth(ask: Ask) -> None:
    (grown, *others) = ask("tensor_growth")
    assert (grown["steps"], grown["first_bytes"], grown["last_bytes"]) == (5, 5_000, 9_000)
    assert (grown["slope_bytes"], grown["low_bytes"], grown["grows"]) == (pytest.approx(1_000), pytest.approx(1_000), 1)
    assert [row["grows"] for row in others] == [False, False]
    assert picked(of(ask("tensor_steps")), "change_bytes", "kept_bytes", "peak_bytes") == [
        (None if n == 0 else 1_000, 1_000, 7_000 + 1_000 * n) for n in range(STEPS)
    ]


@pytest.mark.parametrize(
    ("selection", "allocations", "peak"),
    [
        ({"range": "ProfilerStep#2"}, 3, 8_000), ({"range": "ProfilerStep#2", "mode": "thread"}, 2, 7_000),
        ({"range": "aten::mm"}, 5, 11_000), ({"device": 1}, 0, 4_999),
    ],
)  # fmt: skip
def test_of_a_selection(ask: Ask, selection: dict[str, Any], allocations: int, peak: int) -> None:
    """By process, a step includes the autograd thread's work while its driver is in the step."""
    row = ask("tensor_memory", **selection)[0]
    assert (row["allocations"], row["peak_bytes"]) == (allocations, peak)


def test_times_select_moments(ask: Ask) -> None:
    begin = min(row["start_ns"] for row in of(ask("tensor_steps")))
    (row,) = of(ask("tensor_memory", from_ns=begin + 4_550, to_ns=begin + 8_001))
    assert (row["allocations"], row["releases"], row["peak_bytes"], row["capture_peak_bytes"]) == (2, 1, 7_000, 11_000)
    assert len(ask("tensor_over_time", from_ns=begin)) == len(ask("tensor_over_time")), "the chart shows the capture"


def test_bins_keep_the_peak(ask: Ask) -> None:
    every, few = of(ask("tensor_over_time")), of(ask("tensor_over_time", points=8))
    assert len(few) < len(every) == 26
    assert max(row["allocated_bytes"] for row in few) == 11_000
    assert few[-1] == every[-1]


def test_sizes_that_cannot_be_are_no_error(library: Library, publish: Publish) -> None:
    """Allocations of the largest accepted size add up to more than 64 bits hold."""

    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "torch", "start_ns": 0, "stop_ns": 10**6, "duration_ns": 10**6}])
        db.execute("""
            INSERT INTO tensor_event BY NAME
            SELECT i AS event_id, i AS time_ns, 'memory' AS kind, 1 AS device_type, i AS address,
                140737488355328 AS bytes FROM range(70000) t(i)
        """)

    report = publish(fill, "torch")
    for name in ("tensor_memory", "tensor_over_time", "tensor_peak", "tensor_allocations", "tensor_lifetimes"):
        assert run(library, report, name)
    (row,) = run(library, report, "tensor_allocations")
    assert (row["allocations"], row["bytes"]) == (70_000, None)
