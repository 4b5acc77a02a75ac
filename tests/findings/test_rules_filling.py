"""Rules about blocks that fill a GPU and threads that fill cores: made-up captures; samples against the raw export."""

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from profiledb.findings import sentences
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import MS, by_hand, sampled
from tests.support.judged_rules import judged, pct, rows, window
from tests.support.page_reports import H100, Publish, insert, kernel, name

US = 1_000
MORE = pytest.mark.slow("judges more captures by hand")
SMS = 132
SHARED = 230_000
"""Shared memory of a block, bytes, of which an SM of an H100 has room for one."""
H200_SHARED = 233_472
"""Shared memory of an SM, bytes."""


def filled(publish: Publish, *work: dict[str, Any], kind: str = "other", gpu: dict[str, Any] | None = None) -> str:
    """A capture of kernels, 1 µs apart, each with its duration (`ns`), its shape and its resources."""
    ran, at = [], 0
    for number, one in enumerate(work):
        ns, more = one["ns"], {key: value for key, value in one.items() if key != "ns"}
        ran.append(kernel(number, 1, at, at + ns, **more))
        at += ns + US

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [gpu or H100])
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": at, "duration_ns": at}])
        insert(db, "kernel_name", [name(1, "own", kind)])
        insert(db, "kernel", ran)
        insert(db, "busy", [{"device_id": 0, "start_ns": one["start_ns"], "end_ns": one["end_ns"]} for one in ran])

    return str(publish(fill))


def test_partial_waves(library: Library, publish: Publish) -> None:
    """By hand: 144 blocks, one on an SM: two waves, the second one of 12 blocks on 132 SMs."""
    one = {"ns": 100 * US, "grid_x": 144, "dynamic_shared_bytes": SHARED}
    full, short = one | {"grid_x": 2 * SMS}, one | {"ns": 9 * US}
    found = judged(library, filled(publish, one, full, short), "partial_waves")
    lost = 100 * US * (1 - 144 / (2 * SMS))
    assert (found.verdict, found.facts["launches"]) == ("fires", 1)
    assert (found.facts["blocks"], found.facts["places"]) == (144, SMS)
    assert found.saving_ns == round(lost)
    assert found.value == pytest.approx(100 * lost / (211 * US), rel=1e-4)
    assert found.evidence[0]["note"] == "1.09 waves"
    two = one | {"dynamic_shared_bytes": 0, "grid_x": 20 * SMS + 1}  # 16 blocks of 128 threads on an SM
    assert judged(library, filled(publish, two), "partial_waves").value == 0, "one block of 21 more: a 21st is lost"
    assert judged(library, filled(publish, one | {"grid_x": 131}), "partial_waves").value == 0, "no whole wave"
    assert judged(library, filled(publish, one, kind="elementwise"), "partial_waves").value == 0, "memory limits it"
    unknown = judged(library, filled(publish, one, gpu={"gpu_id": 0, "name": "?"}), "partial_waves")
    assert (unknown.verdict, "blocks an SM" in unknown.why) == ("cannot_judge", True)


def test_samples_have_no_partial_waves(nsys_samples: Library) -> None:
    for sample in ("kernels", "transformer_training", "attention"):
        assert sampled(nsys_samples, sample, "partial_waves").verdict == "clear", sample


def test_low_occupancy(nsys_samples: Library) -> None:
    """The sample `kernels` has one launch with low occupancy, which this test computes from the raw export."""
    found = sampled(nsys_samples, "kernels", "low_occupancy")
    ((start, end, threads, shared),) = rows(
        "kernels",
        """SELECT k.start, k."end", blockX, staticSharedMemory + dynamicSharedMemory
        FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.id = shortName WHERE s.value = 'low_occupancy'""",
    )
    occupancy = 100 * (H200_SHARED // (128 * math.ceil((shared + 1024) / 128))) * (threads / 32) / 64
    assert (found.verdict, found.cause, found.facts["kernel"]) == ("fires", "shared memory", "low_occupancy")
    assert found.facts["occupancy_pct"] == pytest.approx(occupancy)
    assert found.value == pytest.approx(pct(end - start, window("kernels")))
    assert found.saving_ns == round((end - start) * (1 - occupancy / 25))
    assert sampled(nsys_samples, "transformer_training", "low_occupancy").verdict == "clear"


def test_few_warps_that_keep_much_in_registers(library: Library, publish: Publish) -> None:
    one = {"ns": 100 * US, "grid_x": SMS, "dynamic_shared_bytes": SHARED}  # 4 warps of 64
    assert judged(library, filled(publish, one), "low_occupancy").saving_ns == 75 * US
    assert judged(library, filled(publish, one | {"registers_per_thread": 128}), "low_occupancy").value == 0


@MORE
def test_few_warps_that_are_no_finding(library: Library, publish: Publish) -> None:
    one = {"ns": 100 * US, "grid_x": SMS, "dynamic_shared_bytes": SHARED}
    assert judged(library, filled(publish, one | {"grid_x": SMS - 1}), "low_occupancy").value == 0, "a small grid"
    assert judged(library, filled(publish, one | {"block_x": 512}), "low_occupancy").value == 0, "16 warps"
    assert judged(library, filled(publish, one, kind="matmul"), "low_occupancy").value == 0, "few on purpose"
    unknown = judged(library, filled(publish, one, gpu={"gpu_id": 0, "name": "?"}), "low_occupancy")
    assert unknown.verdict == "cannot_judge"


def switches(threads: int, cores: int, low: int, high: int, busy: float = 1.0) -> Iterator[dict[str, Any]]:
    """Threads that take turns of 100 µs on cores, each core busy for a share of the time."""
    turns = (high - low) // (100 * US)
    for core in range(cores):
        on_core = range(core, threads, cores)
        for turn in range(turns):
            begin = low + turn * 100 * US
            event = {"cpu": core, "global_tid": made.MAIN + on_core[turn % len(on_core)]}
            yield event | {"time_ns": begin, "scheduled_in": True}
            yield event | {"time_ns": begin + round(100 * US * busy), "scheduled_in": False}


WAITING = [(0, 10, 100, MS), (9 * MS - 10, 9 * MS, 9 * MS + 100, 10 * MS)]
"""The GPU waits 8 of 10 ms."""


@pytest.fixture
def on_cores(library: Library, publish: Publish) -> Any:
    """Judges that the GPU waits for threads on cores."""

    def found(threads: int, cores: int, busy: float = 1.0, there: int = 16) -> Any:
        events = list(switches(threads, cores, MS, 9 * MS, busy))
        facts = [{"name": "CpuCores", "value": str(there)}]
        return judged(library, by_hand(publish, WAITING, sched_event=events, system_info=facts), "few_cores")

    return found


def test_few_cores(on_cores: Any) -> None:
    """By hand: the GPU waits for eight threads; the machine has 16 cores."""
    one, enough = on_cores(8, 1), on_cores(8, 8)
    assert (one.verdict, one.facts["threads"], one.facts["cores"]) == ("fires", 8, 1)
    assert one.value == pytest.approx(100 * 8 / 10, abs=0.01)
    assert one.saving_ns == pytest.approx(7 * MS, rel=0.01), "on eight cores it takes an eighth"
    assert one.facts["busy_pct"] == pytest.approx(100, abs=0.1)
    assert (one.is_cause, enough.is_cause) == (True, False), "what these threads do is slow for want of cores"
    assert enough.value == 0


@MORE
def test_other_cores(library: Library, publish: Publish, on_cores: Any) -> None:
    assert on_cores(8, 2).saving_ns == pytest.approx(6 * MS, rel=0.01)
    assert on_cores(8, 1, there=4).saving_ns == pytest.approx(6 * MS, rel=0.01), "there are four cores"
    assert on_cores(8, 1, busy=0.5).value == 0, "the core has time"
    assert on_cores(1, 1).value == 0
    alone = [  # one thread runs all the time, twenty-four others for half a millisecond on cores of their own
        {"cpu": n, "global_tid": made.MAIN + n, "time_ns": at, "scheduled_in": into}
        for n in range(25) for at, into in ((MS, True), (9 * MS if n == 0 else 3 * MS // 2, False))
    ]  # fmt: skip
    assert judged(library, by_hand(publish, WAITING, sched_event=alone), "few_cores").value == 0, "each has its core"
    away = by_hand(
        publish, WAITING, sched_event=[{"cpu": 0, "global_tid": made.WORKER, "time_ns": 5, "scheduled_in": True}]
    )
    assert judged(library, away, "few_cores").verdict == "cannot_judge"


def test_calls_tell_of_few_cores_without_switches(library: Library, publish: Publish) -> None:
    """By hand: the GPU waits 8 of 10 ms; in some of twelve cases, calls that never block take 1 ms or more."""
    work = [(0, 10, 100, MS), (9 * MS - 10, 9 * MS, 9 * MS + 100, 10 * MS)]
    names = [{"string_id": 70, "value": "pthread_cond_signal"}, {"string_id": 71, "value": "pthread_cond_wait"}]

    def found(held: int, calls: int = 12, name: int = 70) -> Any:
        lengths = [2 * MS] * held + [3 * US] * (calls - held)
        spent = [made.osrt(i, name, MS + i, MS + i + ns, made.WORKER) for i, ns in enumerate(lengths)]
        return judged(library, by_hand(publish, work, osrt_call=spent, string=names), "few_cores")

    few = found(3)
    assert (few.verdict, few.facts["held"], few.facts["calls"]) == ("fires", 3, 12)
    assert few.value == pytest.approx(100 * 8 / 10, abs=0.02)
    assert "3 of 12 calls that never wait, such as `pthread_cond_signal`, take 1 ms or more" in sentences.says(few)
    for other in (found(2), found(9, calls=9), found(12, name=71)):
        assert other.verdict == "cannot_judge", "too few are held up, or too few told; a wait may take long"


@MORE
def test_a_thread_that_leaves_its_core_to_the_one_it_wakes_lacks_none(library: Library, publish: Publish) -> None:
    """By hand: each of twelve calls takes 2 ms; another thread continues in time after 12 of them, 9 or none."""
    work = [(0, 10, 100, MS), (99 * MS - 10, 99 * MS, 99 * MS + 100, 100 * MS)]
    names = [{"string_id": 70, "value": "pthread_cond_signal"}]
    spent = [made.osrt(i, 70, (2 + 5 * i) * MS, (4 + 5 * i) * MS, made.WORKER) for i in range(12)]

    def found(delay: int, woken: int) -> Any:
        calls = [made.call(500 + i, 1, (2 + 5 * i) * MS + delay, (2 + 5 * i) * MS + delay + US) for i in range(woken)]
        return judged(library, by_hand(publish, work, osrt_call=spent, string=names, api_call=calls), "few_cores")

    assert found(US, 0).facts["held"] == 12
    assert found(2 * MS, 12).facts["held"] == 12, "the other one goes on after the call only"
    assert found(US, 12).verdict == "cannot_judge"
    assert found(US, 1).facts["calls"] == 11, "eleven still tell, all held up"
