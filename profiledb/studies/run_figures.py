"""Figures of a run, means over its ranks and steps, by which runs of one job compare."""

from collections.abc import Mapping

from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.trends.measures import MEASURES, Measure

RUN_MEASURES = {
    one.name: one
    for one in (
        MEASURES["wall_ns"],
        Measure("compute_ns", "Compute", "ns"),
        Measure("exposed_ns", "Exposed communication", "ns"),
        Measure("held_ns", "Lost to waits for ranks", "ns"),
        Measure("late_ns", "Lost to a straggler", "ns"),
        MEASURES["idle_ns"],
        MEASURES["copy_ns"],
        MEASURES["findings"],
    )
}
"""Figures of a run; times are per step."""
_OF_RANKS = {"wall_ns": "step_ns", "compute_ns": "compute_ns", "exposed_ns": "exposed_ns", "idle_ns": "idle_ns",
             "copy_ns": "copy_ns"}  # fmt: skip


def measure_run(known: RunAnswer) -> Mapping[str, float]:
    """Return the figures of ``RUN_MEASURES`` that are known; waits only if collectives could be matched."""
    figures = {
        name: float(known.ranks[column].mean())
        for name, column in _OF_RANKS.items()
        if known.ranks[column].notna().any()
    }
    if known.is_matched:
        figures |= {"held_ns": known.held_ns, "late_ns": known.straggler.late_ns if known.straggler else 0.0}
    return figures | {"findings": float(sum(one.saving_ns is not None for one in known.findings))}
