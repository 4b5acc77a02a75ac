"""Rules about the host and its input: on samples against the raw export, and on small captures by hand."""

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

import duckdb
import pytest

from profiledb.findings import rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.findings.sentences import strip_sentence
from profiledb.library.library import Library
from tests.second.raw import Capture
from tests.support import memory_reports as made
from tests.support.gaps import LAUNCH, MS, SEM, by_hand, capture, during, looked_into, ranges, sampled, share, waited
from tests.support.judged_rules import Span, bare, judged, rows
from tests.support.page_reports import Publish

KERNELS = [(0, 10, 20, 40_020), (80_000, 80_005, 80_010, 110_020)]
"""A gap from 40.02 to 80.01 µs, in 110 µs."""
MORE = pytest.mark.slow("judges more captures by hand")


def test_data_loading(nsys_samples: Library) -> None:
    found = capture("dataloader_starved")
    loading = [one for one in found.ranges if one.name == "next_batch"]
    lost = sum(during(gap, loading, found, calls=True) for gap in looked_into(found))
    whole = sampled(nsys_samples, "dataloader_starved", "data_loading")
    assert (whole.verdict, whole.saving_ns) == ("fires", lost)
    assert whole.value == pytest.approx(share(found, lost))
    steps = sampled(nsys_samples, "dataloader_starved", "data_loading", warmup="exclude")
    assert (steps.verdict, steps.severity) == ("fires", "high")
    assert steps.facts["range"] == "step_*/next_batch/transform_image"
    assert steps.facts["step_ns"] * 8 == pytest.approx(steps.saving_ns, abs=8)
    assert sampled(nsys_samples, "dataloader_fixed", "data_loading", warmup="exclude").verdict == "clear"


@pytest.mark.parametrize(
    "name",
    [
        *("next_batch", "train/fetch"),
        *(pytest.param(one, marks=MORE) for one in ("DataLoader", "collate_fn", "load_data", "transform_image")),
    ],
)
def test_names_of_data_loading(library: Library, publish: Publish, name: str) -> None:
    noted = ranges((50_000, 70_000, name))
    finding = judged(library, by_hand(publish, KERNELS, **noted), "data_loading")
    assert (finding.verdict, finding.saving_ns) == ("fires", 20_000)
    assert finding.value == pytest.approx(100 * 20 / 110)


@pytest.mark.parametrize(
    "name",
    [
        "load_weights",
        *(pytest.param(one, marks=MORE) for one in ("upload_chunk", "payload", "forward", "dataset_report")),
    ],
)
def test_other_names_are_no_data_loading(library: Library, publish: Publish, name: str) -> None:
    other = judged(library, by_hand(publish, KERNELS, **ranges((50_000, 70_000, name))), "data_loading")
    assert other.verdict == "cannot_judge"
    assert "next_batch" in other.why


def test_a_range_around_the_loop_is_no_data_loading(library: Library, publish: Publish) -> None:
    """The second of two kernels, of 40 and 30 µs, is launched in a range around both, or in one of its own."""

    def around(end: int) -> Finding:
        def inside(db: duckdb.DuckDBPyConnection) -> None:
            db.execute(f"UPDATE kernel SET process_range = 1 WHERE kernel_id = 100 AND {end} > 70000")
            db.execute("UPDATE kernel SET process_range = 1 WHERE kernel_id = 101")

        noted = ranges((0, end, "train_dataloader"))
        return judged(library, by_hand(publish, KERNELS, after=inside, **noted), "data_loading")

    loop, loader = around(90_000), around(70_000)
    assert (loop.verdict, "Most kernels" in loop.why) == ("cannot_judge", True)
    assert (loader.verdict, loader.saving_ns) == ("fires", 70_000 - 40_020), "it launches 30 of 70 µs"


@pytest.mark.parametrize("name", [
    "aten::log_softmax", *(pytest.param(one, marks=MORE) for one in ("log", "step_1/log")),
])  # fmt: skip
def test_a_logarithm_is_no_output(library: Library, publish: Publish, name: str) -> None:
    found = judged(library, by_hand(publish, KERNELS, **ranges((50_000, 70_000, name))), "output_in_loop")
    assert found.verdict == "cannot_judge"
    wrote = [made.osrt(1, 70, 55_000, 65_000)]
    names = [{"string_id": 70, "value": "write"}]
    noted = ranges((50_000, 70_000, name))
    told = judged(library, by_hand(publish, KERNELS, osrt_call=wrote, string=names, **noted), "output_in_loop")
    assert (told.verdict, told.saving_ns, told.facts["place"]) == ("fires", 10_000, "write")


@MORE
def test_a_file_is_what_the_host_code_around_its_writing_makes(library: Library, publish: Publish) -> None:
    """By hand: a copy of 10 µs to the host, then 10 µs of writing among 42 µs of `dump`, and 8 µs of code after it.

    Without a file that is opened, `writev` writes to a socket.
    """

    def judge(size: int, wrote_ns: int, opens: str = "fopen64") -> Finding:
        moved = [made.copy(1, 30_000, 40_000, size, (2, 0), call_id=1)]
        calls = [made.call(1, 4, 20_000, 40_000)]
        wrote = [made.osrt(1, 70, 50_000, 50_000 + wrote_ns), made.osrt(1, 71, 49_999, 50_000)]
        work, dump = [(0, 10, 20, 10_020), (90_010, 90_015, 90_020, 110_020)], ranges((35_000, 82_000, "dump"))
        report = by_hand(
            publish, work, memop=moved, api_call=calls, osrt_call=wrote,
            string=[{"string_id": 70, "value": "writev"}, {"string_id": 71, "value": opens}], **dump,
        )  # fmt: skip
        return judged(library, report, "output_in_loop")

    found = judge(1_000_000, 10_000)
    assert (found.verdict, found.saving_ns, found.cause) == ("fires", 52_000, "file")
    assert (found.facts["idle_ns"], found.facts["copied_ns"]) == (42_000, 10_000)
    assert rulebook.load()["output_in_loop"].list_changes(found.cause) == ("without_range={place}",)
    assert (found.facts["place"], "Save the data of {place" in found.advice[0]) == ("dump", True)
    assert judge(1_000_000, 10_000, "recv").verdict == "clear"
    for other in (judge(999_999, 10_000), judge(1_000_000, 4_000)):
        assert (other.facts["place"], other.cause) == ("writev", None)
        assert other.saving_ns in (10_000, 4_000), "little is copied, or little written"


def test_a_file_may_be_made_between_copies_and_outside_all_ranges(library: Library, publish: Publish) -> None:
    """By hand: two copies of 10 µs, the last of a few bytes, 10 µs of host code before each, and 20 µs of closing."""
    moved = [
        made.copy(1, 20_020, 30_020, 1_000_000, (2, 0), call_id=1), made.copy(2, 40_020, 50_020, 4, (2, 0), call_id=2)
    ]  # fmt: skip
    calls = [made.call(1, 4, 20_010, 30_020), made.call(2, 4, 40_010, 50_020)]
    work = [(0, 10, 20, 10_020), (90_010, 90_015, 90_020, 110_020)]
    closed = [made.osrt(1, 70, 50_020, 70_020)]
    names = [{"string_id": 70, "value": "close"}]
    report = by_hand(publish, work, memop=moved, api_call=calls, osrt_call=closed, string=names)
    found = judged(library, report, "output_in_loop")
    assert (found.cause, found.facts["place"]) == ("file", "close")
    assert found.facts["copied_ns"] == 20_000
    assert found.facts["idle_ns"] == 60_000 - 3 * 10, "less the launches of the copies and the kernel"


@pytest.mark.parametrize(
    ("size", "before", "expected"),
    [
        (200_000, None, 4),
        *(pytest.param(*one, marks=MORE) for one in ((63_999, None, None), (2_000_000, None, None), (200_000, 2, 1))),
    ],
)
def test_input_is_made_ahead_of_copies(
    library: Library, publish: Publish, size: int, before: int | None, expected: int | None
) -> None:
    """By hand: 200 µs of host code ahead of each of four copies to the GPU, in which the CPU fills 800 kB at most.

    With ``before``, three of the gaps follow a copy to the host.
    """
    work, moved, calls = [], [], []
    for number in range(5):
        at = number * 300_000
        work.append((at, at + 10, at + 20, at + 50_000))
        if number < 4:
            moved.append(made.copy(number, at + 250_000, at + 260_000, size, (0, 2), call_id=number))
            calls.append(made.call(number, 4, at + 250_000 - 10, at + 260_000))
        if before and number < 3:
            moved.append(made.copy(10 + number, at + 50_000, at + 55_000, 100_000, (2, 0), call_id=10 + number))
            calls.append(made.call(10 + number, 4, at + 50_000 - 10, at + 55_000))
    found = judged(library, by_hand(publish, work, memop=moved, api_call=calls), "data_loading")
    if expected != 4:
        assert found.verdict == "cannot_judge"
        return
    assert (found.verdict, found.saving_ns) == ("fires", 4 * (200_000 - 10))
    assert "before copies to the GPU" in strip_sentence(found)


def test_what_is_copied_before_the_first_kernel_is_no_input(library: Library, publish: Publish) -> None:
    """Ten copies after 200 µs of host code each, as of weights, and 20 kernels without one."""
    sent = [
        made.copy(n, at, at + 10_000, 200_000, (0, 2), call_id=n) for n, at in enumerate(range(0, 2_100_000, 210_000))
    ]
    calls = [made.call(n, 4, n * 210_000 - 10, n * 210_000 + 10_000) for n in range(10)]
    work = [(at, at + 10, at + 20, at + 50_000) for at in range(2_400_000, 3_400_000, 50_000)]
    found = judged(library, by_hand(publish, work, memop=sent, api_call=calls), "data_loading")
    assert found.verdict == "cannot_judge"


def test_input_made_in_the_step_has_no_range_of_its_own(library: Library, publish: Publish) -> None:
    work = [(at, at + 10, at + 20, at + 50_000) for at in range(0, 3_000_000, 300_000)]
    sent = [made.copy(n, at + 250_000, at + 260_000, 200_000, (0, 2), call_id=n) for n, (at, *_) in enumerate(work)]
    calls = [made.call(n, 4, at + 250_000 - 10, at + 260_000) for n, (at, *_) in enumerate(work)]
    steps = ranges(*((at - 5, at + 299_990, f"step_{n}") for n, (at, *_) in enumerate(work)))
    found = judged(library, by_hand(publish, work, memop=sent, api_call=calls, **steps), "data_loading")
    assert (found.verdict, found.facts["range"], found.place) == ("fires", None, None)
    assert "before copies to the GPU" in strip_sentence(found)
    assert sentences.fill_advice(found)[0].startswith("Load the input of each step ahead ")


def switches(sample: str) -> dict[int, list[tuple[int, bool]]]:
    """When threads of a sample came onto a core (true) or left it."""
    found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for start, tid, came in rows(sample, "SELECT start, globalTid, isSchedIn FROM SCHED_EVENTS ORDER BY start"):
        found[tid].append((start, bool(came)))
    return dict(found)


def waits_for_others(sample: str, tid: int, low: int, high: int) -> bool:
    """Whether threads of its process ran for half of that time or more, and on the core that it left for less."""
    ran, here, since = 0, 0, dict[int, int]()
    told = rows(sample, "SELECT start, globalTid, isSchedIn, cpu FROM SCHED_EVENTS ORDER BY start")
    (core,) = {cpu for start, one, _, cpu in told if (start, one) == (low, tid)}
    for start, one, came, cpu in told:
        if one >> 24 != tid >> 24:
            continue
        if came:
            since[one] = start
        elif one in since:
            both = max(0, min(start, high) - max(since.pop(one), low))
            ran, here = ran + both, here + both * (cpu == core)
    return 2 * ran >= high - low > 2 * here


def on_core(events: list[tuple[int, bool]], low: int, high: int) -> int:
    """How long a thread ran between two moments."""
    edges = [low, *(t for t, _ in events if low < t < high), high]
    times = [t for t, _ in events]
    total = 0
    for start, end in itertools.pairwise(edges):
        at = bisect_right(times, start) - 1
        runs = events[at][1] if at >= 0 else not events[0][1]
        total += (end - start) * runs
    return total


def answerable(found: Capture, sample: str) -> Iterator[tuple[int, int]]:
    """Of each gap the time until the launch returned, and how long the launching thread ran on a core in it."""
    events = switches(sample)
    for gap in looked_into(found):
        if gap.follower.call and gap.follower.call.tid in events:
            low, high = waited(gap)
            yield high - low, on_core(events[gap.follower.call.tid], low, high)


def test_threads_off_and_on_their_core(nsys_samples: Library) -> None:
    sample = "transformer_training"
    found = capture(sample)
    pairs = list(answerable(found, sample))
    ran = sum(on for _, on in pairs)
    lost = sum(ns for ns, _ in pairs) - ran
    off, full = sampled(nsys_samples, sample, "off_core"), sampled(nsys_samples, sample, "cpu_saturated")
    assert (off.saving_ns, full.facts["idle_ns"]) == (lost, ran)
    assert off.value == pytest.approx(share(found, lost))
    assert full.facts["run_pct"] == pytest.approx(100 * ran / (ran + lost))
    assert not [one for one in off.rule.advised(off.cause) if "--trace" in one], "the calls were captured"
    steps = sampled(nsys_samples, sample, "cpu_saturated", warmup="exclude")
    assert steps.verdict == "fires"
    assert sampled(nsys_samples, sample, "off_core", warmup="exclude").verdict == "clear"
    for rule in ("off_core", "cpu_saturated"):
        assert sampled(nsys_samples, "transformer_steps", rule).verdict == "cannot_judge"


def test_a_thread_that_sleeps(library: Library, publish: Publish) -> None:
    """It is off its core for 20 of the 39.985 µs until its launch returns."""
    events = [
        {"time_ns": t, "cpu": 0, "scheduled_in": came, "global_tid": made.MAIN}
        for t, came in ((45_000, False), (65_000, True))
    ]
    report = by_hand(publish, KERNELS, sched_event=events)
    off, full = judged(library, report, "off_core"), judged(library, report, "cpu_saturated")
    assert (off.verdict, off.saving_ns) == ("fires", 20_000)
    assert (full.verdict, full.value) == ("clear", 0)
    assert full.facts["run_pct"] == pytest.approx(100 * 19_985 / 39_985)
    assert off.rule.advised(off.cause)[0].startswith("Capture OS runtime calls, too (`--trace=cuda,nvtx,osrt`)")
    never = by_hand(publish, KERNELS, sched_event=[events[0] | {"global_tid": made.WORKER}])
    assert judged(library, never, "off_core").why == "The capture has no switches of the threads that launch."


@pytest.mark.parametrize(
    ("function", "module", "cause"),
    [
        ("dsin", "/opt/app", "sampled"),
        pytest.param("dsin", "/usr/lib/libpython3.11.so", "Python", marks=MORE),
        pytest.param("dsin", "/usr/lib/libnvrtc.so.13", "compiling", marks=MORE),
        pytest.param("ucp_worker_progress", "/opt/app", "polling", marks=MORE),
    ],
)
def test_functions_of_a_thread_that_computes(
    library: Library, publish: Publish, function: str, module: str, cause: str
) -> None:
    """Two of three samples in the gap are in a function called by `gkps_`, one is in `gkps_`; a fourth lies outside."""
    events = [{"time_ns": 0, "cpu": 0, "scheduled_in": True, "global_tid": made.MAIN}]
    texts = [{"string_id": n, "value": value} for n, value in ((50, function), (51, "gkps_"), (52, module))]
    samples = [
        {"sample_id": n, "time_ns": t, "global_tid": made.MAIN}
        for n, t in ((1, 50_000), (2, 60_000), (3, 70_000), (4, 20_000))
    ]
    chains = [
        {"kind": "sample", "callchain_id": n, "depth": depth, "symbol_id": symbol, "module_id": 52}
        for n, depth, symbol in ((1, 0, 50), (1, 1, 51), (2, 0, 50), (2, 1, 51), (3, 0, 51), (4, 0, 51))
    ]
    report = by_hand(publish, KERNELS, sched_event=events, cpu_sample=samples, callchain=chains, string=texts)
    found = judged(library, report, "cpu_saturated")
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", cause, 39_985)
    assert found.facts["functions"] == (None if cause == "Python" else f"{function}, gkps_")
    assert found.facts["compiling_pct"] == (100 if cause == "compiling" else None)
    assert found.facts["mpi_pct"] == (pytest.approx(200 / 3) if cause == "polling" else None)
    assert ("polls for messages" in sentences.strip_sentence(found)) == (cause == "polling")
    said = " ".join(found.rule.advised(found.cause, ()))
    assert ("GIL" in said, "CUDA graphs" in said) == (cause == "Python", cause == "Python")
    alone = judged(library, by_hand(publish, KERNELS, sched_event=events), "cpu_saturated")
    assert (alone.cause, "--sample" in alone.rule.advised(alone.cause)[0]) == ("other", True)


@pytest.mark.parametrize(("until", "saved"), [pytest.param(499, 499 * MS, marks=MORE), (501, 0)])
def test_a_long_gap_of_unknown_code_does_not_feed_the_gpu(
    library: Library, publish: Publish, until: int, saved: int
) -> None:
    """A thread runs between two kernels; a gap of 500 ms without samples is another finding."""
    events = [{"time_ns": 0, "cpu": 0, "scheduled_in": True, "global_tid": made.MAIN}]
    work = [(0, 10, 20, 30), (until * MS, until * MS + 5, until * MS + 10, until * MS + 20)]
    unknown = judged(library, by_hand(publish, work, sched_event=events), "cpu_saturated")
    assert unknown.saving_ns == pytest.approx(saved, abs=100)
    assert (unknown.verdict, unknown.facts["run_pct"] is None) == ("fires" if saved else "clear", not saved)
    texts = [{"string_id": n, "value": value} for n, value in ((50, "dsin"), (52, "/opt/app"))]
    samples = [{"sample_id": n, "time_ns": n * 100 * MS, "global_tid": made.MAIN} for n in range(1, 5)]
    chains = [{"kind": "sample", "callchain_id": n, "depth": 0, "symbol_id": 50, "module_id": 52} for n in range(1, 5)]
    report = by_hand(publish, work, sched_event=events, cpu_sample=samples, callchain=chains, string=texts)
    assert judged(library, report, "cpu_saturated").saving_ns == pytest.approx(until * MS, abs=100)


@pytest.mark.parametrize(("program", "other", "cause"), [
    ("jacobi", "python3", "other"), pytest.param("python3", "bash", "Python", marks=MORE),
])  # fmt: skip
def test_python_is_the_language_of_the_program_alone(
    library: Library, publish: Publish, program: str, other: str, cause: str
) -> None:
    """Scheduling data names all processes of the machine."""
    events = [{"time_ns": 0, "cpu": 0, "scheduled_in": True, "global_tid": made.MAIN}]
    processes = [{"global_pid": pid, "pid": pid % 999, "name": name} for pid, name in ((made.PID, program), (5, other))]
    report = by_hand(
        publish, KERNELS, sched_event=events, process=processes, string=[{"string_id": 50, "value": "python3"}]
    )
    assert judged(library, report, "cpu_saturated").cause == cause


def long_off(events: list[tuple[int, bool]], least: int) -> list[Span]:
    """The times of at least so many ns in which a thread is off its core, from one switch to the next."""
    return [(start, end) for (start, came), (end, _) in itertools.pairwise(events) if not came and end - start >= least]


@pytest.mark.slow("walks through the switches of two samples")
def test_a_thread_without_a_core(nsys_samples: Library) -> None:
    """No sample has a costly one: the loss of each, against switches and calls of the raw export."""
    for sample in ("transformer_training", "host_python"):
        found, lost = capture(sample), 0
        events = switches(sample)
        for gap in looked_into(found):
            if gap.follower.call and (tid := gap.follower.call.tid) in events:
                low, high = waited(gap)
                long = [one for one in long_off(events[tid], 1_000_000) if one[0] < high and one[1] > low]
                long = [one for one in long if not waits_for_others(sample, tid, *one)]
                off = [(max(a, low), min(b, high)) for a, b in long]
                calls = [(max(c.start, low), min(c.end, high)) for c in found.calls + found.os_calls if c.tid == tid]
                inside = [one for one in calls if one[1] > one[0]]
                lost += bare([one for one in off if one[1] > one[0]], inside)
        assert sampled(nsys_samples, sample, "preempted").saving_ns == lost
        assert sampled(nsys_samples, sample, "preempted", warmup="exclude").verdict == "clear"
    assert sampled(nsys_samples, "transformer_steps", "preempted").verdict == "cannot_judge"


def test_a_preempted_thread(library: Library, publish: Publish) -> None:
    """It is preempted once, for 4 of 10 ms; a thread that waits in a call leaves its core by itself."""
    kernels = [(0, 10, 20, MS), (9 * MS, 9 * MS + 5, 9 * MS + 10, 10 * MS + 20)]
    times = ((2 * MS, False), (6 * MS, True), (7 * MS, False), (7 * MS + 999_999, True))
    events = [{"time_ns": t, "cpu": 0, "scheduled_in": came, "global_tid": made.MAIN} for t, came in times]
    other = made.osrt(1, SEM, 5, 9, made.WORKER)
    lost = judged(library, by_hand(publish, kernels, sched_event=events, osrt_call=[other]), "preempted")
    assert (lost.verdict, lost.saving_ns, lost.facts["times"]) == ("fires", 4 * MS, 1)
    assert lost.value == pytest.approx(40)
    waits = by_hand(publish, kernels, sched_event=events, osrt_call=[made.osrt(1, SEM, 2 * MS - 100, 6 * MS + 100)])
    held = judged(library, waits, "preempted")
    assert (held.verdict, held.value) == ("clear", 0)
    assert judged(library, by_hand(publish, kernels, sched_event=events), "preempted").command.startswith(
        "warpdeck profile -- "
    )


@pytest.mark.parametrize(("core", "until", "verdict"), [
    (1, 6, "clear"), *(pytest.param(*one, marks=MORE) for one in ((0, 6, "fires"), (1, 3, "fires"))),
])  # fmt: skip
def test_a_thread_that_waits_for_others_has_a_core(
    library: Library, publish: Publish, core: int, until: int, verdict: str
) -> None:
    """It is off its core from 2 to 6 of 10 ms, while another thread runs there, or elsewhere, or elsewhere for 1 ms."""
    kernels = [(0, 10, 20, MS), (9 * MS, 9 * MS + 5, 9 * MS + 10, 10 * MS + 20)]
    times = [(2 * MS, False, 0, made.MAIN), (6 * MS, True, 0, made.MAIN)]
    times += [(2 * MS, True, core, made.WORKER), (until * MS, False, core, made.WORKER)]
    events = [{"time_ns": t, "cpu": cpu, "scheduled_in": came, "global_tid": tid} for t, came, cpu, tid in times]
    other = made.osrt(1, SEM, 5, 9, made.WORKER)
    found = judged(library, by_hand(publish, kernels, sched_event=events, osrt_call=[other]), "preempted")
    assert (found.verdict, found.saving_ns) == (verdict, 4 * MS if verdict == "fires" else 0)


@pytest.mark.parametrize(
    ("before", "after", "core", "cause"),
    [
        ("fwrite", "truncate", 0, "file"),
        pytest.param("mmap", "fcntl", 0, "file", marks=MORE),
        pytest.param("mmap", "munmap", 0, "core", marks=MORE),
        pytest.param("fwrite", "truncate", 1, "core", marks=MORE),
        pytest.param("fwrite", "sem_wait", 0, "core", marks=MORE),
    ],
)
def test_a_thread_that_waits_for_files(
    library: Library, publish: Publish, before: str, after: str, core: int, cause: str
) -> None:
    """It is off its core from 2 to 6 of 10 ms, 50 µs after a call and 80 µs before another, as when PnetCDF writes."""
    kernels = [(0, 10, 20, MS), (9 * MS, 9 * MS + 5, 9 * MS + 10, 10 * MS + 20)]
    times = ((2 * MS, False, 0), (6 * MS, True, core))
    events = [{"time_ns": t, "cpu": on, "scheduled_in": came, "global_tid": made.MAIN} for t, came, on in times]
    names = [{"string_id": 70, "value": before}, {"string_id": 71, "value": after}]
    calls = [made.osrt(1, 70, MS, 2 * MS - 50_000), made.osrt(2, 71, 6 * MS + 80_000, 7 * MS)]
    found = judged(library, by_hand(publish, kernels, sched_event=events, osrt_call=calls, string=names), "preempted")
    assert (found.verdict, found.saving_ns, found.cause) == ("fires", 4 * MS, cause)
    assert found.value == pytest.approx(40)
    assert ("share its core" in strip_sentence(found)) == (cause == "core")
    assert ("the file system" in strip_sentence(found)) == (cause == "file")
    assert any("more cores" in one for one in found.rule.advised(found.cause)) == (cause == "core")


def test_a_thread_far_from_files_has_no_core(library: Library, publish: Publish) -> None:
    """The same, with the calls on files 1.1 ms away."""
    kernels = [(0, 10, 20, MS), (9 * MS, 9 * MS + 5, 9 * MS + 10, 10 * MS + 20)]
    times = ((3 * MS, False), (6 * MS, True))
    events = [{"time_ns": t, "cpu": 0, "scheduled_in": came, "global_tid": made.MAIN} for t, came in times]
    names = [{"string_id": 70, "value": "write"}]
    calls = [made.osrt(1, 70, MS, 3 * MS - 1_100_000), made.osrt(2, 70, 6 * MS + 1_100_000, 8 * MS)]
    found = judged(library, by_hand(publish, kernels, sched_event=events, osrt_call=calls, string=names), "preempted")
    assert (found.verdict, found.saving_ns, found.cause) == ("fires", 3 * MS, "core")


def test_waiting_in_the_operating_system(nsys_samples: Library, library: Library, publish: Publish) -> None:
    found = capture("transformer_training")
    lost = sum(gap.by_reason["OS runtime call"] for gap in looked_into(found))
    finding = sampled(nsys_samples, "transformer_training", "os_blocking")
    assert finding.saving_ns == lost
    assert finding.value == pytest.approx(share(found, lost))
    waits = by_hand(publish, KERNELS, osrt_call=[made.osrt(1, SEM, 45_000, 75_000)])
    held = judged(library, waits, "os_blocking")
    assert (held.verdict, held.cause, held.facts["function"], held.saving_ns) == ("fires", "lock", "sem_wait", 30_000)
    timed = [{"string_id": 70, "value": "sem_clockwait"}]
    queue = judged(
        library, by_hand(publish, KERNELS, osrt_call=[made.osrt(1, 70, 45_000, 75_000)], string=timed), "os_blocking"
    )
    assert "for the next batch" in queue.rule.advised(queue.cause, ["PyTorch", "loader workers"])[0]
    assert queue.rule.advised(queue.cause) == held.rule.advised(held.cause)
    assert sampled(nsys_samples, "transformer_training", "os_blocking", warmup="exclude").verdict == "clear"
    assert sampled(nsys_samples, "transformer_steps", "os_blocking").verdict == "cannot_judge"


def test_memory_that_the_loop_returns_to_the_system(library: Library, publish: Publish) -> None:
    """Batches of loader workers are in shared memory; the loop unmaps them unless another thread pins them."""
    names = [{"string_id": 70, "value": "munmap"}]
    report = by_hand(publish, KERNELS, osrt_call=[made.osrt(1, 70, 45_000, 75_000)], string=names)
    found = judged(library, report, "os_blocking")
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", "unmapping", 30_000)
    pinned, reused = (found.rule.advised(found.cause, of)[0] for of in (("PyTorch", "loader workers"), ()))
    assert ("pin_memory=True" in pinned, "Reuse large buffers" in reused) == (True, True)


def test_a_wait_for_a_thread_that_launches_is_no_wait_for_the_system(library: Library, publish: Publish) -> None:
    """PyTorch's main thread waits like this for the backward thread."""
    launches = made.call(500, LAUNCH, 50_000, 52_000, tid=made.MAIN + 1)
    handed = by_hand(publish, KERNELS, osrt_call=[made.osrt(1, SEM, 45_000, 75_000)], api_call=[launches])
    assert judged(library, handed, "os_blocking").saving_ns == 0
    before = launches | {"start_ns": 40_000, "end_ns": 44_000}
    alone = by_hand(publish, KERNELS, osrt_call=[made.osrt(1, SEM, 45_000, 75_000)], api_call=[before])
    assert judged(library, alone, "os_blocking").saving_ns == 30_000


def test_output_in_the_loop(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No available report writes in its loop: by hand, as a range and as a call."""
    by_range = judged(library, by_hand(publish, KERNELS, **ranges((50_000, 60_000, "log_metrics"))), "output_in_loop")
    assert (by_range.verdict, by_range.saving_ns, by_range.facts["place"]) == ("fires", 10_000, "log_metrics")
    names = [{"string_id": 70, "value": "fwrite"}]
    written = by_hand(publish, KERNELS, string=names, osrt_call=[made.osrt(1, 70, 45_000, 55_000)])
    by_call = judged(library, written, "output_in_loop")
    assert (by_call.verdict, by_call.saving_ns, by_call.facts["place"]) == ("fires", 10_000, "fwrite")
    assert judged(library, by_hand(publish, KERNELS), "output_in_loop").verdict == "cannot_judge"
    assert sampled(nsys_samples, "transformer_training", "output_in_loop").verdict == "clear"
    assert sampled(nsys_samples, "transformer_steps", "output_in_loop").verdict == "cannot_judge"
