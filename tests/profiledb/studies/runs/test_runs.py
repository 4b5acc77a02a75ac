"""Runs by hand: which ranks belong together, whose clock differs, who is late, since when and why."""

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

MS = 1_000_000
HOUR_NS = 3_600_000_000_000


def rank(number: int, run: str = "job", **more: object) -> RankSummary:
    """A rank whose name tells it, without tables."""
    return replace(
        RankSummary(
            f"{run}{number}", 0, number, None, run, True, "", None, "", "H100", None, None, "ranges", 4, 10.0 * MS
        ),
        **more,  # type: ignore[arg-type]
    )


def real() -> RankSummary:
    """A rank of two steps of 10 ms: 6 ms of compute, 1 ms of copies, 1 ms idle, two collectives of 1 ms each."""
    parts = {"compute_ns": 6 * MS, "exposed_ns": 2 * MS, "copy_ns": MS, "idle_ns": MS, "hidden_ns": 0}
    steps = pd.DataFrame([{"step": n, "start_ns": 10 * MS * n, "duration_ns": 10 * MS, **parts} for n in (0, 1)])
    operations = pd.DataFrame(
        [
            {
                "step": n,
                "operation": "AllReduce",
                "bytes": 4e6,
                "communicator": "7",
                "start_ns": 10 * MS * n + at,
                "duration_ns": MS,
            }
            for n in (0, 1)
            for at in (7 * MS, 9 * MS)
        ]
    )
    kernels = pd.DataFrame(
        [("gemm", "matmul", 20, 10 * MS), ("add", "elementwise", 40, 2 * MS), ("nccl", "communication", 4, 4 * MS)],
        columns=list(rank_summary.KERNELS),
    )
    idle = pd.DataFrame([("host code", 2 * MS, None, "forward")], columns=list(rank_summary.IDLE))
    rows = {"step_rows": steps, "operation_rows": operations, "kernel_rows": kernels, "idle_rows": idle}
    return rank(0, steps=2, tables={name: rank_summary.encode(frame, name) for name, frame in rows.items()})


def conclude(size: int, steps: int, late: Late | None, seed: int = 0) -> tuple[Run, RunAnswer]:
    ranks = list(vary(real(), size, steps, late, seed))
    (run,) = run_list.list_runs(ranks)
    tables = run_tables.join_tables(run, {(one.report_id, one.lane): one.tables for one in ranks})
    return run, run_answer.answer(tables)


def test_ranks_of_a_name_are_one_run_and_missing_ones_are_named() -> None:
    (run,) = run_list.list_runs([rank(3, size=6), rank(0, size=6), rank(2, size=6)])
    assert (run.name, run.told_by, run.size) == ("job", "name", 6)
    assert [one.rank for one in run.ranks] == [0, 2, 3]
    assert run.missing == [1, 4, 5]
    assert "3 of 6 ranks have no report: 1, 4, 5" in sentences.state_gaps(run)[0]


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
    assert "1 report left out, a further one of the rank: rank 1." in sentences.state_gaps(run)


def test_clocks_hours_apart_do_not_split_a_run() -> None:
    apart = [rank(n, begin_ns=n * HOUR_NS, end_ns=n * HOUR_NS + 10) for n in range(3)]
    assert [len(run.ranks) for run in run_list.list_runs(apart)] == [3]


def test_ranks_before_a_restart_are_left_out() -> None:
    before = [rank(n, run_id="x", restarts=0) for n in (0, 1)]
    after = [rank(n, report_id=f"after{n}", run_id="x", restarts=1) for n in (0, 1)]
    (run,) = run_list.list_runs([*before, *after])
    assert (run.reports, len(run.doubled), run.restarts) == (["after0", "after1"], 2, 1)
    assert "restart" in sentences.state_gaps(run)[0]


def test_traces_join_by_the_time_of_their_captures() -> None:
    unnamed = [rank(n, f"trace{n}", is_named=False, size=2, begin_ns=5, end_ns=10 + n) for n in (0, 1)]
    (run,) = run_list.list_runs(unnamed)
    assert (run.name, run.told_by, [one.rank for one in run.ranks]) == ("trace0", "time", [0, 1])


@pytest.mark.parametrize(
    ("late", "cause", "says"),
    [
        (Late(5, 0, "idle", 2 * MS), "idle", "host code in `load_batch`"),
        (Late(2, 30, "idle", 2 * MS), "idle", "from step 30 on"),
        (Late(7, 20, "compute", 2 * MS), "compute", "clocks, power and temperature"),
        (Late(1, 12, "copy", 2 * MS), "copy", "copies"),
    ],
)
def test_the_late_rank_is_named_with_its_step_and_its_cause(late: Late, cause: str, says: str) -> None:
    run, known = conclude(16, 60, late)
    found = known.straggler
    assert found is not None
    assert (found.rank, found.since or 0, found.cause) == (late.rank, late.since, cause)
    assert found.late_ns == pytest.approx(late.ns, rel=0.05)
    assert says in sentences.state_straggler(found, run, is_matched=True)


@pytest.mark.parametrize("seed", range(8))
def test_an_even_run_has_no_straggler(seed: int) -> None:
    run, known = conclude(16, 60, None, seed)
    assert known.straggler is None
    assert "no rank holds the others up" in sentences.state_straggler(None, run, is_matched=known.is_matched)


def test_waits_are_those_of_arrivals() -> None:
    _, known = conclude(8, 20, Late(3, 0, "idle", 2 * MS))
    ranks = known.ranks.set_index("rank")
    assert ranks["wait_ns"].tolist()[3] < 0.05 * MS
    assert ranks["wait_ns"].drop(3).min() > 1.8 * MS
    assert ranks["idle_ns"].tolist()[3] == pytest.approx(3 * MS, rel=0.05)
    assert ranks["last"].tolist()[3] >= 20
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
    (run,) = run_list.list_runs(ranks)
    known = run_answer.answer(run_tables.join_tables(run, {(one.report_id, 0): one.tables for one in ranks}))
    assert (known.is_matched, known.straggler, known.clocks) == (False, None, ())
    assert known.ranks["step_ns"].notna().all()
    assert known.ranks["wait_ns"].isna().all()
    assert np.isnan(known.heat["wait_ns"]).all()
    assert "cannot be told" in sentences.state_straggler(None, run, is_matched=False)


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


def test_tables_are_bounded() -> None:
    steps = pd.DataFrame({"step": range(5_000), "start_ns": 0.0, "duration_ns": 1.0})
    assert rank_summary.decode(rank_summary.encode(steps, "step_rows")).num_rows == rank_summary.MOST["step_rows"]
    long = pd.DataFrame({"name": ["x" * 10_000], "class": ["y"], "calls": [1], "total_ns": [1.0]})
    assert len(rank_summary.decode(rank_summary.encode(long, "kernel_rows"))["name"][0].as_py()) <= 160


def test_many_steps_are_drawn_as_their_longest() -> None:
    values = np.arange(12, dtype=float).reshape(2, 6)
    values[0, 5] = np.nan
    assert run_answer.shrink(values, 4).tolist() == [[3, 4], [9, 11]]


def test_matched_collectives_are_those_of_scaling() -> None:
    """One definition of a wait: that of the Scaling page."""
    ranks = list(vary(real(), 3, 4))
    (run,) = run_list.list_runs(ranks)
    tables = run_tables.join_tables(run, {(one.report_id, 0): one.tables for one in ranks})
    assert tables.matches["wait_ns"].sum() == nccl.match_rows(tables.operations, whole=True)["wait_ns"].sum() > 0
