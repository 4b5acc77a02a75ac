"""Runs that scale in a sentence or two, computed from their rows; plain text with untrusted names in it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.studies.scaling import nccl
from profiledb.studies.scaling import runs as scaling
from profiledb.studies.scaling.runs import Run

_CAUSES = {
    "lost_compute_ns": "compute that did not scale with the ranks",
    "lost_exposed_ns": "exposed communication",
    "lost_copy_ns": "copies",
    "lost_idle_ns": "an idle GPU",
}
_WEAK = _CAUSES | {"lost_compute_ns": "longer compute"}
NO_SIZES = "These reports do not have NCCL message sizes, so there are no bandwidths."
SIZES = (
    f"{NO_SIZES} NCCL records them in its NVTX ranges: capture with --trace=cuda,nvtx, and export with nsys 2024 or"
    " newer and --include-blobs=true. If this machine has such an nsys, drop the .nsys-rep again."
)


def state_efficiency(rows: pd.DataFrame) -> str:
    """State the best and the worst of the largest runs, and the losses of the worst; "" if no run has a base."""
    known = rows[rows["efficiency_pct"].notna()]
    if known.empty:
        return ""
    largest = known[known["ranks"] == known["ranks"].max()].sort_values("efficiency_pct", ascending=False)
    runs = ", ".join(
        f"{row['run']} {_format_percent(row['efficiency_pct'])} ({row['scaling']})" for _, row in largest.iterrows()
    )
    ranks = int(largest["ranks"].iloc[0])
    text = f"Efficiency on {ranks} ranks: {runs}." if len(largest) < 5 else f"On {ranks} ranks: {len(largest)} runs."
    return f"{text} {state_losses(largest.iloc[-1])}".strip()


def state_losses(row: "pd.Series[Any]") -> str:
    """State the parts by which a run's step exceeds the ideal one, largest first; "" for none."""
    over = float(row["lost_ns"])
    if over <= 0:
        return f"Steps of {row['run']} take no longer than ideal, relative to {row['base']}."
    causes = _WEAK if row["scaling"] == "weak" else _CAUSES
    losses = sorted(((float(row[name]), cause) for name, cause in causes.items()), reverse=True)
    longer = ", ".join(f"{words.duration(ns)} {cause}" for ns, cause in losses if ns > 0.02 * over)
    saved = ", ".join(f"{words.duration(-ns)} less {_name_cause(cause)}" for ns, cause in losses if ns < -0.02 * over)
    less = f", and {saved}" if saved else ""
    return (
        f"Steps of {row['run']} take {words.duration(over)} longer than ideal, relative to {row['base']}:"
        f" {longer}{less}."
    )


def _name_cause(cause: str) -> str:
    return {"an idle GPU": "idle time", "longer compute": "compute"}.get(cause, cause)


def state_parts(run: Run) -> str:
    """State the parts of a run's step, or without steps of the time from its first to its last kernel."""
    shares = {
        name: _format_percent(100 * run.part(name) / run.step_ns) if run.step_ns else "–" for name in scaling.PARTS
    }
    what = f"Steps of {run.name} take {words.duration(run.step_ns)}"
    if not run.comparable and any(rank.told_by != "nothing" for rank in run.ranks):
        return f"{run.name}: not every rank has steps, so there are no times per step."
    if not run.comparable:
        what = f"{run.name}: no steps were found. From first to last kernel it takes {words.duration(run.step_ns)}"
    return (
        f"{what}: compute {shares['compute_ns']}, exposed communication {shares['exposed_ns']}, memcpy"
        f" {shares['copy_ns']}, idle {shares['idle_ns']}."
    )


def state_waits(run: Run, rows: pd.DataFrame) -> str:
    """State who waits for whom in a run; "" if nothing could be matched."""
    if rows.empty:
        return ""
    mean = float(rows["wait_step_ns"].mean())
    share = f"{words.duration(mean)} per step on average ({_format_percent(100 * mean / run.step_ns)})"
    last = nccl.find_last(run, rows)
    if last is None:
        return f"Ranks of {run.name} wait {share}; no rank is the last one throughout.{_state_error(run)}"
    own = rows[rows["rank"] == last].iloc[0]
    return (
        f"Rank {last} of {run.name} is the last to arrive at {int(own['last'])} of {int(own['matched'])} NCCL"
        f" operations. Ranks wait {share}; the page Run says what that costs.{_state_error(run)}"
    )


def _state_error(run: Run) -> str:
    """State the error of a single wait, with a leading space; "" with too few operations."""
    apart = nccl.estimate_uncertainty(run)
    if apart is None:
        return ""
    return f" Each wait is accurate to {words.duration(apart)}: that far apart the aligned ranks see an operation end."


def state_gaps(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each run without all ranks, or without steps from ranges."""
    sentences = []
    for run in runs:
        if not run.whole:
            sentences.append(
                f"{run.name}: reports of {len(run.ranks)} of {run.size} ranks. Means cover these ranks, and the"
                " transfer time is the shortest among them, so waits are lower bounds."
            )
        if run.told_by == "kernels":
            sentences.append(f"{run.name}: no ranges show its steps; they are guessed from kernels.")
        if run.told_by == "nothing":
            sentences.append(
                f"{run.name}: no steps found, so it has no efficiency. Put ranges called step_0, step_1, ..."
                " around them."
            )
    return sentences


def state_kinds(runs: Sequence[Run], assumed: str) -> list[str]:
    """Return a sentence for each run whose kind of scaling its program does not tell, with the evidence for it."""
    bases = [(run, base) for run in runs if (base := scaling.find_base(run, runs, assumed))]
    classified = [(run, base, scaling.classify_scaling(run, base, assumed)) for run, base in bases]
    sentences = [
        _describe_work(run, base, one.kind) for run, base, one in classified if one.told_by == "work" and run.items
    ]
    names = ", ".join(run.name for run, _, one in classified if one.told_by == "nothing")
    if names:
        other = "weak" if assumed == "strong" else "strong"
        sentences.append(
            f"Assuming {assumed} scaling for {names}: neither the program nor the items per step (items_per_step"
            f" in NAME.meta.json) say. If it is {other}, choose {other} (--scaling {other})."
        )
    return sentences


def _describe_work(run: Run, base: Run, kind: str) -> str:
    number, unit = run.items or (0.0, "items")
    if kind == "weak":
        return f"{run.name} is weak scaling: each rank has {number:,.10g} {unit} per step, as in {base.name}."
    every = f"{number * run.size:,.10g} {unit}"
    return f"{run.name} is strong scaling: its ranks share {every} per step, as many as in {base.name}."


def _format_percent(value: Any) -> str:
    return words.percent(float(value))
