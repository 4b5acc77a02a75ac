"""Rules about launches and synchronization: on samples against the raw export, and on small captures by hand."""

import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from profiledb.findings import judge, rulebook, sentences
from profiledb.library.library import Library
from tests.second import idle
from tests.second.raw import Call, Capture
from tests.support import memory_reports as made
from tests.support.gaps import SYNC, by_hand, capture, gained, looked_into, outermost, ranges, sampled, share
from tests.support.judged_rules import judged, union
from tests.support.page_reports import Publish, kernel

MORE = pytest.mark.slow("judges more captures by hand")
LAUNCHING = {"launch call", "launch latency", "host code", "other CUDA call"}


def launch_gaps(found: Capture) -> list[int]:
    """Gaps up to 100 µs before kernels, in which the CPU does nothing but launch."""
    return [
        gap.ns
        for gap in looked_into(found)
        if gap.ns <= 100_000 and gap.follower.kind == "kernel" and set(gap.by_reason) <= LAUNCHING
    ]


@pytest.mark.parametrize("sample", ["launches_tiny", pytest.param("transformer_steps", marks=MORE), "idle_fixed"])
def test_launch_bound(nsys_samples: Library, sample: str) -> None:
    found = capture(sample)
    finding, gaps = sampled(nsys_samples, sample, "launch_bound"), launch_gaps(found)
    assert (finding.saving_ns, finding.facts["gaps"]) == (sum(gaps), len(gaps))
    assert finding.value == pytest.approx(share(found, sum(gaps)))
    assert finding.verdict == ("clear" if sample == "idle_fixed" else "fires")


@pytest.mark.parametrize(
    ("reads", "size", "kernels"),
    [
        (20, 64, 120),
        *(pytest.param(*one, marks=MORE) for one in ((19, 64, 120), (20, 65, 120), (20, 64, 1000), (20, 64, 1100))),
    ],
)
def test_reads_of_a_few_bytes_are_named(
    library: Library, publish: Publish, reads: int, size: int, kernels: int
) -> None:
    """By hand: kernels of 1 µs, one each 10 µs, and copies to the host right behind some of them."""
    work = [(n * 10_000, n * 10_000 + 10, n * 10_000 + 20, n * 10_000 + 1_020) for n in range(kernels)]
    moved = [made.copy(n, n * 10_000 + 1_020, n * 10_000 + 2_020, size, (2, 0), call_id=n) for n in range(reads)]
    copied = [made.call(n, 4, n * 10_000 + 1_010, n * 10_000 + 2_030) for n in range(reads)]
    found = judged(library, by_hand(publish, work, memop=moved, api_call=copied), "launch_bound")
    told = reads if (reads, size) == (20, 64) and kernels <= 1000 else None
    assert (found.verdict, found.facts["reads"], found.cause) == ("fires", told, "reads" if told else None)
    assert ("reads a few bytes back" in sentences.strip_sentence(found)) == bool(told)
    said = " ".join(found.rule.advised(found.cause, ["CuPy"]))
    assert ("cupy.fuse" in said, "`x.get()`" in said) == (not told, bool(told)), "what reads is no CUDA graph"
    assert "CUDA graph" in " ".join(found.rule.advised(found.cause, ["PyTorch", "decode"])), "between two tokens it may"


def test_launches_are_in_the_innermost_range_that_holds_most(library: Library, publish: Publish) -> None:
    """120 kernels, each launched in one of two parts of a step, and more in neither: no range holds most of them."""
    work = [(n * 10_000, n * 10_000 + 10, n * 10_000 + 20, n * 10_000 + 1_020) for n in range(120)]
    lasts = [(0, 900_000, "a"), (900_000, 1_100_000, "b")]
    few = judged(library, by_hand(publish, work, **ranges(*lasts)), "launch_bound")
    assert few.facts.get("range") is None
    assert "of it in" not in sentences.strip_sentence(few)
    most = judged(library, by_hand(publish, work, **ranges((0, 1_000_000, "a"))), "launch_bound")
    assert most.facts["range_pct"] == pytest.approx(84, abs=1)
    assert f"{most.facts['range_pct']:.1f} % of it in a." in sentences.strip_sentence(most)


@pytest.mark.parametrize(("sample", "verdict"), [("launches_tiny", "fires"), ("dataloader_fixed", "clear")])
def test_short_kernels(nsys_samples: Library, sample: str, verdict: str) -> None:
    found = capture(sample)
    pairs = [(one.call.end - one.call.start, one.ns) for one in found.kernels if one.call]
    excess = sum(call - kernel for call, kernel in pairs if call > kernel)
    bound = min(excess, sum(gap.ns for gap in idle.gaps(found) if 2_000 <= gap.ns <= 100_000))
    finding = sampled(nsys_samples, sample, "short_kernels", warmup="include")
    assert (finding.verdict, finding.saving_ns) == (verdict, bound)
    assert finding.value == pytest.approx(share(found, bound))
    assert finding.facts["short_pct"] == pytest.approx(100 * sum(c > k for c, k in pairs) / len(pairs))


def test_few_short_kernels_are_not_judged(nsys_samples: Library) -> None:
    assert sampled(nsys_samples, "kernels", "short_kernels").verdict == "cannot_judge"
    assert sampled(nsys_samples, "launches_graph_nodes", "short_kernels", warmup="exclude").verdict == "cannot_judge"


def waits_of(found: Capture) -> list[tuple[Call, int]]:
    """Synchronizations, with the 2.5 µs that Python takes around each, and copies to the host that had arrived when
    their call returned, or that a synchronization follows: reads of a few bytes with the 10 µs of Python around each,
    others until they arrived."""
    copies = {one.call.row: one for one in found.operations if one.call and one.facts.get("copyKind") == 2}
    several = outermost([one for one in found.calls if "Synchronize" in one.name or "Mem" in one.name])
    after = dict(zip((one.row for one in several), several[1:], strict=False))
    held, python = list[tuple[Call, int]](), dict[int, int]()
    for one in several:
        copy, then = copies.get(one.row), after.get(one.row)
        waits = then is not None and "Synchronize" in then.name and then.start - one.end < 5_000
        if "Synchronize" in one.name:
            held.append((one, one.end))
            python[one.row] = 2_500
        elif copy and copy.facts["bytes"] <= 64 and (copy.end <= one.end or waits):
            held.append((one, one.end))
            python[one.row] = 10_000
        elif copy:
            held.append((one, copy.end))
    return [(one, until - one.start + python.get(one.row, 0)) for one, until in held if until <= one.end]


def test_sync_bound(nsys_samples: Library) -> None:
    found = capture("idle_host_bound")
    lost = gained(found, waits_of(found))
    finding = sampled(nsys_samples, "idle_host_bound", "sync_bound")
    assert (finding.verdict, finding.saving_ns, finding.facts["calls"]) == ("fires", lost, 22)
    assert finding.value == pytest.approx(share(found, lost))
    assert (finding.cause, finding.facts["range"]) == ("few bytes", "step_*/read_loss_item")
    for mended in ("idle_fixed", "streams_overlapped", "launches_graph", "launches_graph_nodes", "dataloader_fixed"):
        assert sampled(nsys_samples, mended, "sync_bound", warmup="exclude").verdict == "clear"


def test_sync_bound_is_no_more_than_the_shorter_wait(library: Library, publish: Publish) -> None:
    """The CPU is in the call for 150.05 µs, then works 300 µs; without the call, it launches that much earlier."""
    kernels = [(0, 10, 50_000, 200_000), (500_000, 500_010, 500_020, 600_000)]
    waits = [made.call(1, SYNC, 50_000, 200_000 + 50)]
    finding = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert (finding.verdict, finding.cause, finding.saving_ns) == ("fires", "synchronization", 150_050)
    without = publish(lambda db: made.fill(db, osrt_call=[made.osrt(1, 6, 5, 9)]))
    assert judged(library, without, "sync_bound").verdict == "cannot_judge"


@pytest.mark.slow("judges six captures of 480 steps")
def test_many_short_waits_add_up(library: Library, publish: Publish) -> None:
    """480 times a kernel of 100 µs; the CPU waits for 90 µs of it, and the next kernel starts 80 µs after its end.

    Of these 80 µs, the CPU works 60, the call takes 15, and the launch takes 5 to reach the GPU: a CPU that had not
    waited would do all of that earlier, so each of the 479 gaps would go.
    """
    period, us = 180_000, 1_000
    kernels = [(n * period, n * period + 15 * us, n * period + 20 * us, n * period + 120 * us) for n in range(480)]
    waits = [made.call(1000 + n, SYNC, n * period + 30 * us, n * period + 120 * us) for n in range(480)]
    finding = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert (finding.verdict, finding.facts["calls"], finding.saving_ns) == ("fires", 479, 479 * 80 * us)
    assert finding.value == pytest.approx(100 * 479 * 80 / (479 * 180 + 100))
    once = judged(library, by_hand(publish, kernels, api_call=waits[::20]), "sync_bound")
    assert (once.verdict, once.facts["calls"]) == ("clear", 24), "one wait in a step of 20 kernels costs 2 %"
    assert once.saving_ns == 24 * 90 * us, "of 80 µs each the gap after it and an eighth of the next one"
    assert "(" not in sentences.says(finding), "one function has all of them"
    named = [{"string_id": 12, "value": "cudaDeviceSynchronize_v3020"}]
    copied = [{**one, "name_id": 12} if n % 4 == 0 else one for n, one in enumerate(waits)]
    both = judged(library, by_hand(publish, kernels, api_call=copied, string=named), "sync_bound")
    assert (both.facts["calls"], both.facts["main_calls"]) == (479, 359), "the time of all, and the calls of one"
    assert "on average (359 times in `cudaStreamSynchronize`)" in sentences.says(both)
    functions = ("cudaEventSynchronize_v3020", "cudaDeviceSynchronize_v3020", "cuCtxSynchronize")
    four = [{"string_id": 12 + n, "value": function} for n, function in enumerate(functions)]
    mixed = [{**one, "name_id": (12, 12, 13, 14, one["name_id"])[n % 5]} for n, one in enumerate(waits)]
    most = judged(library, by_hand(publish, kernels, api_call=mixed, string=four), "sync_bound")
    assert (most.facts["main_calls"], most.facts["few_calls"]) == (None, 192), "no function has most of the calls"
    assert sentences.says(most).endswith("192 of these waits, in `cudaEventSynchronize`, cost the most.")
    few = judged(library, by_hand(publish, kernels[:20], api_call=waits[:20]), "sync_bound")
    assert (few.verdict, few.saving_ns) == ("clear", 0), "19 say nothing of a loop"


@MORE
def test_synchronizations_that_wait_for_nothing_cost_their_calls(library: Library, publish: Publish) -> None:
    """Every 60 µs, 480 times: a kernel of 3 µs, and 12 µs after its end a synchronization of 6 µs."""
    period, us = 60_000, 1_000
    kernels = [(n * period, n * period + 4 * us, n * period + 5 * us, n * period + 8 * us) for n in range(480)]
    waits = [made.call(1000 + n, SYNC, n * period + 20 * us, n * period + 26 * us) for n in range(480)]
    finding = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert (finding.verdict, finding.facts["calls"], finding.saving_ns) == ("fires", 479, 479 * 6 * us)
    assert finding.value == pytest.approx(100 * 479 * 6 / (479 * 60 + 3))


@pytest.mark.parametrize(("size", "then_waits", "library_name", "lost"), [
    (64, True, "a", 9),
    *(
        pytest.param(*one, marks=MORE)
        for one in ((64, False, "a", 6), (64, False, "cupy_add", 16), (65, False, "cupy_add", 3), (65, True, "a", 3))
    ),
])  # fmt: skip
def test_reads_of_a_few_bytes_cost_their_calls(
    library: Library, publish: Publish, size: int, then_waits: bool, library_name: str, lost: int
) -> None:
    """Every 100 µs, 480 times: a kernel, and 12 µs after its end a call of 6 µs that reads some bytes.

    The bytes arrive 3 µs after the call began, or 9 µs after: then another call waits for them, from 6 µs on.
    """
    period, us = 100_000, 1_000
    starts = range(0, 480 * period, period)
    kernels = [(at, at + 4 * us, at + 5 * us, at + 8 * us) for at in starts]
    arrive = 29 * us if then_waits else 23 * us
    moved = [made.copy(n, at + arrive - us, at + arrive, size, (2, 0), call_id=1000 + n) for n, at in enumerate(starts)]
    calls = [made.call(1000 + n, 4, at + 20 * us, at + 26 * us) for n, at in enumerate(starts)]
    if then_waits:
        calls += [made.call(2000 + n, SYNC, at + 26 * us, at + 29 * us) for n, at in enumerate(starts)]
    names = [{"name_id": 9, "short": library_name, "demangled": library_name, "class": "elementwise"}]
    report = by_hand(publish, kernels, memop=moved, api_call=calls, kernel_name=names)
    finding = judged(library, report, "sync_bound")
    assert finding.saving_ns == 479 * lost * us


@pytest.mark.parametrize(
    ("size", "search", "cause", "advice"),
    [(1, "a", "conditions", "`if x.any()`"), pytest.param(8, "a", "few bytes", "`.item()`", marks=MORE),
     pytest.param(8, "write_indices", "positions", "`nonzero`", marks=MORE)],
)  # fmt: skip
def test_what_reads_of_a_few_bytes_are_for(
    library: Library, publish: Publish, size: int, search: str, cause: str, advice: str
) -> None:
    """480 times a kernel, a copy to the host whose call takes 2 µs, and the wait for it: 6, or 30 in every third."""
    period, us = 100_000, 1_000
    starts = [(at, at + (50 if n % 3 else 26) * us) for n, at in enumerate(range(0, 480 * period, period))]
    kernels = [(at, at + 4 * us, at + 5 * us, at + 8 * us) for at, _ in starts]
    moved = [made.copy(n, end - us, end, size, (2, 0), call_id=1000 + n) for n, (_, end) in enumerate(starts)]
    calls = [made.call(1000 + n, 4, at + 18 * us, at + 20 * us) for n, (at, _) in enumerate(starts)]
    calls += [made.call(2000 + n, SYNC, at + 20 * us, end) for n, (at, end) in enumerate(starts)]

    def rename(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE kernel_name SET short = ?, demangled = 'at::native::' || ?", [search, search])

    report = by_hand(publish, kernels, rename, memop=moved, api_call=calls)
    found = judged(library, report, "sync_bound")
    assert (found.cause, found.facts["function"]) == (cause, "cudaStreamSynchronize"), "the longer part of each read"
    assert (found.facts["calls"], found.facts["main_calls"]) == (479, None), "a copy and the wait for it are one read"
    assert advice in sentences.fill_advice(found)[0]


@MORE
def test_what_the_cpu_gains_goes_to_later_gaps_too(library: Library, publish: Publish) -> None:
    """The CPU waits 200 µs for the first kernel, then launches three of 20 µs every 100 µs.

    80 µs of each gap go, until the 200 µs are used up. Work that was queued when a gap began does not start earlier.
    """
    us = 2_000  # what follows are units of 2 µs
    kernels = [(0, 5 * us, 10 * us, 110 * us), (145 * us, 149 * us, 150 * us, 160 * us)]
    kernels += [(start - 5 * us, start - us, start, start + 10 * us) for start in (200 * us, 250 * us)]
    waits = [made.call(1, SYNC, 10 * us, 110 * us)]
    finding = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert (finding.saving_ns, finding.facts["calls"]) == (100 * us, 1)  # of 40, 40 and 40
    assert finding.facts["gap_ns"] == 120 * us
    kernels[2] = (150 * us, 151 * us, 200 * us, 210 * us)
    queued = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert queued.saving_ns == 80 * us


@pytest.mark.slow("judges a capture of 3,000 kernels")
def test_the_cpu_gets_ahead_by_what_cuda_queues(library: Library, publish: Publish) -> None:
    """The CPU waits 5 ms for a kernel; after 3,000 kernels, launched one by one without a gap, it needs 4 ms."""
    us = 1_000
    kernels = [(0, 2 * us, 3 * us, 5_000 * us)]
    kernels += [(5_000 * us + n * us, 5_000 * us + n * us + 500, 5_001 * us + n * us, 5_002 * us + n * us)
        for n in range(3_000)]  # fmt: skip
    kernels.append((12_000 * us, 12_001 * us, 12_002 * us, 12_003 * us))
    waits = [made.call(9_000, SYNC, 3 * us, 5_000 * us)]
    assert not judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound").saving_ns
    few = [kernels[0], *kernels[1:100], kernels[-1]]
    assert (judged(library, by_hand(publish, few, api_call=waits), "sync_bound").saving_ns or 0) > 4_000 * us


def test_a_wait_of_one_process_costs_another_one_nothing(library: Library, publish: Publish) -> None:
    """Two processes do the same, each on its GPU, and only the first one waits."""
    kernels = [(0, 10, 50_000, 200_000), (500_000, 500_010, 500_020, 600_000)] * 2
    waits = [made.call(1, SYNC, 50_000, 200_000)]
    other = made.PID + (1 << 24)

    def second(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE busy SET device_id = 1 WHERE rowid % 2 = 1")
        db.execute(f"UPDATE kernel SET device_id = 1, global_pid = {other} WHERE kernel_id >= 102")
        db.execute(f"UPDATE api_call SET global_tid = {other + 70} WHERE call_id >= 102")

    finding = judged(library, by_hand(publish, kernels, after=second, api_call=waits), "sync_bound")
    assert (finding.saving_ns, finding.facts["calls"]) == (150_000, 1)
    assert finding.value == pytest.approx(100 * 150 / (2 * 550))


def test_events_that_ddp_measures_itself_with(library: Library, publish: Publish) -> None:
    """A wait of 100 µs for an event, then 300 µs of the CPU: programs with NCCL cannot avoid it."""
    kernels = [(0, 10, 50_000, 150_000), (450_000, 450_010, 450_020, 600_000)]
    waits = [made.call(1, 60, 50_000, 150_000)]
    names = [{"string_id": 60, "value": "cudaEventSynchronize_v3020"}]
    used = [{"name_id": 9, "short": "ncclDevKernel_AllReduce", "demangled": "nccl", "class": "communication"}]
    without = judged(library, by_hand(publish, kernels, api_call=waits, string=names), "sync_bound")
    assert (without.verdict, without.saving_ns) == ("fires", 100_000)
    ddp = by_hand(publish, kernels, api_call=waits, string=names, kernel_name=used)
    assert judged(library, ddp, "sync_bound").verdict == "clear"


def test_slow_launches(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No sample has costly ones, so by hand. The first launch of a kernel may load code and does not count."""
    kernels = [(0, 90_000, 80_000, 100_000), (150_000, 210_000, 209_000, 300_000), (300_000, 349_999, 350_000, 400_000)]
    finding = judged(library, by_hand(publish, kernels), "slow_launches")
    assert (finding.verdict, finding.saving_ns, finding.facts["calls"]) == ("fires", 59_000, 1)
    assert finding.value == pytest.approx(100 * 59 / 320)
    assert sampled(nsys_samples, "launches_tiny", "slow_launches").verdict == "clear"
    assert sampled(nsys_samples, "launches_graph", "slow_launches").verdict == "cannot_judge"


@pytest.fixture
def launch(publish: Publish) -> Callable[..., str]:
    """Publishes a launch each 100 µs: kernels of 50 µs start 10 µs after their call begins, which lasts 5 µs longer
    than they do."""
    us = 1_000

    def launch_(times: int = 100, ran: int = 50, late: int = 5) -> str:
        return by_hand(publish, [
            (at, at + (10 + ran + late) * us, at + 10 * us, at + (10 + ran) * us)
            for at in range(0, times * 100 * us, 100 * us)
        ])  # fmt: skip

    return launch_


def test_launches_that_wait_for_their_kernels(library: Library, launch: Callable[..., str]) -> None:
    us = 1_000
    found = judged(library, launch(), "blocking_launches")
    assert (found.verdict, found.saving_ns, found.facts["late_pct"]) == ("fires", 99 * 50 * us, 100.0)
    assert found.value == pytest.approx(100 * 99 * 50 / (99 * 100 + 50))
    assert "CUDA_LAUNCH_BLOCKING" in found.rule.advised(found.cause, ["PyTorch"])[0]
    soon = judged(library, launch(100, 50, -1), "blocking_launches")
    assert (soon.verdict, soon.saving_ns) == ("clear", 0)


@pytest.mark.slow("judges a capture by every rule")
def test_waits_of_other_kernels_and_what_they_explain(library: Library, launch: Callable[..., str]) -> None:
    """Of short kernels the CPU waits for less time than the GPU is idle: it takes longer anyway."""
    assert judged(library, launch(ran=10), "blocking_launches").saving_ns == 100 * 15 * 1_000
    few = judged(library, launch(19), "blocking_launches")
    assert (few.verdict, few.saving_ns) == ("clear", 0)
    every = judge.judge(library, library.find(launch()), {}, rulebook.load().values())
    fires = [(one.rule.name, one.parent) for one in every if one.verdict == "fires" and one.rule.costs]
    assert fires[0] == ("blocking_launches", None)
    assert {parent for _, parent in fires[1:]} <= {"blocking_launches"}, fires


@pytest.mark.parametrize("sample", ["launches_graph", "streams_serial", "tasks"])
def test_queued_work(nsys_samples: Library, sample: str) -> None:
    found = capture(sample)
    waits = [ns for gap in looked_into(found) if (ns := gap.by_reason["launch latency"]) >= 30_000]
    finding = sampled(nsys_samples, sample, "queued_work")
    assert (finding.saving_ns, finding.facts["gaps"]) == (sum(waits), len(waits))
    assert finding.value == pytest.approx(share(found, sum(waits)))
    assert finding.verdict == "clear"


QUEUED = [(0, 10, 20, 40_020), (50, 60, 140_020, 200_020)]
"""Half of 200 µs long after the launch returned: no available report has it."""


@pytest.fixture
def queued(library: Library, publish: Publish) -> Callable[..., str | None]:
    """Answers the cause where a call of this correlation did that to a stream: kernels have 100 and 101, times 10."""

    def queued_(correlation: int, stream: int = 7, function: str = "cudaStreamWaitEvent_v3020") -> str | None:
        names = [{"string_id": 60, "value": function}]
        put = [made.call(correlation, 60, 30, 40)]
        waits = [
            {"sync_id": 1, "start_ns": 30, "end_ns": 40, "device_id": 0, "stream_id": stream, "global_pid": made.PID}
            | {"sync_type": 2, "correlation_id": correlation}
        ]

        def change(db: duckdb.DuckDBPyConnection) -> None:
            db.execute("UPDATE kernel SET correlation_id = 10 * correlation_id")

        report = by_hand(publish, QUEUED, after=change, string=names, api_call=put, sync=waits)
        return judged(library, report, "queued_work").cause

    return queued_


def test_queued_work_that_waits_for_an_event(
    library: Library, publish: Publish, queued: Callable[..., str | None]
) -> None:
    alone = judged(library, by_hand(publish, QUEUED), "queued_work")
    assert (alone.verdict, alone.cause, alone.saving_ns) == ("fires", "other", 100_000)
    assert alone.value == pytest.approx(50)
    assert queued(1005) == "event"


@MORE
def test_queued_work_that_waits_for_no_event(queued: Callable[..., str | None]) -> None:
    assert queued(995) == "other", "the kernel before waited for it"
    assert queued(1015) == "other", "it was put behind the kernel"
    assert queued(1005, stream=8) == "other"
    assert queued(1005, function="cudaStreamSynchronize_v3020") == "other", "the host waited"


@MORE
def test_queued_work_that_is_a_graph_or_cannot_be_told(library: Library, publish: Publish) -> None:
    names = [{"string_id": 60, "value": "cudaGraphLaunch_v10000"}]

    def rename(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE api_call SET name_id = 60")

    graph = by_hand(publish, QUEUED, after=rename, string=names)
    assert judged(library, graph, "queued_work").cause == "graph"
    often = [(100 * n, 100 * n + 10, 100 * n + 20, 100 * n + 110) for n in range(19)]
    late = by_hand(publish, [*often, (1_900, 1_910, 140_020, 200_020)], after=rename, string=names)
    assert judged(library, late, "queued_work").cause == "other", "no first launch, which would upload it"
    short = by_hand(publish, [(0, 10, 20, 40_020), (50, 60, 70_010, 200_020)])
    assert judged(library, short, "queued_work").value == 0
    uncalled = publish(lambda db: made.fill(db, busy=((0, 10),), kernel=[kernel(1, 1, 0, 10)]))
    assert judged(library, uncalled, "queued_work").verdict == "cannot_judge"


def layered(publish: Publish, steps: int = 3, layers: int = 4, syncs: bool = True, name: str = "layer_") -> str:
    """Steps of layers that take 200 µs each: a kernel of 100 µs, for which the CPU waits, then 100 µs of host code."""
    long = 200_000
    kernels = [(long * n, long * n + 10, long * n + 20, long * n + 100_000) for n in range(steps * layers)]
    noted: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    waits = []
    for step in range(steps):
        pre = 1 + step * (layers + 1)
        begin, end = long * layers * step, long * layers * (step + 1)
        own: dict[str, Any] = {"closed": True, "style": "PushPop", "global_tid": made.MAIN}
        noted.append({"range_id": pre, "pre": pre, "post": pre + layers, "path_id": pre, "name_id": pre, "level": 0})
        noted[-1] |= own | {"parent_id": None, "start_ns": begin, "end_ns": end}
        paths.append({"path_id": pre, "parent_id": None, "level": 0, "name": f"step_{step}", "path": f"step_{step}"})
        for layer in range(layers):
            number, start = pre + 1 + layer, begin + long * layer
            noted.append({"range_id": number, "pre": number, "post": number, "path_id": number, "name_id": number})
            noted[-1] |= own | {"level": 1, "parent_id": pre, "start_ns": start, "end_ns": start + long}
            called = f"{name}{layer}"
            paths.append({"path_id": number, "parent_id": pre, "level": 1, "name": called})
            paths[-1] |= {"path": f"step_{step}/{called}"}
            if syncs:
                waits.append(made.call(number, SYNC, start + 100, start + 100_050, process_range=number))
    names = [{"name_id": one["path_id"], "text": one["name"], "name": one["name"]} for one in paths]
    return by_hand(publish, kernels, range=noted, range_path=paths, range_name=names, api_call=waits)


def test_synchronization_in_each_layer(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No available report has it: by hand, after 11 of 12 layers the GPU waits for a CPU that waited 99.95 µs."""
    finding = judged(library, layered(publish), "sync_per_layer")
    assert (finding.verdict, finding.saving_ns) == ("fires", 11 * 99_950)
    assert finding.value == pytest.approx(100 * 11 * 99_950 / (11 * 200_000 + 100_000 - 20))
    assert (finding.facts["calls"], finding.facts["layers"], finding.facts["range"]) == (4, 4, "step_*/layer_*")
    assert finding.facts["function"] == "cudaStreamSynchronize"
    assert sampled(nsys_samples, "transformer_steps", "sync_per_layer").verdict != "fires"


@MORE
def test_synchronization_in_other_layers(nsys_samples: Library, library: Library, publish: Publish) -> None:
    assert judged(library, layered(publish, syncs=False), "sync_per_layer").verdict == "clear"
    few = judged(library, layered(publish, layers=3), "sync_per_layer")
    assert (few.verdict, "layer_0" in few.why) == ("cannot_judge", True)
    assert judged(library, layered(publish, name="part"), "sync_per_layer").verdict == "fires"
    assert sampled(nsys_samples, "attention", "sync_per_layer").verdict == "cannot_judge"


def on_streams(publish: Publish, several: list[tuple[int, int, int]]) -> str:
    """A capture of kernels: stream, begin and end."""
    ran = [kernel(i, 1, start, end, stream_id=stream) for i, (stream, start, end) in enumerate(several)]
    busy = [(start, end) for _, start, end in several]
    return publish(lambda db: made.fill(db, max(end for _, end in busy), tuple(sorted(busy)), kernel=ran))


def test_one_stream_of_several(library: Library, publish: Publish) -> None:
    """No available report has it: by hand, 120 kernels of 100 ns and 6 of 10 ns on another stream, in turn."""
    main = [(7, 1_000 * i, 1_000 * i + 100) for i in range(120)]
    found = judged(
        library, on_streams(publish, main + [(8, 1_000 * i + 500, 1_000 * i + 510) for i in range(6)]), "one_stream"
    )
    assert (found.verdict, found.severity, found.saving_ns) == ("fires", "note", None)
    assert found.value == pytest.approx(100 * 12_000 / 12_060)
    assert (found.facts["streams"], found.facts["others"], found.facts["stream"]) == (2, 6, 7)
    assert found.facts["overlap_pct"] == 0
    beside = [(8, start + 50, end + 50) for _, start, end in main]
    both = judged(library, on_streams(publish, main + beside), "one_stream")
    assert (both.verdict, both.value) == ("clear", 0)
    assert both.facts["overlap_pct"] == pytest.approx(100 * 50 / 150)
    hardly = judged(library, on_streams(publish, [*main, (8, 500, 510)]), "one_stream")
    assert (hardly.verdict, hardly.value) == ("clear", 0), "one kernel elsewhere is no use of streams"


def test_one_stream_needs_several_and_enough(nsys_samples: Library, library: Library, publish: Publish) -> None:
    few = on_streams(publish, [(7, 0, 10), (8, 20, 30)])
    assert judged(library, few, "one_stream").why == "No GPU has enough kernels on several streams."
    assert sampled(nsys_samples, "launches_tiny", "one_stream").verdict == "cannot_judge"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MORE) for seed in range(1, 4))])
def test_overlap_of_streams_is_that_of_their_unions(library: Library, publish: Publish, seed: int) -> None:
    draw = random.Random(seed)
    several = []
    for _ in range(150):
        start = draw.randrange(20_000)
        several.append((draw.choice((7, 7, 7, 8, 9)), start, start + draw.randrange(1, 300)))
    every = union([(start, end) for _, start, end in several])
    streams = sum(union([(s, e) for one, s, e in several if one == stream]) for stream in (7, 8, 9))
    found = judged(library, on_streams(publish, several), "one_stream")
    assert found.facts["overlap_pct"] == pytest.approx(100 * (streams - every) / every)
