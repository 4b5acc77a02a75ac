"""Rules about faults in every step: small made-up captures, and samples that are free of them."""

from collections.abc import Callable

import duckdb
import pytest

from profiledb.findings import judge, rulebook, sentences
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support import memory_reports as made
from tests.support.exports import MAIN
from tests.support.gaps import MS, by_hand, ranges, sampled
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish
from tests.support.range_captures import Capture

MORE = pytest.mark.slow("judges more captures by hand")


Made = Callable[..., str]
"""Publishes a capture and answers its id."""


@pytest.fixture
def update(capture: Capture) -> Made:
    """An optimizer of kernels of 30 ns, 3 µs from one to the next, and before it a kernel of 1 ms."""

    def one(n: int) -> tuple[int, int, int, str]:
        start = 1_003_000 + 3_000 * n
        return start, start + 20, start + 50, "one"

    def update_(kernels: int, title: str = "optimizer", after: str = "") -> str:
        work = [(0, 20, 1_000_020, "two"), *(one(n) for n in range(kernels))]
        noted = [(1_000_000, 1_003_000 + 3_000 * kernels, title)]
        return capture(noted, work, after="UPDATE string SET value = 'cudaLaunchKernel' WHERE string_id = 1;" + after)

    return update_


def test_optimizer_per_parameter(library: Library, update: Made) -> None:
    idle = 3_000 + 119 * 2_970
    found = judged(library, update(120), "optimizer_per_parameter")
    assert (found.verdict, found.facts["calls"], found.facts["range"]) == ("fires", 120, "optimizer")
    assert found.saving_ns == idle
    assert found.value == pytest.approx(100 * idle / (1_003_000 + 3_000 * 119 + 50 - 20))
    assert judged(library, update(90), "optimizer_per_parameter").value == 0, "few enough"


@MORE
def test_other_kernels_are_no_optimizer_per_parameter(nsys_samples: Library, library: Library, update: Made) -> None:
    assert judged(library, update(120, "forward"), "optimizer_per_parameter").verdict == "cannot_judge"
    fused = "UPDATE kernel_name SET demangled = 'multi_tensor_apply_kernel' WHERE short = 'one'"
    assert judged(library, update(120, after=fused), "optimizer_per_parameter").value == 0
    for sample in ("transformer_training", "idle_host_bound"):
        assert sampled(nsys_samples, sample, "optimizer_per_parameter").verdict == "clear", sample


@pytest.fixture
def loading_steps(capture: Capture) -> Made:
    """Eight steps of 10 ms, some of which load a module and take 20: each of these waits 10 ms more."""

    def loading_steps_(*loading: int) -> str:
        noted, work, loads, start = [], [], [], 0
        for n in range(8):
            slow = n in loading
            call = start + (12 if slow else 1) * MS
            work.append((call, call + 20, call + MS, "one"))
            if slow:
                loads.append(f"({900 + n}, {start + 2 * MS}, {start + 3 * MS}, {MAIN}, 901, {900 + n}, 0, 0)")
            noted.append((start, start + (20 if slow else 10) * MS, f"step_{n}"))
            start += (20 if slow else 10) * MS
        columns = "call_id, start_ns, end_ns, global_tid, name_id, correlation_id, event_class, return_value"
        after = "UPDATE string SET value = 'cudaLaunchKernel' WHERE string_id = 1;"
        if loads:
            after += "INSERT INTO string (string_id, value) VALUES (901, 'cuModuleLoadData');"
            after += f"INSERT INTO api_call ({columns}) VALUES {', '.join(loads)}"
        return capture(noted, work, after=after)

    return loading_steps_


def test_compilation_in_steps(library: Library, loading_steps: Made) -> None:
    found = judged(library, loading_steps(3, 5, 6), "compilation_in_steps")
    assert (found.verdict, found.facts["loading"], found.facts["steps"], found.facts["modules"]) == ("fires", 3, 8, 3)
    assert found.saving_ns == 30 * MS
    assert sentences.says(found).startswith("3 steps load new kernels (3 modules): the GPU waits 30.0 ms")
    assert found.value == pytest.approx(100 * 30 * MS / (101 * MS - 20))
    assert judged(library, loading_steps(3, 4), "compilation_in_steps").value == 0, "too few in a row"


@MORE
def test_compilation_in_other_steps(nsys_samples: Library, library: Library, loading_steps: Made) -> None:
    assert judged(library, loading_steps(3, 5), "compilation_in_steps").saving_ns == 20 * MS, "each number that changes"
    assert judged(library, loading_steps(5), "compilation_in_steps").value == 0, "once"
    assert judged(library, loading_steps(), "compilation_in_steps").value == 0
    for sample in ("transformer_training", "idle_host_bound"):
        assert sampled(nsys_samples, sample, "compilation_in_steps", warmup="exclude").verdict == "clear", sample


@pytest.mark.parametrize(("copies", "traced", "cause"), [
    (1, True, "works"), *(pytest.param(*one, marks=MORE) for one in ((1, False, None), (2, True, "made"))),
])  # fmt: skip
def test_input_made_in_the_middle_of_steps(
    library: Library, publish: Publish, copies: int, traced: bool, cause: str | None
) -> None:
    """By hand: steps of 600 µs, with 200 µs of host code before each copy to the GPU: a loader has one per batch.

    If the thread is in none of the traced calls, it makes the input itself.
    """
    steps = range(0, 6_000_000, 600_000)
    work = [(at, at + 10, at + 20, at + 40_000) for at in steps]
    sent = [at + 250_000 * (1 + n) for at in steps for n in range(copies)]
    moved = [made.copy(n, at, at + 10_000, 200_000, (0, 2), call_id=n) for n, at in enumerate(sent)]
    calls = [made.call(n, 4, at - 10, at + 10_000) for n, at in enumerate(sent)]
    named = ranges(*((at - 5, at + 599_990, f"step_{n}") for n, at in enumerate(steps)))
    named |= {"osrt_call": [made.osrt(1, 70, 10, 20)] if traced else []}
    found = judged(library, by_hand(publish, work, memop=moved, api_call=calls, **named), "data_loading")
    assert (found.verdict, found.cause) == ("fires", cause)
    advised = found.rule.advised(found.cause, ["PyTorch"])
    assert ("torch.randn(" in advised[0], "num_workers=4" in advised[0]) == (cause == "made", cause != "made")
    advised = found.rule.advised(found.cause, ["PyTorch", "loader workers"])
    assert ("it does not wait for them" in advised[0]) == (cause == "works")


@pytest.mark.parametrize(("device", "verdict"), [(1, "cannot_judge"), pytest.param(0, "fires", marks=MORE)])
def test_data_of_another_gpu_is_no_input(library: Library, publish: Publish, device: int, verdict: str) -> None:
    """By hand: steps of 600 µs, and 200 µs of host code before a copy of as many bytes as another GPU sends to the
    host, as between the stages of a model whose ranks hand over tensors through the host."""
    steps = range(0, 6_000_000, 600_000)
    work = [(at, at + 10, at + 20, at + 40_000) for at in steps]
    moved = [made.copy(n, at + 250_000, at + 260_000, 200_000, (0, 2), call_id=n) for n, at in enumerate(steps)]
    calls = [made.call(n, 4, at + 249_990, at + 260_000) for n, at in enumerate(steps)]
    sent = [made.copy(100 + n, at + 270_000, at + 280_000, 200_000, (2, 0)) for n, at in enumerate(steps)]
    moved += [one | {"device_id": device} for one in sent]
    named = ranges(*((at - 5, at + 599_990, f"step_{n}") for n, at in enumerate(steps)))
    found = judged(library, by_hand(publish, work, memop=moved, api_call=calls, **named), "data_loading")
    assert found.verdict == verdict


@pytest.mark.parametrize(("pinned_by", "verdict"), [
    ("pt_data_pin", "cannot_judge"), pytest.param("other", "fires", marks=MORE),
])  # fmt: skip
def test_work_before_copies_is_no_input_if_workers_make_it(
    library: Library, publish: Publish, pinned_by: str, verdict: str
) -> None:
    """By hand: steps of 600 µs, with 500 µs of host code ahead of a copy; a thread of the loader has pinned it."""
    steps = range(0, 6_000_000, 600_000)
    work = [(at, at + 10, at + 20, at + 40_000) for at in steps]
    moved = [made.copy(n, at + 550_000, at + 560_000, 200_000, (1, 2), call_id=n) for n, at in enumerate(steps)]
    calls = [made.call(n, 4, one["start_ns"] - 10, one["end_ns"]) for n, one in enumerate(moved)]
    named = ranges(*((at - 5, at + 599_990, f"step_{n}") for n, at in enumerate(steps)))
    named |= {"osrt_call": [made.osrt(1, 70, 10, 20)]}
    named["thread"] = [{"global_tid": MAIN + 1, "global_pid": made.PID, "name": pinned_by}]
    named["process"] = [{"global_pid": made.PID, "pid": 1, "name": "python3"}]
    found = judged(library, by_hand(publish, work, memop=moved, api_call=calls, **named), "data_loading")
    assert found.verdict == verdict
    assert ("its loader has workers" in found.why) == (verdict == "cannot_judge")


@pytest.mark.parametrize(("part", "verdict"), [
    ("assign", "cannot_judge"), pytest.param("step", "fires", marks=MORE),
])  # fmt: skip
def test_work_in_a_range_within_a_step_is_no_input(library: Library, publish: Publish, part: str, verdict: str) -> None:
    """By hand: steps launch a kernel, work in a range for 400 µs, and copy the result to the GPU.

    The same work before the first kernel of a step makes its input.
    """
    steps = range(0, 6_000_000, 600_000)
    first = 10 if part == "assign" else 590_000
    work = [(at + first - 5, at + first, at + first + 10, at + first + 5_000) for at in steps]
    moved = [made.copy(n, at + 500_000, at + 510_000, 200_000, (0, 2), call_id=n) for n, at in enumerate(steps)]
    calls = [made.call(n, 4, one["start_ns"] - 10, one["end_ns"]) for n, one in enumerate(moved)]
    named = [(at, at + 599_999, f"step_{n}") for n, at in enumerate(steps)]
    named += [(at + 20_000, at + 510_005, "assign") for at in steps]

    def nest(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE range SET pre = 2 * range_id - 1, post = 2 * range_id WHERE range_id <= 10")
        db.execute("UPDATE range SET pre = 2 * range_id - 20, post = 2 * range_id - 20, level = 1 WHERE range_id > 10")
        _launch_inside(db)

    report = by_hand(publish, work, memop=moved, api_call=calls, **ranges(*named), after=nest)
    assert judged(library, report, "data_loading").verdict == verdict


def _launch_inside(db: duckdb.DuckDBPyConnection) -> None:
    """Have each range launch the kernels that run in it."""
    db.execute("""
        UPDATE kernel SET process_range = pre FROM range
        WHERE kernel.start_ns >= range.start_ns AND kernel.end_ns <= range.end_ns
    """)


@pytest.mark.parametrize(("kernels", "verdict"), [(12, "clear"), pytest.param(4, "fires", marks=MORE)])
def test_short_gaps_of_ranges_that_launch_much_wait_for_no_input(
    library: Library, publish: Publish, kernels: int, verdict: str
) -> None:
    """By hand: four times `augment` with kernels of 5 µs after 20 µs of host code each, then a kernel of 300 µs."""
    work, named = [], []
    for number, start in enumerate(range(0, 4 * MS, MS)):
        launches = [start + 25_000 * n for n in range(kernels)]
        work += [(at + 19_980, at + 19_990, at + 20_000, at + 25_000) for at in launches]
        named.append((start, start + 25_000 * kernels, f"augment {number}"))
        work.append((start + 400_000, start + 400_010, start + 400_020, start + 700_000))

    found = judged(library, by_hand(publish, work, **ranges(*named), after=_launch_inside), "data_loading")
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("name", "sampled", "cause"),
    [
        ("train iter", True, "one gap"),
        pytest.param("train iter", False, "unnamed gap", marks=MORE),
        pytest.param("adam_update", False, "whole step", marks=MORE),
    ],
)
def test_work_in_one_gap_can_move(library: Library, publish: Publish, name: str, sampled: bool, cause: str) -> None:
    """By hand: ranges of 900 µs launch a kernel, work for 400 µs, and launch a second one."""
    starts = range(0, 10 * MS, MS)
    work = [(at + n, at + n + 10, at + n + 20, at + n + 200_000) for at in starts for n in (100, 600_000)]
    named = ranges(*((at, at + 900_000, f"{name} {n}") for n, at in enumerate(starts)))
    named["cpu_sample"] = [{"sample_id": 1, "time_ns": 1, "global_tid": MAIN}] if sampled else []
    found = judged(library, by_hand(publish, work, **named, after=_launch_inside), "host_work")
    assert (found.verdict, found.cause) == ("fires", cause)
    first, *others = found.rule.advised(found.cause, ["PyTorch"])
    assert ("`warpdeck profile --with python`" in first) == (cause == "unnamed gap")
    assert any("does in one go" in line for line in (first, *others)) == (cause != "whole step")


@pytest.fixture
def capturing_steps(capture: Capture) -> Made:
    """Ten steps of 10 ms, each with a kernel of 5 ms after 5 ms in which the CPU works: it synchronizes at 1 ms,
    captures a graph from 2 to 4 ms, and destroys the one before until 4.5 ms."""
    calls = {901: "cudaDeviceSynchronize", 902: "cudaStreamBeginCapture", 903: "cudaStreamEndCapture",
             904: "cudaGraphInstantiate", 905: "cudaGraphExecDestroy"}  # fmt: skip
    during = {901: (1000, 1100), 902: (2000, 2100), 903: (3000, 3100), 904: (3200, 4000), 905: (4000, 4500)}

    def capturing_steps_(capturing: range, synchronized: bool = True) -> str:
        work = [(start - 5_000, start, start + 5 * MS, "one") for start in range(5 * MS, 100 * MS, 10 * MS)]
        rows = [
            f"({900 + 10 * n + at}, {10 * n * MS + s * 1000}, {10 * n * MS + e * 1000}, {MAIN}, {name},"
            f" {900 + 10 * n + at}, 0, 0)"
            for n in capturing for at, (name, (s, e)) in enumerate(during.items()) if synchronized or name != 901
        ]  # fmt: skip
        columns = "call_id, start_ns, end_ns, global_tid, name_id, correlation_id, event_class, return_value"
        after = "UPDATE string SET value = 'cudaLaunchKernel' WHERE string_id = 1;"
        after += "".join(f"INSERT INTO string (string_id, value) VALUES ({n}, '{name}');" for n, name in calls.items())
        after += f"INSERT INTO api_call ({columns}) VALUES {', '.join(rows)}"
        return capture([], work, after=after)

    return capturing_steps_


def test_graphs_in_loop(library: Library, capturing_steps: Made) -> None:
    span = 95 * MS
    found = judged(library, capturing_steps(range(1, 10)), "graphs_in_loop")
    assert (found.verdict, found.facts["captures"]) == ("fires", 9)
    assert found.saving_ns == 9 * 3_500_000, "from the synchronization to the end of the destruction"
    assert found.value == pytest.approx(100 * 9 * 3_500_000 / span)
    assert judged(library, capturing_steps(range(1, 8)), "graphs_in_loop").value == 0, "two in the second half"


@MORE
def test_graphs_that_are_captured_otherwise(nsys_samples: Library, library: Library, capturing_steps: Made) -> None:
    bare = judged(library, capturing_steps(range(1, 10), synchronized=False), "graphs_in_loop")
    assert bare.saving_ns == 9 * 2_500_000
    assert judged(library, capturing_steps(range(1, 6)), "graphs_in_loop").value == 0, "at the start"
    for sample in ("transformer_training", "launches_graph"):
        assert sampled(nsys_samples, sample, "graphs_in_loop").verdict == "clear", sample


def test_time_that_a_selection_leaves_out_is_neither_busy_nor_idle(library: Library, capture: Capture) -> None:
    """By hand: 0 to 110 and 390 to 1,000 ms without the warm-up; idle from 100 to 110, 390 to 400 and 450 to 600."""
    work = [
        (0, 20, 100 * MS, "one"), (105 * MS, 110 * MS, 390 * MS, "two"), (391 * MS, 400 * MS, 450 * MS, "one"),
        (591 * MS, 600 * MS, 1_000 * MS, "one"),
    ]  # fmt: skip
    report = capture([(101 * MS, 390 * MS, "warmup")], work)
    found = judged(library, report, "uneven_use", warmup="exclude")
    assert found.value == pytest.approx(100 * 7 / 30), (
        "parts of 24 ms: one with 20 idle, one with 22, and five idle ones"
    )
    assert found.facts["stretches"] == 2
    assert found.saving_ns == pytest.approx(162 * MS, abs=100)
    assert found.evidence[0]["start_ns"] == pytest.approx(448 * MS, abs=100)
    busy = analysis.run(library, report, "gpu_busy", {"warmup": "exclude"}).iloc[0]
    assert busy["active_ns"] == 720 * MS - 20
    assert busy["busy_active_pct"] == pytest.approx(100 * 550 / 720, abs=0.01)


def test_what_repeats_is_judged_by_itself(library: Library, capture: Capture) -> None:
    """By hand: a kernel, 200 ms of start-up, 8 steps of 10 ms with 8 ms of work each, 50 ms until the last kernel."""
    work = [(0, 20, MS, "one"), (330 * MS, 331 * MS, 332 * MS, "one")]
    steps = [(200 * MS + n * 10 * MS, 210 * MS + n * 10 * MS, f"step_{n}") for n in range(8)]
    work += [(start + MS, start + MS + 20, start + 9 * MS, "two") for start, _, _ in steps]
    report = library.find(capture(steps, sorted(work)))
    part = judge.find_steady_part(library, report, {})
    assert part == judge.Steady(8, 200 * MS - 20, 280 * MS - 20, 200 * MS - 20, 52 * MS)
    assert sentences.describe_judged(part) == (
        "Judged: 8 steps (80.0 ms). Left out: 200 ms from the GPU's first operation to the first step"
        " and 52.0 ms after the last one."
    )
    rule = [rulebook.load()["gpu_idle"], rulebook.load()["no_ranges"]]
    whole, steady = (judge.judge(library, report, {}, rule, one)[0] for one in (None, part))
    assert whole.value == pytest.approx(100 * (332 - 2 - 64) / 332, abs=0.01)
    assert steady.value == pytest.approx(20, abs=0.01), "2 of each 10 ms"
    assert judge.find_steady_part(library, report, {"from_ns": 1, "to_ns": 10**9}) is None, "somebody chose times"
    few = library.find(capture(steps[:3], sorted(work)))
    assert judge.find_steady_part(library, few, {}) is None


@pytest.mark.parametrize(("alone", "told"), [(2, True), pytest.param(150, False, marks=MORE)])
def test_a_long_start_up_leaves_a_loop_to_judge(library: Library, capture: Capture, alone: int, told: bool) -> None:
    """By hand: a kernel of 2 or 150 ms, 10 s of start-up, and 50 times three kernels of 2 ms in 9.

    That is 4 % of the time; the loop does 99 % of the GPU's work, or 67 %.
    """
    work = [(0, 20, alone * MS + 20, "three")]
    for n in range(150):
        start = 10_000 * MS + n * 3 * MS
        work.append((start, start + MS, start + 3 * MS - 20, ("one", "two", "two")[n % 3]))
    part = judge.find_steady_part(library, library.find(capture([], work)), {})
    assert (part is not None) == told
    assert part is None or (part.before_ns > 9_900 * MS and 40 <= part.steps <= 50)


@pytest.mark.parametrize(("loops", "steps"), [(4, 3), pytest.param(3, None, marks=MORE)])
def test_few_iterations_of_kernels_make_a_steady_part(
    library: Library, capture: Capture, loops: int, steps: int | None
) -> None:
    """By hand: a kernel, 1 s of start-up, then iterations of eight kernels of 4 ms in 10; the last one has no end."""
    starts = [(1_000 + 10 * n) * MS for n in range(8 * loops)]
    work = [(0, 20, MS, "three")]
    work += [(s, s + MS, s + 5 * MS, "two" if n % 8 else "one") for n, s in enumerate(starts)]
    part = judge.find_steady_part(library, library.find(capture([], work)), {})
    assert (part.steps if part else None) == steps
    assert part is None or part.to_ns - part.from_ns == 3 * 80 * MS


@pytest.mark.parametrize(("start_up", "extra", "told"), [
    (300, False, True), *(pytest.param(*one, marks=MORE) for one in ((300, True, False), (80, False, False))),
])  # fmt: skip
def test_iterations_that_are_all_the_same_leave_out_a_short_start_up(
    library: Library, capture: Capture, start_up: int, extra: bool, told: bool
) -> None:
    """By hand: a kernel, start-up, then ten times eight kernels of 4 ms in 10; the last iteration has no end.

    A third of the time lies outside, and one iteration may have one more kernel; or 17 % lie outside.
    """
    work = [(0, 20, MS, "three")]
    for n in range(80):
        start = (start_up + 10 * n) * MS
        work.append((start, start + MS, start + 5 * MS, "two" if n % 8 else "one"))
        work += [(start + 6 * MS, start + 7 * MS, start + 8 * MS, "two")] if extra and n == 42 else []
    part = judge.find_steady_part(library, library.find(capture([], work)), {})
    assert (part.steps if part else None) == (9 if told else None)


@pytest.mark.parametrize(("apart", "steps"), [(40, 8), pytest.param(1, None, marks=MORE)])
def test_start_up_may_hold_more_work_than_the_steps(
    library: Library, capture: Capture, apart: int, steps: int | None
) -> None:
    """By hand: 100 kernels of 10 ms, 390 ms apart or in a row, then 8 steps of 10 ms with 9 ms of work each."""
    work = [(n * apart * 10 * MS, n * apart * 10 * MS + 20, (n * apart + 1) * 10 * MS, "one") for n in range(100)]
    begin = 100 * apart * 10 * MS
    ranges = [(begin + n * 10 * MS, begin + (n + 1) * 10 * MS, f"step_{n}") for n in range(8)]
    work += [(start + 5, start + MS, start + 10 * MS, "two") for start, _, _ in ranges]
    part = judge.find_steady_part(library, library.find(capture(ranges, work)), {})
    assert (part.steps if part else None) == steps


@pytest.mark.parametrize(
    ("kernel", "size", "reads"),
    [
        ("loop_add_fusion", 4, 1),
        pytest.param("loop_add_fusion", 65, None, marks=MORE),
        pytest.param("k", 4, None, marks=MORE),
    ],
)
def test_values_that_jax_reads(library: Library, publish: Publish, kernel: str, size: int, reads: int | None) -> None:
    """Another thread of JAX copies a value while the one that launches waits for it, and then launches again."""
    ended, begins = 40_020, 80_010
    kernels = [(0, 10, 20, ended), (80_000, 80_005, begins, 110_020)]
    moved = [made.copy(1, ended + 1_000, ended + 2_000, size, (2, 0))]

    def rename(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE kernel_name SET demangled = ?, short = ?", [kernel, kernel])

    report = by_hand(
        publish, kernels, rename, memop=moved, string=[{"string_id": 70, "value": "futex"}],
        osrt_call=[made.osrt(1, 70, ended, begins - 12_000)],
    )  # fmt: skip
    found = judged(library, report, "os_blocking")
    assert (found.verdict, found.facts["reads"]) == ("fires", reads)
    assert (found.cause == "reads") == (reads is not None)
    assert ("Read values" in found.rule.advised(found.cause, ["JAX"])[0]) == (reads is not None)
