"""The totals of a comparison: how much each side ran, how busy its GPUs were, and what a step took."""

from typing import Any

import pandas as pd

from profiledb.studies.compare.matching import Side

MEASURES = {
    "window_ns": "ns",
    "steps": "count",
    "step_ns": "ns",
    "kernel_ns": "ns",
    "kernel_ns_per_step": "ns",
    "launches": "count",
    "launches_per_step": "count",
    "kernels": "count",
    "busy_ns": "ns",
    "busy_pct": "%",
    "idle_ns": "ns",
    "copies": "count",
    "copy_ns": "ns",
    "copy_bytes": "bytes",
}
"""What is compared, with its unit. ``window_ns`` is the time that the selection covers, ``step_ns`` the median step on
the host; ``busy_ns`` and ``idle_ns`` add up over the GPUs that worked, ``busy_pct`` is their mean."""


def summary(a: Side, b: Side) -> pd.DataFrame:
    """A row a measure of either side (``compare_columns.SUMMARY``); missing where the report does not tell."""
    sides = (_measures(a), _measures(b))
    rows = pd.DataFrame({"measure": list(MEASURES), "unit": list(MEASURES.values())})
    for letter, found in zip("ab", sides, strict=True):
        rows[letter] = pd.array([found.get(name) for name in MEASURES], dtype="Float64")
    rows["change"] = rows["b"] - rows["a"]
    rows["change_pct"] = 100 * rows["change"] / rows["a"].where(rows["a"] > 0)
    return rows[rows["a"].notna() | rows["b"].notna()].reset_index(drop=True)


def _measures(side: Side) -> dict[str, float | None]:
    steps, launches = side.steps, None
    found: dict[str, float | None] = {}
    if len(side.kernel_totals):
        launches = int(side.kernel_totals["calls"].sum())
        found |= {"kernel_ns": side.kernel_ns, "launches": launches, "kernels": len(side.kernel_totals)}
    if steps:
        found |= {"steps": steps, "step_ns": _known(side.iteration_summary["median_ns"].iloc[0])}
        if launches is not None:
            found |= {"kernel_ns_per_step": side.kernel_ns / steps, "launches_per_step": launches / steps}
    return found | _busy(side) | _copies(side)


def _busy(side: Side) -> dict[str, float | None]:
    if side.gpu_busy.empty:
        return {}
    rows = side.gpu_busy[side.gpu_busy["operations"] > 0]
    window = _known(side.gpu_busy["capture_ns"].max())
    if rows.empty or not window:
        return {"window_ns": window}
    busy = float(rows["busy_ns"].sum())
    idle = float((window - rows["busy_ns"]).clip(lower=0).sum())
    return {"window_ns": window, "busy_ns": busy, "busy_pct": float(rows["busy_pct"].mean()), "idle_ns": idle}


def _copies(side: Side) -> dict[str, float | None]:
    if side.copies.empty:
        return {}
    sums = side.copies[["count", "total_ns", "bytes"]].sum()
    return {"copies": int(sums["count"]), "copy_ns": int(sums["total_ns"]), "copy_bytes": int(sums["bytes"])}


def _known(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
