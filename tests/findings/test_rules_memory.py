"""Rules about tensor memory: a made-up trace whose five steps keep 1,000 bytes each, and single events."""

from typing import Any

import pytest

from profiledb.findings import judge, rulebook
from profiledb.library.library import Library
from tests.conftest import Once
from tests.findings.test_rules_copies import H200, small
from tests.profiledb.analyses import test_tensors
from tests.support.gaps import by_hand, ranges
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish

__all__ = ["small"]  # fixture
NAME = "by_hand.pt.trace.json"


@pytest.fixture(scope="module")
def trace(once: Once) -> Library:
    return test_tensors.by_hand(once)


def test_memory_growth(trace: Library) -> None:
    """From 5,000 bytes at the first step to 9,000 at the last, on a straight line; the GPU has 150,000."""
    found = judged(trace, NAME, "memory_growth")
    assert (found.verdict, found.severity) == ("fires", "warning")
    assert found.value == pytest.approx(100 * 4_000 / 9_000)
    wanted = {"device": "GPU 0", "steps": 5, "first_bytes": 5_000, "last_bytes": 9_000, "left_steps": 139}
    assert {name: found.facts[name] for name in wanted} == wanted
    assert found.facts["slope_bytes"] == pytest.approx(1_000)
    assert (found.evidence[0]["name"], found.evidence[0]["device"]) == ("GPU 0", 0)
    other = judged(trace, NAME, "memory_growth", device="1")
    assert (other.verdict, other.value, other.facts["steps"]) == ("clear", 0.0, 5)
    assert "fewer than three" in judged(trace, NAME, "memory_growth", range="ProfilerStep#2").why


@pytest.mark.parametrize(("until", "verdict"), [
    (20, "fires"), *(pytest.param(n, "clear", marks=pytest.mark.slow("judges another capture")) for n in (10, 0)),
])  # fmt: skip
def test_growth_of_what_cuda_allocates(library: Library, publish: Publish, until: int, verdict: str) -> None:
    """10,000 bytes from the start, 1,000 more in each of the first ``until`` of 20 steps.

    A pool that fills in the first half is no growth. In the second half, steps begin with 20,000 to 29,000 bytes.
    """
    kernels = [(1_000 * n, 1_000 * n + 10, 1_000 * n + 20, 1_000 * n + 900) for n in range(20)]
    steps = ranges(*((1_000 * n, 1_000 * n + 950, f"step_{n}") for n in range(20)))
    kept = [(-5, 10_000), *((1_000 * n + 500, 1_000) for n in range(until))]
    events = [
        {"event_id": n, "time_ns": at, "device_id": 0, "bytes": size, "mem_kind": 2, "operation": 0}
        for n, (at, size) in enumerate(kept)
    ]
    found = judged(library, by_hand(publish, kernels, memory_event=events, **steps), "memory_growth")
    assert (found.verdict, found.facts["steps"], found.facts["holder"]) == (verdict, 10, "CUDA allocations")
    if verdict == "fires":
        assert found.facts["slope_bytes"] == pytest.approx(1_000)
        assert (found.facts["first_bytes"], found.facts["last_bytes"]) == (20_000, 29_000)
        assert found.value == pytest.approx(100 * 9_000 / 29_000)


def test_what_was_allocated_before_the_capture_is_no_growth(library: Library, publish: Publish) -> None:
    """Nine events at the start of the capture, all at the same time, and one in step 15: a single one is no growth."""
    kernels = [(1_000 * n, 1_000 * n + 10, 1_000 * n + 20, 1_000 * n + 900) for n in range(20)]
    steps = ranges(*((1_000 * n, 1_000 * n + 950, f"step_{n}") for n in range(20)))
    events = [
        {"event_id": n, "time_ns": at, "device_id": 0, "bytes": 1_000, "mem_kind": 2, "operation": 0}
        for n, at in enumerate([*[-5] * 9, 15_500])
    ]
    found = judged(library, by_hand(publish, kernels, memory_event=events, **steps), "memory_growth")
    assert (found.verdict, found.facts["first_bytes"], found.facts["last_bytes"]) == ("clear", 9_000, 10_000)


def test_memory_fragmented(trace: Library, library: Library, small: Any) -> None:
    """The trace reserves 44,000 bytes and holds 11,000 at most: too little to count at the default threshold."""
    clear = judged(trace, NAME, "memory_fragmented")
    assert (clear.verdict, clear.value, clear.facts["lost_bytes"]) == ("clear", 0.0, 33_000)
    strict = rulebook.set_values(rulebook.load()["memory_fragmented"], {"least": "1"})
    (found,) = judge.judge(trace, trace.find(NAME), {}, [strict])
    assert (found.verdict, found.value, found.facts["device"]) == ("fires", 75.0, "GPU 0")
    untold = small([(0, 100)], tensor_event=[event(1, 600, None)])
    assert judged(library, untold, "memory_fragmented").verdict == "cannot_judge"


def test_tensor_memory_full(trace: Library, library: Library, small: Any) -> None:
    """950 of 1,000 bytes are reserved; in the trace, an allocation fails, and the size of the GPU is unknown."""
    full = small([(0, 100)], (H200,), tensor_event=[event(1, 600, 950), event(2, 10, 700)])
    found = judged(library, full, "tensor_memory_full")
    assert (found.verdict, found.severity, found.value, found.facts["held_bytes"]) == ("fires", "warning", 95.0, 950)
    half = small([(0, 100)], (H200,), tensor_event=[event(1, 500, None)])
    assert (judged(library, half, "tensor_memory_full").value, judged(library, half, "memory_growth").verdict) == (
        50.0, "cannot_judge",
    )  # fmt: skip
    failed = judged(trace, NAME, "tensor_memory_full")
    assert (failed.value, failed.facts["failures"], failed.facts["failed_bytes"]) == (100.0, 1, 10**12)
    assert judged(trace, NAME, "tensor_memory_full", device="1").verdict == "cannot_judge"


def event(number: int, size: int, reserved: int | None) -> dict[str, Any]:
    """An allocation, after which only it is held."""
    return {
        "event_id": number, "time_ns": 10 * number, "global_tid": 1, "kind": "memory", "device_type": 1, "device_id": 0,
        "address": number, "bytes": size, "allocated_bytes": size, "reserved_bytes": reserved,
    }  # fmt: skip
