"""Rules about idle GPUs: samples against gaps of the raw export, and small captures by hand."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import duckdb
import pytest

from profiledb.findings import rulebook, sentences
from profiledb.findings.sentences import strip_sentence
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import (
    LOAD,
    MS,
    SEM,
    SYNC,
    by_hand,
    capture,
    during,
    in_steps,
    looked_into,
    ranges,
    sampled,
    share,
)
from tests.support.judged_rules import judged, rows, spans, union, window
from tests.support.page_reports import Publish, insert, kernel, run
from tests.support.range_captures import Capture

MORE = pytest.mark.slow("judges more captures by hand")


def test_host_work(nsys_samples: Library) -> None:
    host = capture("idle_host_bound")
    finding = sampled(nsys_samples, "idle_host_bound", "host_work")
    work = in_steps(host, "host_bookkeeping")
    lost = sum(during(gap, work, host) for gap in looked_into(host, 100_000))
    assert (finding.verdict, finding.facts["range"]) == ("fires", "step_*/host_bookkeeping")
    assert finding.value == pytest.approx(share(host, lost))
    assert finding.saving_ns == lost
    assert sampled(nsys_samples, "idle_fixed", "host_work", warmup="exclude").verdict == "clear"


def test_host_work_needs_ranges(library: Library, publish: Publish) -> None:
    alone = by_hand(publish, [(0, 5, 10, 20), (300_000, 300_005, 300_010, 300_020)])
    assert judged(library, alone, "host_work").verdict == "cannot_judge"


def test_host_work_of_whole_steps(library: Library, publish: Publish) -> None:
    """No work of a step can move before the launch of the next step: the step itself has to get shorter."""
    kernels = [(at, at + 5, at + 10, at + 20) for at in range(0, 10 * MS, MS)]
    steps = ranges(*((at, at + MS - 1, f"step_{at // MS}") for at in range(0, 10 * MS, MS)))
    found = judged(library, by_hand(publish, kernels, **steps), "host_work")
    assert (found.verdict, found.cause, found.facts["range"]) == ("fires", "whole step", "step_*")
    assert not any("before `step_*`" in one or "only every N steps" in one for one in sentences.fill_advice(found))


def test_host_work_of_several_ranges(library: Library, publish: Publish) -> None:
    """By hand: the GPU waits 0.6 ms of each ms in one range and 0.3 in another one; nothing of these is unexplained."""
    kernels = [(at, at + 5, at + 10, at + 100_000) for at in range(0, 10 * MS, MS)]
    draws = [(at + 100_010, at + 700_000, "draw") for at in range(0, 9 * MS, MS)]
    ranks = [(at + 700_001, at + 999_990, "rank") for at in range(0, 9 * MS, MS)]
    found = judged(library, by_hand(publish, kernels, **ranges(*draws, *ranks)), "host_work")
    assert (found.facts["range"], found.facts["second"]) == ("draw", "rank")
    assert found.facts["idle_ns"] == pytest.approx(9 * 599_990, abs=100)
    assert found.facts["second_ns"] == pytest.approx(9 * 299_989, abs=100)
    assert found.at_most_ns == found.explains_ns == found.facts["idle_ns"] + found.facts["second_ns"]
    assert "works in draw (5.40 ms) and in rank (2.70 ms)" in sentences.strip_sentence(found)
    changes = rulebook.load()["host_work"].list_changes(found.cause)
    assert changes == ("host_code={range}", "host_code={second}")


@pytest.mark.parametrize(
    ("each", "cause", "advice"),
    [(11, "launches", "`jax.jit`"), pytest.param(10, "whole step", "Dispatch the", marks=MORE)],
)
def test_host_work_of_steps_that_launch_operation_by_operation(
    library: Library, capture: Capture, each: int, cause: str, advice: str
) -> None:
    """In each of ten steps, the GPU waits 1 ms before each kernel except the very first, as in JAX without jit."""
    steps = [(at, at + each * MS - 1, f"step_{at // each // MS}") for at in range(0, 10 * each * MS, each * MS)]
    report = capture(steps, [(at + 5, at + 20, at + 30, "one") for at in range(0, 10 * each * MS, MS)])
    found = judged(library, report, "host_work")
    assert (found.verdict, found.cause, found.facts["range"]) == ("fires", cause, "step_*")
    assert advice in found.rule.advised(found.cause, ("JAX",))[0]


@MORE
def test_host_work_that_launches_kernels_cannot_wait(capture: Capture, library: Library) -> None:
    """In each step, a range launches two kernels at its end, as an optimizer does, or a single one."""
    starts = range(0, 10 * MS, MS)
    steps = [(at, at + MS - 1, f"step_{at // MS}") for at in starts]
    inside = [(at + 20, at + MS - 20, "optimizer") for at in starts]
    for launches, cause in ((2, "launches"), (1, None)):
        calls = [at + MS - 200 + 50 * n for at in starts for n in range(launches)]
        report = capture([*steps, *inside], [(call, call + 15, call + 25, "one") for call in calls])
        found = judged(library, report, "host_work")
        assert (found.verdict, found.cause, found.facts["range"]) == ("fires", cause, "step_*/optimizer")
        assert any("Launch the next step" in one for one in found.rule.advised(found.cause)) == (cause is None)


@MORE
def test_a_call_in_which_the_cpu_waits_is_no_work(library: Library, publish: Publish) -> None:
    kernels = [(at, at + 5, at + 10, at + 20) for at in range(0, 10 * MS, MS)]
    steps = ranges(*((at, at + MS - 1, f"step_{at // MS}") for at in range(0, 10 * MS, MS)))
    for lasts, said in ((600_000, "is in `sem_wait` in `step_*`"), (400_000, "works in `step_*`")):
        waits = [made.osrt(n, SEM, at + 100_000, at + 100_000 + lasts) for n, (at, *_) in enumerate(kernels)]
        found = judged(library, by_hand(publish, kernels, osrt_call=waits, **steps), "host_work")
        assert f"while the CPU {said}." in sentences.says(found)


@MORE
def test_updates_of_graphs_by_xla_are_no_host_work(library: Library, publish: Publish) -> None:
    kernels = [(at, at + 5, at + 10, at + 20) for at in range(0, 10 * MS, MS)]
    updates = ranges(*((at + 20, at + MS - 20, "command_buffer::update") for at in range(0, 10 * MS, MS)))
    assert judged(library, by_hand(publish, kernels, **updates), "host_work").verdict == "clear"
    own = ranges(*((at + 20, at + MS - 20, "update") for at in range(0, 10 * MS, MS)))
    assert judged(library, by_hand(publish, kernels, **own), "host_work").verdict == "fires"


def test_time_outside_all_ranges_has_no_range(library: Library, publish: Publish) -> None:
    """Only one of ten gaps lies in a range."""
    report = by_hand(publish, [(at, at + 5, at + 10, at + 20) for at in range(0, 10 * MS, MS)], **ranges((0, MS, "a")))
    (reason,) = (one for one in run(library, report, "idle_reasons") if one["reason"] == "host code")
    (part,) = (one for one in run(library, report, "time_split") if one["part"] == "host code")
    assert (reason["range"], part["range"]) == (None, None)
    most = by_hand(publish, [(at, at + 5, at + 10, at + 20) for at in range(0, 3 * MS, MS)], **ranges((0, 2 * MS, "a")))
    assert {one["range"] for one in run(library, most, "idle_reasons") if one["reason"] == "host code"} == {"a"}


def test_no_overlap(nsys_samples: Library) -> None:
    serial = "streams_serial"
    finding = sampled(nsys_samples, serial, "no_overlap")
    copies = capture(serial).copies
    into = [(one.start, one.end) for one in copies if one.facts["copyKind"] == 1]
    back = [(one.start, one.end) for one in copies if one.facts["copyKind"] == 2]
    kernels = spans(serial, "KERNEL")
    saved = union([*into, *back, *kernels]) - max(map(union, (into, back, kernels)))
    low, high = window(serial)
    assert (finding.verdict, finding.saving_ns) == ("fires", saved)
    assert finding.value == pytest.approx(100 * saved / (high - low))
    assert finding.facts["overlap_pct"] == 0
    overlapped = sampled(nsys_samples, "streams_overlapped", "no_overlap")
    assert overlapped.verdict == "clear"
    assert overlapped.facts["overlap_pct"] > 80
    assert sampled(nsys_samples, "launches_tiny", "no_overlap").verdict == "cannot_judge"


def test_one_copy_before_all_kernels_has_nothing_to_run_beside(library: Library, publish: Publish) -> None:
    moved = [made.copy(1, 0, 100, 1000, (1, 2)), made.copy(2, 300, 400, 1000, (2, 1))]
    once = by_hand(publish, [(50, 60, 100, 200), (60, 70, 200, 300)], memop=moved)
    assert judged(library, once, "no_overlap").value == 0
    turns = [made.copy(n, 200 * n, 200 * n + 100, 1000, (1, 2)) for n in range(4)]
    kernels = [(200 * n, 200 * n + 10, 200 * n + 100, 200 * n + 200) for n in range(4)]
    finding = judged(library, by_hand(publish, kernels, memop=turns), "no_overlap")
    assert (finding.verdict, finding.value, finding.saving_ns, finding.cause) == ("fires", 50.0, 400, "much input")
    assert "Copies and kernels take turns" in strip_sentence(finding)
    assert "smallest form" in finding.rule.advised(finding.cause)[-1]
    short = [{**one, "end_ns": one["start_ns"] + 40} for one in turns]
    assert judged(library, by_hand(publish, kernels, memop=short), "no_overlap").cause is None, "40 of 100 ns"


def test_copies_in_both_directions_take_turns(library: Library, publish: Publish) -> None:
    """4 times 200 ns in, a kernel of 10 ns, 100 ns out: beside each other 800 of 1,240 ns remain, kernels hide 40."""
    moved, kernels = [], []
    for n in range(4):
        start = 310 * n
        moved += [made.copy(2 * n, start, start + 200, 1000, (1, 2))]
        moved += [made.copy(2 * n + 1, start + 210, start + 310, 1000, (2, 1))]
        kernels.append((start, start + 10, start + 200, start + 210))
    finding = judged(library, by_hand(publish, kernels, memop=moved), "no_overlap")
    assert (finding.verdict, finding.saving_ns) == ("fires", 440)
    assert (finding.facts["in_ns"], finding.facts["out_ns"], finding.facts["kernel_ns"]) == (800, 400, 40)
    assert "between the two directions" in strip_sentence(finding)


def test_long_gaps(nsys_samples: Library, library: Library, publish: Publish) -> None:
    tasks = capture("tasks")
    finding = sampled(nsys_samples, "tasks", "long_gaps")
    long = [gap.ns for gap in looked_into(tasks, 500 * MS)]
    assert (finding.verdict, finding.saving_ns, finding.facts["gaps"]) == ("fires", sum(long), len(long))
    assert finding.value == pytest.approx(share(tasks, sum(long)))
    assert finding.facts["longest_ns"] == finding.evidence[0]["ns"] == max(long)
    of_pytorch = sampled(nsys_samples, "launches_tiny", "long_gaps")
    assert of_pytorch.verdict == "clear"
    assert "torch" in " ".join(of_pytorch.advice)
    calls = publish(lambda db: made.fill(db, api_call=[made.call(1, 1, 5, 9)]))
    assert judged(library, calls, "long_gaps").verdict == "cannot_judge"


@pytest.mark.parametrize("sampled", [False, pytest.param(True, marks=MORE)])
@pytest.mark.parametrize("traced", [False, pytest.param(True, marks=MORE)])
def test_long_gaps_advise_to_capture_what_is_missing(
    sampled: bool, traced: bool, library: Library, publish: Publish
) -> None:
    tables: dict[str, Any] = {
        "cpu_sample": [{"time_ns": 5, "global_tid": made.MAIN}] if sampled else [],
        "osrt_call": [{"call_id": 900, "start_ns": 50, "end_ns": 60, "global_tid": made.MAIN}] if traced else [],
    }
    kernels = [(0, 5, 10, 20), (900 * MS, 900 * MS + 5, 900 * MS + 10, 900 * MS + 20)]
    found = judged(library, by_hand(publish, kernels, **tables), "long_gaps")
    advice = " ".join(found.rule.advised(found.cause))
    assert found.verdict == "fires"
    assert ("--sample=" in advice, "osrt" in advice) == (not sampled, not traced)
    told = " ".join(found.advice)
    assert ("torch" in told, "nvtxRangePush" in told) == (False, True), "nothing says that it uses PyTorch"


def test_long_gaps_of_a_report_without_calls(library: Library, publish: Publish) -> None:
    def forget(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("DELETE FROM api_call")

    kernels = [(0, 5, 10, 20), (900 * MS, 900 * MS + 5, 900 * MS + 10, 900 * MS + 20)]
    found = judged(library, by_hand(publish, kernels, after=forget), "long_gaps")
    assert (found.verdict, found.cause) == ("fires", "untraced")
    assert "Nothing in the report tells what the CPU does" in sentences.says(found)
    assert "--trace=cuda" in sentences.fill_advice(found)[0]


@pytest.mark.parametrize(
    ("name", "cause", "first"),
    [
        pytest.param("load weights", "range", "Run `load weights` before the loop", marks=MORE),
        ("executor_utils::Nvrtc::CompileProgram", "compiling", "Compile all variants before the loop"),
        pytest.param(
            "TSL:XlaCompileBackend:#module=jit_score#", "compiling", "Find out why XLA compiles again", marks=MORE
        ),
    ],
)
def test_a_long_gap_in_a_range(name: str, cause: str, first: str, library: Library, publish: Publish) -> None:
    kernels = [(0, 5, 10, 20), (900 * MS, 900 * MS + 5, 900 * MS + 10, 900 * MS + 20)]
    report = by_hand(publish, kernels, **ranges((50, 890 * MS, name)))
    found = judged(library, report, "long_gaps")
    assert (found.verdict, found.cause, found.facts["range"]) == ("fires", cause, name)
    assert sentences.fill_advice(found)[0].startswith(first)
    assert "nvtxRangePush" not in " ".join(found.advice), "it has ranges already"
    work = judged(library, report, "host_work")
    assert (work.facts["range"], work.cause) == (name, "compiling" if cause == "compiling" else None)


@MORE
def test_the_place_of_idle_time_holds_most_of_it(library: Library, publish: Publish) -> None:
    """By hand: gaps of 30, 25 and 20 ms; the longest is the place of nothing unless half of the time is there."""
    kernels = [(0, 5, 10, MS)]
    for gap in (30, 25, 20):
        start = kernels[-1][3] + gap * MS
        kernels.append((start - 10, start - 5, start, start + MS))
    waits = [(a + 5, b - 20) for (*_, a), (*_, b, _) in pairwise(kernels)]
    apart = ranges(*((a, b, name) for (a, b), name in zip(waits, "abc", strict=True)))
    most = ranges(*((a, b, name) for (a, b), name in zip(waits, "abb", strict=True)))
    found = judged(library, by_hand(publish, kernels, **apart), "gpu_idle")
    assert (found.verdict, found.cause, found.place) == ("fires", "host code", None)
    assert judged(library, by_hand(publish, kernels, **most), "gpu_idle").place == "b"


@pytest.mark.parametrize(("times", "cause"), [
    (1, "one allocation"), pytest.param(2, "one allocation", marks=MORE), (3, "allocation"),
])  # fmt: skip
def test_allocation_in_one_gap_does_not_repeat(library: Library, publish: Publish, times: int, cause: str) -> None:
    """By hand: one to three gaps of 30 ms, in each of which the CPU allocates."""
    kernels = [(n * 40 * MS, n * 40 * MS + 10, n * 40 * MS + 20, n * 40 * MS + 10 * MS) for n in range(times + 1)]
    calls = [made.call(1 + n, 3, n * 40 * MS + 10 * MS, n * 40 * MS + 40 * MS - 5) for n in range(times)]
    found = judged(library, by_hand(publish, kernels, api_call=calls), "gpu_idle")
    assert (found.verdict, found.facts["reason"], found.cause) == ("fires", "allocation", cause)
    assert ("a single gap" in sentences.fill_advice(found)[0]) == (cause == "one allocation")


def test_module_loading(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """Only strangers' reports have a costly one, so by hand. A launch of 0.9 ms is a slow launch."""
    kernels = [(0, 10, 20, 10 * MS), (30 * MS, 45 * MS, 44 * MS, 60 * MS)]
    kernels += [(79 * MS - 900_000, 79 * MS - 5, 79 * MS, 100 * MS)]
    started = by_hand(publish, kernels, api_call=[made.call(1, LOAD, 20 * MS, 25 * MS)])
    finding = judged(library, started, "module_loading")
    assert finding.saving_ns == 5 * MS + 14 * MS  # the load, and the launch until the gap ends
    assert finding.value == pytest.approx(100 * 19 * MS / (100 * MS - 20))
    assert (finding.verdict, finding.facts["function"]) == ("fires", "cudaLaunchKernel")
    loading = by_hand(publish, [*kernels[:2], (77 * MS, 79 * MS - 5, 79 * MS, 100 * MS)])
    assert judged(library, loading, "module_loading").saving_ns == 14 * MS + 2 * MS - 5
    assert sampled(nsys_samples, "idle_fixed", "module_loading", warmup="exclude").verdict == "clear"
    without = publish(lambda db: made.fill(db, osrt_call=[made.osrt(1, 6, 5, 9)]))
    assert judged(library, without, "module_loading").verdict == "cannot_judge"


def test_uneven_use(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """By hand: busy but for 100 to 150 and 300 to 330 of 600 ms, which are parts of 20 ms each."""
    kernels = [(0, 10, 20, 100 * MS), (1, 2, 150 * MS, 300 * MS), (3, 4, 330 * MS, 600 * MS + 20)]
    finding = judged(library, by_hand(publish, kernels), "uneven_use")
    edges = [20 + n * 20 * MS for n in range(31)]
    gaps = [(100 * MS, 150 * MS), (300 * MS, 330 * MS)]
    parts = [sum(max(0, min(b, high) - max(a, low)) for a, b in gaps) for low, high in pairwise(edges)]
    low = [ns for ns in parts if ns > 10 * MS]
    assert (finding.verdict, finding.saving_ns, finding.facts["stretches"]) == ("fires", sum(low), 2)
    assert finding.value == pytest.approx(100 * len(low) / 30)


def test_a_gpu_that_works_little_throughout_has_no_stretches(library: Library, publish: Publish) -> None:
    """One GPU is always busy; for 600 ms, the second one works 5 of every 20 ms."""
    kernels = [(0, 10, 20, 600 * MS + 20), *((0, 10, n * 20 * MS + 20, n * 20 * MS + 5 * MS) for n in range(31))]

    def change(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE kernel SET device_id = 1 WHERE kernel_id > 100")
        db.execute("DELETE FROM busy")
        db.execute("INSERT INTO busy BY NAME SELECT device_id, start_ns, end_ns FROM kernel")

    assert judged(library, by_hand(publish, kernels, after=change), "uneven_use").value == 0


def test_even_use_of_samples(nsys_samples: Library) -> None:
    assert sampled(nsys_samples, "energy", "uneven_use").verdict == "clear"
    assert sampled(nsys_samples, "launches_tiny", "uneven_use").verdict == "cannot_judge"


@pytest.fixture
def long_steps(capture: Capture) -> Callable[..., str]:
    """Publishes 25 steps of 10 ms; in some of them the CPU works 5 ms more."""

    def long_steps_(*long: int, count: int = 25) -> str:
        noted, work, start = [], [], 0
        for n in range(count):
            end = start + (15 * MS if n in long else 10 * MS)
            noted.append((start, end, f"step_{n}"))
            work.append((start + 5, start + 20, start + 9_900_000, "one"))
            start = end
        return capture(noted, work, after="UPDATE string SET value = 'cudaLaunchKernel' WHERE string_id = 1")

    return long_steps_


def test_recurring_gaps(nsys_samples: Library, library: Library, long_steps: Callable[..., str]) -> None:
    """No available report has them: by hand, in every fifth step."""
    finding = judged(library, long_steps(4, 9, 14, 19), "recurring_gaps")
    gap = 5_100_020
    assert (finding.verdict, finding.facts["gaps"], finding.facts["steps"]) == ("fires", 4, 25)
    assert (finding.saving_ns, finding.facts["every_steps"]) == (4 * gap, 5)
    assert finding.value == pytest.approx(100 * 4 * gap / (25 * 10 * MS + 20 * MS - 100_020))
    assert judged(library, long_steps(2, 3, 9, 19), "recurring_gaps").value == 0, "at no steady interval"
    assert sampled(nsys_samples, "attention", "recurring_gaps").verdict == "cannot_judge"


@MORE
def test_gaps_that_do_not_recur(library: Library, long_steps: Callable[..., str]) -> None:
    assert judged(library, long_steps(4, 9, 14), "recurring_gaps").value == 0, "too few"
    assert judged(library, long_steps(*range(1, 24)), "recurring_gaps").value == 0, "part of each step"
    assert judged(library, long_steps(4, 5, 6, 7), "recurring_gaps").value == 0, "in a row"
    assert judged(library, long_steps(4, 9, count=11), "recurring_gaps").verdict == "cannot_judge"


def test_gaps_that_recur_beside_usual_ones_and_after_a_result_was_read(library: Library, publish: Publish) -> None:
    """20 steps of a kernel of 10 ms and 2 ms of host code; every fourth one reads a result and writes 3 ms more."""
    kernels, noted, waits, writes, start = [], [], [], [], 0
    for n in range(20):
        end = start + (15 * MS if n % 4 == 2 else 12 * MS)
        kernels.append((start, start + 10, start + 20, start + 10 * MS))
        noted.append((start, end, f"step_{n}"))
        if n % 4 == 2:
            waits.append(made.call(500 + n, SYNC, start + MS, start + 10 * MS + 100_000))
            writes.append(made.osrt(n, SEM, start + 11 * MS, start + 14 * MS))
        start = end
    report = by_hand(publish, kernels, api_call=waits, osrt_call=writes, **ranges(*noted))
    finding = judged(library, report, "recurring_gaps")
    assert (finding.verdict, finding.facts["gaps"], finding.facts["every_steps"]) == ("fires", 5, 4)
    assert finding.facts["usual_ns"] == pytest.approx(2 * MS, abs=20)
    assert finding.saving_ns == 5 * 3 * MS
    assert finding.value == pytest.approx(100 * 15 / (19 * 12 + 5 * 3 + 10), rel=1e-4)


def test_garbage_collection_by_ranges(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No available report has such ranges: by hand, 30 of 110 µs; a collection beside a kernel does not count."""
    kernels = [(0, 10, 20, 40_020), (80_000, 80_005, 80_010, 110_020)]
    noted = ranges((10_000, 20_000, "gc"), (45_000, 75_000, "gc"))
    finding = judged(library, by_hand(publish, kernels, **noted), "garbage_collection")
    assert (finding.verdict, finding.saving_ns, finding.facts["told_by"]) == ("fires", 30_000, "ranges")
    assert finding.value == pytest.approx(100 * 30 / 110)
    assert judged(library, by_hand(publish, kernels), "garbage_collection").verdict == "cannot_judge"
    full = by_hand(publish, [(0, 10, 20, 50_000), (10, 20, 50_000, 90_000)])
    assert judged(library, full, "garbage_collection").verdict == "clear"


def test_garbage_collection_by_samples(library: Library, publish: Publish) -> None:
    """One of two samples in 39.98 µs of host code is in Python's garbage collector."""
    names = [{"string_id": 50, "value": "gc_collect_main"}, {"string_id": 51, "value": "_PyEval_EvalFrameDefault"}]
    samples = [
        {"sample_id": n, "time_ns": t, "global_tid": made.MAIN} for n, t in ((1, 50_000), (2, 70_000), (3, 100_000))
    ]
    chains = [
        {"kind": "sample", "callchain_id": n, "depth": 0, "symbol_id": symbol}
        for n, symbol in ((1, 50), (2, 51), (3, 50))
    ]
    kernels = [(0, 10, 20, 40_020), (80_000, 80_005, 80_010, 110_020)]
    made_up = by_hand(publish, kernels, cpu_sample=samples, callchain=chains, string=names)
    finding = judged(library, made_up, "garbage_collection")
    assert (finding.facts["told_by"], finding.saving_ns) == ("CPU samples", 39_980 // 2)


@pytest.mark.parametrize(("framework", "frees", "busy_ms", "verdict"), [
    ("triton_poi_fused_0", 2, 6, "fires"), ("gemm", 2, 6, "cannot_judge"),
    *(pytest.param(*one, marks=MORE) for one in (
        ("triton_poi_fused_0", 1, 6, "cannot_judge"), ("triton_poi_fused_0", 2, 4, "cannot_judge"))),
])  # fmt: skip
def test_garbage_collection_by_releases(
    library: Library, publish: Publish, framework: str, frees: int, busy_ms: int, verdict: str
) -> None:
    """By hand: 4 kernels of 10 ms; after each of three, code without calls, then calls of 1 µs that free memory."""
    turn, alone = (10 + busy_ms + 1) * MS, busy_ms * MS
    kernels = [(n * turn - 10, n * turn - 5, n * turn, n * turn + 10 * MS) for n in range(1, 5)]
    calls = [
        made.call(10 * n + m, 60, at + 10 * MS + alone + m * 2_000, at + 10 * MS + alone + m * 2_000 + 1_000)
        for n, (*_, at, _) in enumerate(kernels[:3])
        for m in range(frees)
    ]
    # the CPU waits for each kernel, so that its code begins where the kernel ends
    waits = [made.call(40 + n, SYNC, at + 10, at + 10 * MS) for n, (*_, at, _) in enumerate(kernels)]

    def after(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "string", [{"string_id": 60, "value": "cudaFree_v3020"}])
        db.execute("UPDATE kernel_name SET short = ?, demangled = ? WHERE name_id = 1", [framework, framework])

    found = judged(library, by_hand(publish, kernels, after, api_call=[*calls, *waits]), "garbage_collection")
    assert found.verdict == verdict
    if verdict == "fires":
        assert (found.saving_ns, found.cause) == (3 * alone, "emptied")
        assert (found.facts["told_by"], found.facts["times"], found.facts["frees"]) == ("releases of memory", 3, 6)
        assert "most likely `gc.collect()`" in sentences.strip_sentence(found)
        assert "`torch.cuda.empty_cache()`" in sentences.fill_advice(found)[0]


def test_fluctuating_use(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """By hand: of 100 samples of a GPU that works for 1,000 ns, the last 30 are nearly idle; one lies outside."""

    def measured(title: str, busy: int, samples: int = 100) -> str:
        def fill(db: duckdb.DuckDBPyConnection) -> None:
            made.fill(db, 1_000, ((0, 1_000),), kernel=[kernel(1, 1, 0, 1_000)])
            insert(db, "gpu_metric_name", [{"gpu_id": 0, "metric_id": 1, "name": title}])
            db.execute(f'ALTER TABLE gpu_metric ADD COLUMN "{title}" DOUBLE')
            values = [busy if i < 70 else 9 for i in range(samples)]
            times = [(10 * i, value) for i, value in enumerate(values)] + [(5_000, 0)]
            insert(db, "gpu_metric", [{"gpu_id": 0, "time_ns": t, title: value} for t, value in times])

        return publish(fill)

    found = judged(library, measured("GR Active [Throughput %]", 90), "fluctuating_use")
    assert (found.verdict, found.severity, found.value) == ("fires", "note", 30.0)
    assert (found.facts["samples"], found.facts["high_pct"], found.facts["median_pct"]) == (100, 90, 90)
    assert judged(library, measured("SMs Active [Throughput %]", 60), "fluctuating_use").value == 0
    assert judged(library, measured("GR Active", 90, 40), "fluctuating_use").verdict == "cannot_judge"
    assert judged(library, measured("DRAM Read", 90), "fluctuating_use").verdict == "cannot_judge"
    assert "--with metrics -- " in sampled(nsys_samples, "idle_fixed", "fluctuating_use").command


def test_fluctuating_use_of_a_sample(nsys_samples: Library) -> None:
    """Against the samples of the raw export."""
    sample = "transformer_inference"
    low, high = window(sample)
    (metric,) = rows(sample, "SELECT metricId FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE 'GR Active%'")[0]
    read = rows(sample, f"SELECT timestamp, value FROM GPU_METRICS WHERE metricId = {metric}")
    values = sorted(value for time, value in read if low <= time <= high)
    found = sampled(nsys_samples, sample, "fluctuating_use")
    assert found.facts["samples"] == len(values)
    assert found.value == pytest.approx(100 * sum(value < 10 for value in values) / len(values))
    assert found.verdict == "clear"


@pytest.mark.parametrize(
    ("own_ns", "verdict", "saving"),
    [
        (40_000, "fires", 40_000),
        pytest.param(3_000, "cannot_judge", None, marks=MORE),
        pytest.param(None, "clear", 10_000, marks=MORE),
    ],
)
def test_launches_of_graphs_whose_nodes_are_traced(
    library: Library, publish: Publish, own_ns: int | None, verdict: str, saving: int | None
) -> None:
    """By hand: 50 µs of work, a gap that ends with 60 µs of `cudaGraphLaunch`, and 50 µs; without it a gap of 10 µs."""
    before = own_ns or 10_000
    held = 60_000 if own_ns else 0
    at = 50_020 + before
    launch = (at, at + held, at + held, at + held + 50_000)

    def by_node(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE kernel SET graph_node_id = kernel_id")
        db.execute("UPDATE string SET value = 'cudaGraphLaunch' WHERE string_id = 1")

    found = judged(library, by_hand(publish, [(0, 10, 20, 50_020), launch], after=by_node), "gpu_idle")
    assert found.verdict == verdict
    if saving:
        assert found.saving_ns == saving
        assert found.facts["traced_ns"] == (held or None)
        assert found.value == pytest.approx(100 * (before + held) / (at + held + 50_000 - 20))
        assert ("traces each node" in sentences.strip_sentence(found)) == (verdict == "fires")
