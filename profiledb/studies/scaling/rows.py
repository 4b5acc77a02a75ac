"""The rows of runs that scale: steps, efficiency, and the parts of the loss."""

from collections.abc import Sequence

import pandas as pd

from profiledb.query.header import Column
from profiledb.studies.scaling import runs as scaling
from profiledb.studies.scaling.runs import PARTS, Run

NS_PER_S = 1e9
RUNS = (
    Column("run", "text", "", "name of its reports without the rank"),
    Column(
        "scaling",
        "text",
        "",
        "strong: the ranks divide one piece of work; weak: every rank has the same work; empty for a base",
    ),
    Column("ranks", "count", "", "ranks in the run"),
    Column("seen", "count", "", "ranks with a report"),
    Column("steps", "count", "", "steps per rank behind the means"),
    Column("step_ns", "ns", ".0f", "step time, mean over steps and ranks"),
    Column("slowest_ns", "ns", ".0f", "mean step time of the slowest rank", "Slowest rank"),
    Column("compute_ns", "ns", ".0f", "per step: non-communication kernels"),
    Column("exposed_ns", "ns", ".0f", "per step: communication without compute"),
    Column("copy_ns", "ns", ".0f", "per step: memcpy or memset without kernels", "Memcpy"),
    Column("idle_ns", "ns", ".0f", "per step: nothing ran"),
    Column("hidden_ns", "ns", ".0f", "communication that overlaps compute; part of the compute time"),
    Column("items_per_s", "1/s", ".0f", "over all ranks, as the program counts them", "Items/s"),
    Column("items", "text", "", "what the items are"),
    Column("base", "text", "", "run that it is compared with: the one with the fewest ranks, N₀"),
    Column("speedup", "x", ".3f", "T(N₀) ÷ T(N) for the step time T; for weak scaling N ÷ N₀ times that", "Speed-up"),
    Column("ideal", "x", ".3f", "N ÷ N₀"),
    Column("efficiency_pct", "%", ".1f", "strong: N₀ T(N₀) ÷ (N T(N)); weak: T(N₀) ÷ T(N)"),
    Column("lost_ns", "ns", ".0f", "step time minus the ideal: strong N₀ T(N₀) ÷ N, weak T(N₀)"),
    Column("lost_compute_ns", "ns", ".0f", "part of lost_ns: compute beyond the ideal"),
    Column("lost_exposed_ns", "ns", ".0f", "part of lost_ns: exposed communication"),
    Column("lost_copy_ns", "ns", ".0f", "part of lost_ns: memcpy"),
    Column("lost_idle_ns", "ns", ".0f", "part of lost_ns: idle"),
)
"""Columns of ``runs``. Unknown values are missing."""


def run_rows(gathered: Sequence[Run], assumed: str = "strong") -> pd.DataFrame:
    """Return one row per run, in the order given; ``assumed`` is the kind of scaling if nothing tells."""
    rows = [_make_row(run, scaling.find_base(run, gathered, assumed), assumed) for run in gathered]
    frame = pd.DataFrame(rows, columns=[column.name for column in RUNS])
    texts = {column.name for column in RUNS if column.unit == "text"}
    whole = {column.name for column in RUNS if column.unit == "count"}
    kinds = {name: "Int64" if name in whole else "Float64" for name in frame.columns if name not in texts}
    return frame.astype(kinds)


def _make_row(run: Run, base: Run | None, assumed: str) -> dict[str, object]:
    row: dict[str, object] = {
        "run": run.name,
        "scaling": run.scaling if run.size > 1 else "",
        "ranks": run.size,
        "seen": len(run.ranks),
        "steps": min(rank.steps for rank in run.ranks),
    }
    if run.comparable:
        row |= {"step_ns": run.step_ns, "slowest_ns": run.slowest.step_ns}
        row |= {name: run.part(name) for name in (*PARTS, "hidden_ns")}
        if run.total_items is not None and run.items is not None:
            row |= {"items_per_s": run.total_items / run.step_ns * NS_PER_S, "items": run.items[1]}
    if base is None:
        return row
    kind = scaling.classify_scaling(run, base, assumed).kind
    share = base.size / run.size if kind == "strong" else 1.0
    row |= {
        "scaling": kind,
        "base": base.name,
        "speedup": base.step_ns / run.step_ns * (1 if kind == "strong" else run.size / base.size),
        "ideal": run.size / base.size,
        "efficiency_pct": 100 * share * base.step_ns / run.step_ns,
        "lost_ns": run.step_ns - share * base.step_ns,
    }
    return row | {f"lost_{name}": run.part(name) - share * base.part(name) for name in PARTS}
