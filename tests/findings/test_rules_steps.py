"""Rules about steps: on small captures by hand, and on samples against the ranges of the raw export."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from profiledb.findings import judge, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.second import steps as told
from tests.second.nesting import ran
from tests.support.gaps import capture as export
from tests.support.gaps import sampled
from tests.support.judged_rules import judged
from tests.support.range_captures import Capture

US = 1000
MORE = pytest.mark.slow("judges more captures by hand")


def loop(capture: Capture, lasts: Sequence[int], names: Sequence[str] = ()) -> str:
    """Steps that take so many µs each, one after the other, with a kernel of 10 ns at the start of each."""
    ends = list(accumulate(US * one for one in lasts))
    starts = [0, *ends[:-1]]
    called = names or [f"step_{n}" for n in range(len(lasts))]
    ranges = [(start, end, name) for start, end, name in zip(starts, ends, called, strict=True)]
    return capture(ranges, [(start + 5, start + 20, start + 30, "one") for start in starts])


def times(sample: str) -> list[int]:
    """Durations of the counted steps: from the end of the previous one to the end of the range or of its work."""
    found = export(sample)
    best = told.loops(found, "process")[0]
    lasts, reached = [], 0
    warm = [one for one in found.ranges if "warmup" in one.name and one.start < best.counted[0].start]
    held = ran(found, "process")
    for one in sorted({*best.steps, *warm}, key=lambda one: one.start):
        until = max([one.end, *(op.end for op in held[one].operations)]) if one in held else one.end
        if one in best.counted:
            alone = max(one.end - one.start, held[one].ns if one in held else 0)
            lasts.append(until - max(one.start, reached) if reached else min(until - one.start, alone))
        reached = max(reached, until)
    return lasts


def test_outliers(capture: Capture, library: Library) -> None:
    """One of 10 steps of 1 ms takes 3: it takes 2 of 12 ms above the median."""
    finding = judged(library, loop(capture, [1000] * 6 + [3000] + [1000] * 3), "step_outliers")
    assert (finding.verdict, finding.saving_ns, finding.facts["outliers"]) == ("fires", 2000 * US, 1)
    assert finding.value == pytest.approx(100 * 2 / 12)
    assert finding.evidence[0]["range"] == finding.facts["range"] == "step_6"
    assert judged(library, loop(capture, [100] * 9 + [149]), "step_outliers").verdict == "clear"
    assert judged(library, loop(capture, [100, 100, 300]), "step_outliers").verdict == "cannot_judge"


@pytest.mark.parametrize("part", [False, pytest.param(True, marks=MORE)])
def test_outliers_explain_steps_that_are_not_steady(capture: Capture, library: Library, part: bool) -> None:
    """One of 12 steps of 1 ms takes 9, and it is in the first five windows of five steps."""
    report = library.find(loop(capture, [1000] * 4 + [9000] + [1000] * 7))
    rules = [replace(rulebook.load()[name], changes=()) for name in ("step_outliers", "unsteady_steps")]
    whole = judge.Steady(12, 0, 20_000 * US, 0, 0) if part else None
    found = {one.rule.name: one for one in judge.judge(library, report, {}, rules, whole)}
    assert (found["unsteady_steps"].verdict, found["unsteady_steps"].parent) == ("fires", "step_outliers")


@MORE
def test_outliers_that_other_steps_make_up_for(capture: Capture, library: Library) -> None:
    """One of 10 steps of 3 ms takes 6; the next one makes up for none, 2 or all of it."""
    said = []
    for after in (3000, 1000, 1):
        finding = judged(library, loop(capture, [3000] * 6 + [6000, after] + [3000] * 2), "step_outliers")
        said.append((finding.verdict, finding.saving_ns))
    assert said == [("fires", 3000 * US), ("fires", 1000 * US), ("clear", US)]


@pytest.mark.parametrize(
    ("slow", "outliers"),
    [
        ((1, 3, 5), 0),
        *(
            pytest.param(*one, marks=MORE)
            for one in (((19,), 0), ((1, 19), 0), ((1, 3, 7), 3), ((7,), 1), ((18, 19), 2))
        ),
    ],
)
def test_outliers_at_the_beginning_or_the_end(
    capture: Capture, library: Library, slow: tuple[int, ...], outliers: int
) -> None:
    """Some of 20 steps of 2 ms take 4: not if all of them are in the first third, or at the very end."""
    lasts = [4000 if n in slow else 2000 for n in range(20)]
    finding = judged(library, loop(capture, lasts), "step_outliers")
    assert finding.facts["outliers"] == outliers
    assert finding.verdict == ("fires" if outliers else "clear")


@MORE
def test_a_single_outlier_by_little_is_no_finding(capture: Capture, library: Library) -> None:
    """A step of 100 µs that takes 1 ms more is a finding; one that takes 999 µs more is not, but two of these are."""
    more = [[1100], [1099], [1099, 100, 1099]]
    told = [judged(library, loop(capture, [100] * 9 + one + [100] * 9), "step_outliers") for one in more]
    assert [(one.verdict, one.facts["outliers"]) for one in told] == [("fires", 1), ("clear", 0), ("fires", 2)]


@pytest.mark.parametrize("warm", ["warmup", pytest.param("step_0", marks=MORE)])
@pytest.mark.parametrize(
    "selected",
    [
        {"warmup": "exclude"},
        pytest.param({"warmup": "exclude", "within": "steps"}, marks=MORE),
        pytest.param({}, marks=MORE),
    ],
)
def test_a_warm_up_that_runs_on_is_no_time_of_the_first_step(
    capture: Capture, library: Library, warm: str, selected: dict[str, str]
) -> None:
    """The CPU launches each range within 10 µs; the GPU takes 400 µs for the warm-up and 100 for each of 9 steps."""
    ranges, work, done = [(0, 10 * US, warm)], [(0, 100, 400 * US, "one")], 400 * US
    for n in range(1, 10):
        ranges.append((n * 10 * US, (n + 1) * 10 * US, f"step_{n}"))
        work.append((n * 10 * US, done, done + 100 * US, "two"))
        done += 100 * US
    finding = judged(library, capture(ranges, work), "step_outliers", **selected)
    assert (finding.verdict, finding.value, finding.facts["median_ns"]) == ("clear", 0, 100 * US)
    assert finding.facts["steps"] == 9


@MORE
def test_a_first_step_that_finds_the_gpu_idle(capture: Capture, library: Library) -> None:
    """Steps of 100 µs on the CPU, the kernels of each as long and 150 µs behind: no step takes 250 µs."""
    ranges = [(100 * US * n, 100 * US * (n + 1), f"step_{n}") for n in range(8)]
    work = [(100 * US * n + 5, 100 * US * n + 150 * US, 100 * US * n + 250 * US, "one") for n in range(8)]
    finding = judged(library, capture(ranges, work), "step_outliers")
    assert (finding.verdict, finding.value, finding.facts["median_ns"]) == ("clear", 0, 100 * US)


@MORE
def test_a_selection_after_the_first_step_has_no_warm_up(capture: Capture, library: Library) -> None:
    report = loop(capture, [300, 200, 100, 100, 100, 100, 100])
    selections: list[dict[str, int]] = [{}, {"from_ns": 250 * US}]
    found = [analysis.run(library, report, "iteration_summary", one).iloc[0] for one in selections]
    assert [(row["count"], row["warmup"]) for row in found] == [(5, 2), (6, 0)]


def test_sizes_are_no_steps(capture: Capture, library: Library, nsys_samples: Library) -> None:
    sizes = loop(capture, [100, 100, 300, 900], [f"tokens_{2**n}" for n in range(4)])
    for rule in ("step_outliers", "step_tail", "step_growth", "unsteady_steps"):
        assert judged(library, sizes, rule).verdict == "cannot_judge"
        assert sampled(nsys_samples, "attention", rule).verdict == "cannot_judge"


@pytest.mark.parametrize("sample", ["dataloader_starved", "dataloader_fixed", "idle_host_bound", "streams_serial"])
def test_outliers_of_samples(nsys_samples: Library, sample: str) -> None:
    lasts = times(sample)
    middle = statistics.median(lasts)
    lost = sum(one - middle for one in lasts if one > 1.5 * middle)
    lost = min(lost, max(0, sum(lasts) - len(lasts) * middle))
    if not any(one > 1.5 * middle for one in lasts[len(lasts) // 3 : -1]):
        lost = 0
    finding = sampled(nsys_samples, sample, "step_outliers", warmup="exclude")
    assert finding.value == pytest.approx(100 * lost / sum(lasts))
    assert finding.facts["median_ns"] == pytest.approx(middle)
    assert (finding.verdict, finding.facts["steps"]) == ("clear", len(lasts))


def test_tail(capture: Capture, library: Library, nsys_samples: Library) -> None:
    """No available report has one: by hand, 4 of 18 steps of 100 µs take 140."""
    lasts = [100] * 9 + [140] * 2 + [100] * 9 + [140] * 2
    finding = judged(library, loop(capture, lasts), "step_tail")
    assert (finding.verdict, finding.value, finding.saving_ns) == ("fires", 1.4, 4 * 40 * US)
    fixed = times("idle_fixed")
    clear = sampled(nsys_samples, "idle_fixed", "step_tail", warmup="exclude")
    assert clear.verdict == "clear"
    halves = [sorted(fixed[: len(fixed) // 2]), sorted(fixed[len(fixed) // 2 :])]
    slow = [one[int(0.95 * (len(one) - 1))] for one in halves]
    most = statistics.quantiles(fixed, n=20, method="inclusive")[-1]
    assert clear.value == pytest.approx(min(*slow, most) / statistics.median(fixed))
    assert sampled(nsys_samples, "dataloader_fixed", "step_tail").verdict == "cannot_judge"


@MORE
def test_steps_that_launch_more_and_more(capture: Capture, library: Library) -> None:
    """15 steps of 100 or 140 µs in turns; the nth has 10 + n kernels of 1 µs, the same number in the second report, and
    in the third they take longer from step to step."""
    lasts = [US * (100 + 40 * (n % 2)) for n in range(15)]
    ends = [0, *accumulate(lasts)]
    ranges = [(start, end, f"step_{n}") for n, (start, end) in enumerate(pairwise(ends))]

    def measure(*counts: int, longer_ns: int = 0) -> Finding:
        kernels = [
            (start + 5 + 2 * US * at, start + 20 + 2 * US * at, start + 20 + 2 * US * at + US + n * longer_ns, "one")
            for n, ((start, *_), count) in enumerate(zip(ranges, counts, strict=True))
            for at in range(count)
        ]
        return judged(library, capture(ranges, kernels), "step_growth")

    found = measure(*range(10, 25))
    assert (found.verdict, found.cause) == ("fires", "more")
    assert (found.facts["first_operations"], found.facts["last_operations"]) == (12, 22)
    assert found.value == pytest.approx(100 * (22 - 12) / 12)
    assert found.at_most_ns == pytest.approx(sum(ns * (1 - 10 / (10 + n)) for n, ns in enumerate(lasts)), abs=1)
    assert "handle.remove()" in found.rule.advised(found.cause, ["PyTorch", "training"])[0]
    assert measure(*[10] * 15).verdict == "clear"
    assert measure(*[10] * 15, longer_ns=60).verdict == "clear", "none of them launches more"


@pytest.mark.parametrize(
    "slow", [*(pytest.param(one, marks=MORE) for one in ((1, 3, 5), (2, 4, 7, 9), (18, 19))), (1, 3, 18)]
)
def test_slow_steps_at_one_end_are_no_scatter(capture: Capture, library: Library, slow: tuple[int, ...]) -> None:
    """Some of 20 steps of 100 µs take 200: a warm-up that goes on, the end, and a warm-up with a single step."""
    lasts = [200 if n in slow else 100 for n in range(20)]
    assert judged(library, loop(capture, lasts), "step_tail").verdict == "clear"


def test_growth(capture: Capture, library: Library, nsys_samples: Library) -> None:
    """No available report has enough steps that grow: by hand, 9 steps from 100 to 180 µs."""
    finding = judged(library, loop(capture, [100 + 10 * n for n in range(9)]), "step_growth")
    assert (finding.verdict, finding.facts["first_ns"], finding.facts["last_ns"]) == ("fires", 110 * US, 170 * US)
    assert finding.value == pytest.approx(100 * 60 / 110)
    assert finding.is_cause, "it precedes what takes longer from step to step"
    assert finding.at_most_ns == sum(10 * n for n in range(9)) * US, "the line starts below the shortest step"
    outliers = {9: 900, 15: 600}  # by Pearson's correlation, these two hide that all others grow
    lasts = [outliers.get(n, 100 + 4 * n) for n in range(20)]
    assert judged(library, loop(capture, lasts), "step_growth").verdict == "fires"
    growing = [120 if n in outliers else last for n, last in enumerate(lasts)]
    for ends in (600, 900):  # twice the median of the last third, which is 166 µs, is the most that growth explains
        lasts = [*growing[:9], ends, *growing[10:]]
        found = judged(library, loop(capture, lasts), "step_growth")
        base = found.facts["first_ns"] - (found.facts["last_ns"] - found.facts["first_ns"]) / 4
        base = max(base, min(lasts) * US)
        counted = (min(last * US, 2 * found.facts["last_ns"]) for last in lasts)
        assert found.at_most_ns == pytest.approx(sum(max(0, last - base) for last in counted), abs=1)
    late = judged(library, loop(capture, [100] * 8 + [101]), "step_growth")
    assert late.verdict == "clear"
    assert sampled(nsys_samples, "idle_host_bound", "step_growth", warmup="exclude").verdict == "clear"
    assert sampled(nsys_samples, "tasks", "step_growth").verdict == "cannot_judge"


@pytest.mark.parametrize(("sample", "verdict"), [("dataloader_starved", "fires"), ("dataloader_fixed", "clear")])
def test_steps_that_are_not_steady(nsys_samples: Library, sample: str, verdict: str) -> None:
    lasts = times(sample)
    scatter = [
        100 * statistics.stdev(five) / statistics.fmean(five)
        for five in (lasts[at : at + 5] for at in range(len(lasts) - 4))
    ]
    windows = next((at for at, cv in enumerate(scatter) if cv < 15), len(scatter))
    finding = sampled(nsys_samples, sample, "unsteady_steps", warmup="exclude")
    assert (finding.verdict, finding.value) == (verdict, windows)
    assert finding.saving_ns is None
    assert finding.facts["wanted"] == max(20, 2 * finding.facts["steps"])
    assert sampled(nsys_samples, "transformer_steps", "unsteady_steps").verdict == "cannot_judge"


@MORE
def test_steps_that_never_settle(capture: Capture, library: Library) -> None:
    never = judged(library, loop(capture, [100, 200] * 5), "unsteady_steps")
    assert (never.value, never.facts["unsettled"]) == (6, 10)
    assert "of 10 steps, any 5 in a row vary" in sentences.says(never)
    assert "Warm up" not in " ".join(sentences.fill_advice(never)), "it would not help"
    late = judged(library, loop(capture, [100, 200, 100, 200, *[100] * 6]), "unsteady_steps")
    assert (late.value, late.facts["unsettled"]) == (4, None)
    assert sentences.fill_advice(late)[0].startswith("Warm up for longer, by 4 steps or more")


def test_warmup_inside(capture: Capture, library: Library, nsys_samples: Library) -> None:
    """The first of 6 steps takes 300 µs instead of 100: 200 of the 800 µs of all steps."""
    finding = judged(library, loop(capture, [300] + [100] * 5), "warmup_inside")
    assert (finding.verdict, finding.severity, finding.facts["above_ns"]) == ("fires", "warning", 200 * US)
    assert finding.value == pytest.approx(100 * 200 / 800)
    cold = sampled(nsys_samples, "transformer_training", "warmup_inside")
    warm = [one for one in export("transformer_training").ranges if one.name == "warmup"]
    assert (cold.verdict, cold.facts["named_ns"]) == ("fires", sum(one.end - one.start for one in warm))
    assert sampled(nsys_samples, "transformer_training", "warmup_inside", warmup="exclude").verdict == "clear"
    assert judged(library, capture([], [(0, 5, 9, "one")]), "warmup_inside").verdict == "cannot_judge"


@MORE
def test_a_warm_up_before_the_first_operation(capture: Capture, library: Library) -> None:
    """10 ms of warm-up on the CPU, another one in parallel, then 1 ms of kernels: 10 of 11.1 ms, never 1,000 %."""
    ranges = [(0, 10_000 * US, "warmup"), (5_000 * US, 9_000 * US, "warm up of the cache")]
    work = [(10_000 * US, 10_100 * US, 11_100 * US, "one")]
    finding = judged(library, capture(ranges, work), "warmup_inside")
    assert (finding.verdict, finding.facts["named_ns"]) == ("fires", 10_000 * US)
    assert finding.value == pytest.approx(100 * 10 / 11)


@MORE
def test_steps_of_which_the_gpu_works_on_at_once(capture: Capture, library: Library) -> None:
    """The CPU launches 6 steps within 10 µs each; the GPU takes 300 µs for the first and 100 for each other one."""
    ranges, work, done = [], [], 0
    for n in range(6):
        lasts = 300 * US if n == 0 else 100 * US
        ranges.append((n * 10 * US, (n + 1) * 10 * US, f"step_{n}"))
        work.append((n * 10 * US, done + 100, done + 100 + lasts, "one"))
        done += lasts
    finding = judged(library, capture(ranges, work), "warmup_inside")
    assert finding.facts["above_ns"] == pytest.approx(200 * US, rel=0.01)
    assert finding.value == pytest.approx(100 * 200 / 800, rel=0.01)
