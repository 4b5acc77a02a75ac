"""Made-up runs: which ranks belong together, whose clock differs, who is late, since when and why."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bench.runs import Late, vary
from profiledb.studies.runs import clocks, rank_summary, run_answer, run_list, run_tables, sentences
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_list import Run
from profiledb.studies.scaling import nccl
from tests.support.every_report import slow_but
from tests.support.made_ranks import MS, rank, real, stage, work_out

HOUR_NS = 3_600_000_000_000
MORE_RUNS = pytest.mark.slow("more runs of 16 ranks")


def conclude(size: int, steps: int, late: Late | None, seed: int = 0) -> tuple[Run, RunAnswer]:
    return work_out(list(vary(real(), size, steps, late, seed)))


def test_ranks_of_a_name_are_one_run_and_missing_ones_are_named() -> None:
    (run,) = run_list.list_runs([rank(3, size=6), rank(0, size=6), rank(2, size=6)])
    assert (run.name, run.told_by, run.size) == ("job", "name", 6)
    assert [one.rank for one in run.ranks] == [0, 2, 3]
    assert run.missing == [1, 4, 5]
    assert "3 of 6 ranks have no report: 1, 4, 5" in dict(sentences.state_gaps(run))["ranks_missing"]


def test_the_launchers_name_joins_reports_of_any_name() -> None:
    runs = run_list.list_runs([rank(0, "report1", run_id="x"), rank(1, "report2", run_id="x"), rank(1, run_id="y")])
    assert [(run.told_by, [one.rank for one in run.ranks]) for run in runs] == [("launcher", [1]), ("launcher", [0, 1])]


def test_a_single_rank_is_no_run() -> None:
    assert run_list.list_runs([rank(0)]) == []
    assert run_list.find_run(run_list.list_runs([rank(0), rank(1)]), "job1") is not None
    assert run_list.find_run([], "job1") is None


def test_two_jobs_of_one_name_are_two_runs() -> None:
    first = [rank(n, begin_ns=0, end_ns=100) for n in (0, 1)]
    second = [rank(n, report_id=f"again{n}", begin_ns=200, end_ns=300) for n in (0, 1)]
    runs = run_list.list_runs([*second, *first])
    assert [run.reports for run in runs] == [["job0", "job1"], ["again0", "again1"]]


def test_a_doubled_rank_counts_once() -> None:
    (run,) = run_list.list_runs([rank(0), rank(1), rank(1, report_id="kept_twice")])
    assert ([one.report_id for one in run.ranks], [one.report_id for one in run.doubled]) == (
        ["job0", "job1"],
        ["kept_twice"],
    )
    assert dict(sentences.state_gaps(run))["ranks_doubled"] == "1 report left out, a further one of the rank: rank 1."


def test_two_jobs_of_one_launchers_name_are_two_runs() -> None:
    first = [rank(n, run_id="x", begin_ns=0, end_ns=100) for n in (0, 1)]
    second = [rank(n, report_id=f"again{n}", run_id="x", begin_ns=200, end_ns=300) for n in (0, 1)]
    runs = run_list.list_runs([*second, *first])
    assert [(run.reports, run.doubled) for run in runs] == [(["job0", "job1"], ()), (["again0", "again1"], ())]


def test_clocks_hours_apart_do_not_split_a_run() -> None:
    apart = [rank(n, begin_ns=n * HOUR_NS, end_ns=n * HOUR_NS + 10) for n in range(3)]
    assert [len(run.ranks) for run in run_list.list_runs(apart)] == [3]


def captured(job: int, node: int, at: int, size: int = 4, each: int = 2) -> list[RankSummary]:
    """The ranks of a node in a job, all captured from ``at`` to ``at + 10`` on its clock."""
    return [
        rank(n, report_id=f"{job}:{n}", host=f"node{node}", size=size, begin_ns=at, end_ns=at + 10)
        for n in range(node * each, (node + 1) * each)
    ]


@pytest.mark.parametrize("apart", [0, HOUR_NS, -7 * HOUR_NS])
@pytest.mark.parametrize("each", [1, 2])
def test_two_jobs_of_one_name_on_machines_with_other_clocks_are_two_runs(apart: int, each: int) -> None:
    """The second job runs a minute after the first; the second machine's clock differs by hours."""
    begin, later = 10 * HOUR_NS, 10 * HOUR_NS + 60_000 * MS
    every = [
        *captured(2, 0, later, each=each), *captured(2, 1, later + apart, each=each),
        *captured(1, 0, begin, each=each), *captured(1, 1, begin + apart, each=each),
    ]  # fmt: skip
    runs = run_list.list_runs(every)
    assert sorted(run.reports for run in runs) == [[f"{job}:{n}" for n in range(2 * each)] for job in (1, 2)]
    assert not any(run.doubled for run in runs)


def test_a_doubled_rank_splits_no_run_whose_clocks_are_hours_apart() -> None:
    every = [*captured(1, 0, 0), *captured(1, 1, HOUR_NS), replace(captured(1, 1, HOUR_NS)[0], report_id="copy")]
    (run,) = run_list.list_runs(every)
    assert (len(run.ranks), [one.report_id for one in run.doubled], run.missing) == (4, ["copy"], [])


def test_a_job_that_lacks_a_machine_does_not_take_the_other_jobs_ranks() -> None:
    every = [*captured(1, 0, 0), *captured(2, 0, 100), *captured(2, 1, 100)]
    runs = run_list.list_runs(every)
    assert [(run.reports, run.missing) for run in runs] == [
        (["1:0", "1:1"], [2, 3]),
        (["2:0", "2:1", "2:2", "2:3"], []),
    ]


def test_two_jobs_of_one_name_at_the_same_time_are_two_runs() -> None:
    other = [replace(one, report_id=f"other{one.rank}", host="elsewhere") for one in captured(1, 0, 5, size=2)]
    runs = run_list.list_runs([*captured(1, 0, 0, size=2), *other])
    assert [run.reports for run in runs] == [["1:0", "1:1"], ["other0", "other1"]]


def test_ranks_before_a_restart_are_left_out() -> None:
    before = [rank(n, run_id="x", restarts=0) for n in (0, 1)]
    after = [rank(n, report_id=f"after{n}", run_id="x", restarts=1) for n in (0, 1)]
    (run,) = run_list.list_runs([*before, *after])
    assert (run.reports, len(run.doubled), run.restarts) == (["after0", "after1"], 2, 1)
    assert {"ranks_doubled", "restarted"} == {rule for rule, _ in sentences.state_gaps(run)}


def test_traces_join_by_the_time_of_their_captures() -> None:
    unnamed = [rank(n, f"trace{n}", is_named=False, size=2, begin_ns=5, end_ns=10 + n) for n in (0, 1)]
    (run,) = run_list.list_runs(unnamed)
    assert (run.name, run.told_by, [one.rank for one in run.ranks]) == ("trace0", "time", [0, 1])


def test_traces_and_reports_of_nsys_of_one_time_are_one_run() -> None:
    """The PyTorch profiler captured rank 1, and nsys, which alone tells the launcher's name, captured the others."""
    captured_by_nsys = [rank(n, run_id="x", size=3, begin_ns=0, end_ns=100) for n in (0, 2)]
    trace = rank(1, "job (trace)", size=3, begin_ns=50, end_ns=150)
    (run,) = run_list.list_runs([trace, *captured_by_nsys])
    assert (run.name, run.told_by, [one.rank for one in run.ranks], run.missing) == ("job", "launcher", [0, 1, 2], [])
    (renamed,) = run_list.list_runs([rank(0, "job (trace)", begin_ns=0, end_ns=9), rank(1, begin_ns=0, end_ns=9)])
    assert renamed.name == "job"
    later = rank(1, "job (trace)", size=3, begin_ns=200, end_ns=300)
    of_a_rank_twice = rank(2, "job (trace)", size=3, begin_ns=50, end_ns=150)
    for apart in (later, of_a_rank_twice):
        assert [run.name for run in run_list.list_runs([apart, *captured_by_nsys])] == ["job", "job (trace)"]


@pytest.mark.parametrize(
    ("late", "cause", "says"),
    [
        pytest.param(Late(5, 0, "idle", 2 * MS), "idle", "host code in `load_batch`", marks=MORE_RUNS),
        pytest.param(Late(2, 30, "idle", 2 * MS), "idle", "from step 30 on", marks=MORE_RUNS),
        (Late(7, 20, "compute", 2 * MS), "compute", "clocks, power and temperature"),
        (Late(1, 12, "copy", 2 * MS), "copy", "copies"),
    ],
)
def test_the_late_rank_is_named_with_its_step_and_its_cause(late: Late, cause: str, says: str) -> None:
    _, known = conclude(16, 60, late)
    found = known.straggler
    assert found is not None
    assert (found.rank, found.since or 0, found.cause) == (late.rank, late.since, cause)
    assert found.late_ns == pytest.approx(late.ns, rel=0.05)
    assert says in known.headline
    assert [(one.rule, one.severity) for one in known.findings] == [
        ("straggler", "high"),
        ("exposed_communication", "high"),
    ]


@pytest.mark.parametrize("size", slow_but([2], [2, 3], "more runs"))
def test_lateness_of_few_ranks_is_all_that_the_others_wait(size: int) -> None:
    _, known = conclude(size, 40, Late(1, 0, "idle", 2 * MS))
    assert known.straggler is not None
    assert known.straggler.late_ns == pytest.approx(2 * MS, rel=0.05)


def test_a_slow_machine_is_named_with_all_its_ranks() -> None:
    ranks = list(vary(real(), 24, 40, Late(8, 20, "compute", 2 * MS, ranks=8)))
    _, known = work_out(ranks)
    found = known.straggler
    assert found is not None
    assert (found.rank, found.ranks, found.host, found.since) == (8, 8, "node001", 20)
    assert found.cause == "compute"
    assert known.headline.startswith("The 8 ranks of node001 hold up the others by 2.")
    assert "slow_node" in {one.rule for one in known.findings}


def test_work_that_moves_between_the_ranks_names_none() -> None:
    """Each rank is 2 ms late in every fourth step: all wait for three quarters of that."""
    ranks = list(vary(real(), 4, 40, [Late(n, n, "compute", 2 * MS, every=4) for n in range(4)]))
    _, known = work_out(ranks)
    assert known.straggler is None
    (finding,) = [one for one in known.findings if one.rule == "moving_imbalance"]
    assert finding.saving_ns == pytest.approx(1.5 * MS, rel=0.05)
    assert known.headline == finding.sentence
    assert "in 10 of 40 steps" in finding.sentence


def test_waits_behind_compute_hold_nothing_up() -> None:
    ranks = list(vary(real(), 4, 40, Late(1, 0, "idle", 2 * MS)))
    hidden = []
    for one in ranks:
        steps = rank_summary.decode(one.tables["step_rows"]).to_pandas().assign(exposed_ns=0)
        hidden.append(replace(one, tables={**one.tables, "step_rows": rank_summary.encode(steps, "step_rows")}))
    _, known = work_out(hidden)
    assert known.straggler is None
    assert known.findings == ()


def with_cpu(ranks: list[RankSummary], cpu_ns: Sequence[float], pauses_ns: Sequence[float]) -> list[RankSummary]:
    """The ranks with this time of their CPUs and these pauses in each step but the last one."""
    made = []
    for one, cpu, pause in zip(ranks, cpu_ns, pauses_ns, strict=True):
        steps = rank_summary.decode(one.tables["step_rows"]).to_pandas()
        steps = steps.assign(period_ns=steps["duration_ns"], cpu_ns=cpu, pause_ns=pause)
        steps.loc[steps.index[-1], ["period_ns", "cpu_ns", "pause_ns"]] = np.nan
        made.append(replace(one, tables={**one.tables, "step_rows": rank_summary.encode(steps, "step_rows")}))
    return made


def test_a_cpu_that_needs_the_whole_step_waits_for_nobody() -> None:
    """The other GPUs wait 6 of 16 ms for rank 1, but every CPU works all the time, so every step would take as long."""
    ranks = list(vary(real(), 4, 40, Late(1, 0, "idle", 6 * MS)))
    _, known = work_out(with_cpu(ranks, [15.9 * MS] * 4, [MS] * 4))
    assert known.straggler is None
    assert [one.rule for one in known.findings] == ["exposed_communication"]
    assert "% of the step, but their CPUs need that time to launch its work" in known.headline


def test_a_straggler_costs_as_much_as_the_cpus_of_the_others_wait() -> None:
    """They work for 14 of 16 ms, so the step cannot be shorter."""
    ranks = list(vary(real(), 4, 40, Late(1, 0, "idle", 6 * MS)))
    _, known = work_out(with_cpu(ranks, [14 * MS, 16 * MS, 14 * MS, 14 * MS], [MS, 3 * MS, MS, MS]))
    assert known.straggler is not None
    assert (known.straggler.rank, known.straggler.cpu) == (1, "own")
    assert known.straggler.late_ns == pytest.approx(2 * MS, rel=0.1)
    assert "Its CPU takes 2.00 ms longer per step than that of the median rank." in known.headline
    assert "host code in `load_batch`" in known.headline


@pytest.mark.parametrize(("cpu_ns", "is_named"), [(13.5 * MS, False), (11 * MS, True)])
def test_a_cpu_that_is_slower_at_the_same_work_is_named_from_a_quarter_of_the_step_on(
    cpu_ns: float, is_named: bool
) -> None:
    ranks = list(vary(real(), 4, 40, Late(1, 0, "idle", 6 * MS)))
    _, known = work_out(with_cpu(ranks, [cpu_ns, 16 * MS, cpu_ns, cpu_ns], [MS] * 4))
    assert (known.straggler is not None) == is_named
    assert ("for the same launches" in known.headline) == is_named


def test_lateness_of_less_than_a_twentieth_of_the_step_names_none() -> None:
    """GPUs and CPUs of equal ranks differ by as much."""
    assert conclude(2, 40, Late(1, 0, "compute", 400_000))[1].straggler is None
    assert conclude(2, 40, Late(1, 0, "compute", 700_000))[1].straggler is not None


def test_larger_batches_are_work_and_slower_clocks_are_compute() -> None:
    """As many launches with twice the threads are more work; slower kernels with equal threads mean a slower clock."""

    def vary_kernels(threads: float, clock: float) -> RunAnswer:
        ranks = list(vary(real(), 4, 40, Late(2, 0, "compute", 2 * MS)))
        kernels = rank_summary.decode(ranks[2].tables["kernel_rows"]).to_pandas()
        steps = rank_summary.decode(ranks[2].tables["step_rows"]).to_pandas().assign(sm_clock_mhz=clock)
        more = {
            "kernel_rows": rank_summary.encode(kernels.assign(threads=kernels["threads"] * threads), "kernel_rows"),
            "step_rows": rank_summary.encode(steps, "step_rows"),
        }
        ranks[2] = replace(ranks[2], tables={**ranks[2].tables, **more})
        return work_out(ranks)[1]

    assert "has more work" in vary_kernels(2, 1980).headline
    slow = vary_kernels(1, 1200).headline
    assert "at 1,200 MHz against 1,980 MHz" in slow
    assert "Look at its clocks" not in slow
    assert "Look at its clocks" in vary_kernels(1, 1980).headline


def test_a_rank_without_collectives_is_named() -> None:
    ranks = list(vary(real(), 4, 20, Late(1, 0, "idle", 2 * MS)))
    nothing = rank_summary.encode(pd.DataFrame(), "operation_rows")
    ranks[3] = replace(ranks[3], tables={**ranks[3].tables, "operation_rows": nothing})
    _, known = work_out(ranks)
    assert known.straggler is not None
    assert known.straggler.rank == 1
    (finding,) = [one for one in known.findings if one.rule == "no_collectives"]
    assert finding.severity == "warning"
    assert finding.sentence.startswith("Rank 3 has no collectives")


def test_a_rank_that_ends_early_is_named() -> None:
    ranks = list(vary(real(), 4, 20))
    steps = rank_summary.decode(ranks[2].tables["step_rows"]).to_pandas()
    ranks[2] = replace(
        ranks[2], tables={**ranks[2].tables, "step_rows": rank_summary.encode(steps.head(12), "step_rows")}
    )
    finding = work_out(ranks)[1].findings[-1]
    assert (finding.rule, finding.severity) == ("out_of_step", "warning")
    assert finding.sentence.startswith("Rank 2 ends with step 11, the others with step 19")


def test_ranks_whose_steps_are_numbered_differently_are_named() -> None:
    """Numbered collectives show that one capture began two steps later than the others."""
    ranks = []
    for one in vary(real(), 4, 20):
        operations = rank_summary.decode(one.tables["operation_rows"]).to_pandas()
        operations["sequence"] = range(len(operations))
        if one.rank == 1:
            operations = operations[operations["step"] >= 2].assign(step=lambda rows: rows["step"] - 2)
        packed = rank_summary.encode(operations, "operation_rows")
        ranks.append(replace(one, tables={**one.tables, "operation_rows": packed}))
    (finding,) = [one for one in work_out(ranks)[1].findings if one.rule == "out_of_step"]
    assert "at the same collective rank 1 is 2 steps behind" in finding.sentence


def test_steps_from_other_sources_do_not_compare() -> None:
    ranks = [replace(one, told_by="kernels" if one.rank == 2 else "ranges") for one in vary(real(), 4, 20)]
    (finding,) = [one for one in work_out(ranks)[1].findings if one.rule == "out_of_step"]
    assert "rank 2 are found by repeating kernels" in finding.sentence


def test_stages_that_hardly_wait_are_a_pipeline_all_the_same() -> None:
    """With sends and receives alone, nothing can be matched, which is no defect of the reports."""
    _, known = work_out(stage(2, wait_ns=0))
    assert known.headline.startswith("The ranks are stages of a pipeline")
    _, waiting = work_out(stage(2, wait_ns=700_000))
    assert waiting.headline.startswith("Stages wait 1.40 ms per step")


def test_bubbles_of_a_pipeline_are_waits_of_transfers() -> None:
    _, known = work_out(stage(2, wait_ns=700_000))
    (finding,) = [one for one in known.findings if one.rule == "pipeline_bubbles"]
    assert finding.saving_ns == pytest.approx(1.4 * MS)
    assert "Rank 1 computes most, 7.00 ms per step, rank 0 least, 6.00 ms" in finding.sentence
    assert "pipeline_bubbles" not in {one.rule for one in work_out(stage(2, wait_ns=20_000))[1].findings}


@pytest.mark.parametrize(("factor", "is_uneven"), [(1.0, False), (3.0, True)])
def test_uneven_experts_are_told_by_the_sizes_of_exchanges(factor: float, is_uneven: bool) -> None:
    """Ranks of an exchange are matched although their sizes differ."""
    ranks = []
    for one in vary(real(), 4, 20):
        operations = rank_summary.decode(one.tables["operation_rows"]).to_pandas().assign(operation="AlltoAll")
        operations["bytes"] *= factor if one.rank == 2 else 1
        packed = rank_summary.encode(operations, "operation_rows")
        ranks.append(replace(one, tables={**one.tables, "operation_rows": packed}))
    _, known = work_out(ranks)
    assert known.is_matched
    found = [one for one in known.findings if one.rule == "expert_imbalance"]
    assert bool(found) == is_uneven
    if found:
        assert "2.00x the mean" in found[0].sentence  # 3 of 1 + 1 + 3 + 1
        assert "rank 2 has most, 480 MB against 160 MB of the median rank" in found[0].sentence


def test_readings_are_averaged_over_steps() -> None:
    at = np.array([0.0, 10.0, 20.0, 30.0])
    watts = np.array([100.0, 200.0, 200.0, 400.0])
    begin, end = np.array([0.0, 10.0, 5.0, 25.0]), np.array([10.0, 20.0, 15.0, 35.0])
    means = rank_summary.average_readings(at, watts, begin, end)
    assert means[:3].tolist() == [150, 200, 187.5]
    assert np.isnan(means[3]), "the log ends before the step"
    apart = rank_summary.average_readings(at * 1e9, watts, begin[:1] * 1e9, end[:1] * 1e9)
    assert np.isnan(apart).all(), "readings ten seconds apart tell nothing about the time between"


def test_memory_of_a_step_is_the_most_that_was_held() -> None:
    at, held = np.array([0.0, 5.0, 12.0, 14.0]), np.array([1.0, 4.0, 9.0, 2.0])
    begin, end = np.array([0.0, 10.0, 20.0]), np.array([10.0, 20.0, 30.0])
    assert rank_summary.find_most_held(at, held, begin, end).tolist() == [4, 9, 2]


@pytest.mark.parametrize("seed", slow_but([0], range(8), "more runs of 16 ranks"))
def test_an_even_run_has_no_straggler(seed: int) -> None:
    _, known = conclude(16, 60, None, seed)
    assert known.straggler is None
    assert "no rank holds the others up" in known.headline


def test_waits_are_those_of_arrivals() -> None:
    _, known = conclude(8, 20, Late(3, 0, "idle", 2 * MS))
    ranks = known.ranks.set_index("rank")
    assert ranks["wait_ns"].tolist()[3] < 0.05 * MS
    assert ranks["wait_ns"].drop(3).min() > 1.8 * MS
    assert ranks["idle_ns"].tolist()[3] == pytest.approx(3 * MS, rel=0.05)
    assert ranks["last"].tolist()[3] >= 20
    assert ranks[["power_w", "sm_clock_mhz", "memory_bytes"]].drop_duplicates().values.tolist() == [[600, 1980, 2e10]]
    (row,) = known.communicators.to_dict("records")
    assert (row["operation"], row["ranks"], row["count"]) == ("AllReduce", 8, 40)


def test_clocks_follow_offset_and_drift() -> None:
    at = np.arange(0, 10_000 * MS, 100 * MS, dtype=float)
    drift, offset = 15e-6, 7e9
    rows = [
        pd.DataFrame({"rank": number, "key": range(len(at)), "start_ns": at + shift + slope * at, "duration_ns": MS})
        for number, (shift, slope) in enumerate(((0, 0), (0, 0), (offset, drift)))
    ]
    first, _, third = clocks.align(pd.concat(rows, ignore_index=True))
    assert (first.offset_ns, first.drift_ppm) == (0, 0)
    assert third.offset_ns == pytest.approx(offset, abs=20_000)
    assert third.drift_ppm == pytest.approx(15, rel=0.01)
    assert third.uncertainty_ns < 1_000


def test_few_collectives_tell_no_clock() -> None:
    rows = pd.DataFrame({"rank": [0, 1], "key": [0, 0], "start_ns": [0, 5], "duration_ns": [1, 1]})
    assert clocks.align(rows) == []


def test_ranks_without_collectives_say_so() -> None:
    ranks = [
        replace(one, tables={**one.tables, "operation_rows": rank_summary.encode(pd.DataFrame(), "operation_rows")})
        for one in vary(real(), 4, 10)
    ]
    _, known = work_out(ranks)
    assert (known.is_matched, known.straggler, known.clocks) == (False, None, ())
    assert known.ranks["step_ns"].notna().all()
    assert known.ranks["wait_ns"].isna().all()
    assert "wait_ns" not in known.heat
    assert "no collective of NCCL" in known.headline


def test_damaged_tables_of_a_rank_leave_the_others() -> None:
    ranks = list(vary(real(), 4, 10))
    (run,) = run_list.list_runs(ranks)
    content = {(one.report_id, 0): dict(one.tables) for one in ranks}
    content[ranks[1].report_id, 0] = {
        "step_rows": b"no table",
        "operation_rows": ranks[1].tables["operation_rows"][:50],
    }
    known = run_answer.answer(run_tables.join_tables(run, content))
    assert known.ranks["step_ns"].notna().tolist() == [True, False, True, True]
    (finding,) = [one for one in known.findings if one.severity == "warning"]
    assert finding.sentence.startswith("Rank 1 has a report without figures")


def test_tables_are_bounded() -> None:
    steps = pd.DataFrame({"step": range(5_000), "start_ns": 0.0, "duration_ns": 1.0})
    assert rank_summary.decode(rank_summary.encode(steps, "step_rows")).num_rows == rank_summary.MOST["step_rows"]
    long = pd.DataFrame({"name": ["x" * 10_000], "class": ["y"], "calls": [1], "total_ns": [1.0]})
    assert len(rank_summary.decode(rank_summary.encode(long, "kernel_rows"))["name"][0].as_py()) <= 160


def test_many_steps_are_drawn_as_their_longest() -> None:
    values = np.arange(12, dtype=float).reshape(2, 6)
    values[0, 5] = np.nan
    assert run_answer.shrink(values, 4).tolist() == [[3, 4], [9, 11]]


def test_the_heat_map_has_power_where_a_log_covers_the_steps() -> None:
    def log(one: RankSummary, watts: float | list[float]) -> RankSummary:
        steps = rank_summary.decode(one.tables["step_rows"]).to_pandas().assign(power_w=watts)
        return replace(one, tables={**one.tables, "step_rows": rank_summary.encode(steps, "step_rows")})

    ranks = [log(one, np.nan) for one in vary(real(), 3, 4)]
    assert "power_w" not in work_out(ranks)[1].heat
    known = work_out([ranks[0], log(ranks[1], [300, 310, 320, np.nan]), ranks[2]])[1]
    assert np.nan_to_num(known.heat["power_w"], nan=-1).tolist() == [[-1] * 4, [300, 310, 320, -1], [-1] * 4]
    assert known.starts.shape == known.heat["duration_ns"].shape == (3, 4)


def test_a_communicator_has_the_machines_of_its_ranks() -> None:
    ranks = list(vary(real(), 12, 4))  # eight on each machine
    assert set(work_out(ranks)[1].communicators["nodes"]) == {2}
    assert set(work_out([replace(one, host="one") for one in ranks])[1].communicators["nodes"]) == {1}
    unknown = [replace(one, host="") if one.rank == 3 else one for one in ranks]
    assert work_out(unknown)[1].communicators["nodes"].isna().all()


def test_names_of_machines_are_quoted() -> None:
    ranks = [replace(one, host=f"**<b>{one.rank}") for one in vary(real(), 8, 60, Late(5, 0, "compute", 4_000_000))]
    said = work_out(ranks)[1].headline
    assert "Rank 5" in said
    assert "**" not in said.replace(r"\*\*", "")
    assert "<b>" not in said.replace(r"\<b\>", "").replace(r"\<b>", "")


def test_matched_collectives_are_those_of_scaling() -> None:
    """One definition of a wait: that of the Scaling page."""
    ranks = list(vary(real(), 3, 4))
    (run,) = run_list.list_runs(ranks)
    tables = run_tables.join_tables(run, {(one.report_id, 0): one.tables for one in ranks})
    assert tables.matches["wait_ns"].sum() == nccl.match_rows(tables.operations, whole=True)["wait_ns"].sum() > 0
