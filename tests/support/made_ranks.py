"""Ranks of a run by hand: names alone, or two steps of known parts."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from bench.runs import vary
from profiledb.studies.runs import rank_summary, run_answer, run_list, run_tables
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_list import Run

MS = 1_000_000


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
    readings = {"sm_clock_mhz": 1980.0, "power_w": 600.0, "memory_bytes": 2e10}
    steps = pd.DataFrame(
        [{"step": n, "start_ns": 10 * MS * n, "duration_ns": 10 * MS, **parts, **readings} for n in (0, 1)]
    )
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
        [
            ("gemm", "matmul", 20, 10 * MS, 2e6),
            ("add", "elementwise", 40, 2 * MS, 4e6),
            ("nccl", "communication", 4, 4 * MS, 1e4),
        ],
        columns=list(rank_summary.KERNELS),
    )
    idle = pd.DataFrame([("host code", 2 * MS, None, "forward")], columns=list(rank_summary.IDLE))
    rows = {"step_rows": steps, "operation_rows": operations, "kernel_rows": kernels, "idle_rows": idle}
    return rank(0, steps=2, tables={name: rank_summary.encode(frame, name) for name, frame in rows.items()})


def work_out(ranks: Sequence[RankSummary]) -> tuple[Run, RunAnswer]:
    (run,) = run_list.list_runs(ranks)
    tables = run_tables.join_tables(run, {(one.report_id, one.lane): one.tables for one in ranks})
    return run, run_answer.answer(tables)


def stage(ranks: int, *, wait_ns: int) -> list[RankSummary]:
    """Ranks of a pipeline: each receives and sends in every step, and waits ``wait_ns`` in every second transfer."""
    stages = []
    for one in vary(real(), ranks, 20):
        operations = pd.DataFrame(
            [
                {"step": step, "operation": "SendRecv", "bytes": 1e6, "calls": 1, "start_ns": 1e7 * step + 1e6 * n,
                 "duration_ns": 20_000 + wait_ns * (n % 2)}
                for step in range(20) for n in range(4)
            ]
        )  # fmt: skip
        steps = rank_summary.decode(one.tables["step_rows"]).to_pandas()
        steps["compute_ns"] += MS * (one.rank or 0)
        tables = {
            **one.tables,
            "operation_rows": rank_summary.encode(operations, "operation_rows"),
            "step_rows": rank_summary.encode(steps, "step_rows"),
        }
        stages.append(replace(one, tables=tables))
    return stages
