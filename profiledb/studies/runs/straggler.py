"""Find the rank for which the others wait, since when, and why.

In a collective, everybody waits for the last rank to arrive. A rank is late in a step by the median wait of all ranks
minus its own wait. The straggler is the rank that is late most over the steps, if it is clearly so; its cause is the
part of its steps that is longer than in the median rank.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from profiledb.studies.runs.run_tables import Matrix, RunTables
from profiledb.studies.scaling import nccl

PARTS = ("compute_ns", "copy_ns", "idle_ns")
"""Parts of a step in which a rank is late by itself; exposed communication is waiting."""
EXPLAINS = 0.5
"""Share of the lateness that a part explains if it is the cause."""
EQUAL = 0.02
"""Difference of launches between ranks up to which they do equal work."""
FEWEST = 3
"""Steps on each side of a change that tell since when a rank is late."""


@dataclass(frozen=True)
class Straggler:
    """The rank for which the others wait.

    Args:
        rank: its number.
        late_ns: how late it is per step, mean over the steps from ``since``, ns.
        step_ns: mean step time of the run, ns.
        since: first step in which it is late; None if it is from the first one.
        cause: ``compute``, ``work`` (more launches), ``copy``, ``idle``, or ``unknown``.
        cause_ns: how much longer this part of its steps is than in the median rank, ns per step.
        kernel: of ``compute`` and ``work`` the kernel with the largest difference; else "".
        slower: of ``compute``, its kernel time over that of the median rank, at equal launches.
        idle: of ``idle``, the CPU activity with the largest difference; else "".
        place: range or function in which that idle time lies; "" if unknown.
        host: name of its machine; "" if unknown.
    """

    rank: int
    late_ns: float
    step_ns: float
    since: int | None
    cause: str
    cause_ns: float
    kernel: str = ""
    slower: float | None = None
    idle: str = ""
    place: str = ""
    host: str = ""

    @property
    def share(self) -> float:
        """Lateness as a part of the step."""
        return self.late_ns / self.step_ns if self.step_ns else 0.0


def find_straggler(tables: RunTables) -> Straggler | None:
    """Return the straggler of a run; None if the ranks arrive about together, or no collective could be matched."""
    waits = tables.matrix("wait_ns")
    known = ~np.isnan(waits).all(axis=0)
    if len(waits) < 2 or not known.any():
        return None
    steps = np.array(tables.step_numbers)[known]
    waits = waits[:, known]
    late = np.nanmedian(waits, axis=0) - waits
    row, at = _find_latest(late)
    mean = average(late[:, at:])
    order = np.argsort(mean)
    step_ns = float(np.nanmean(tables.matrix("duration_ns")[:, known][:, at:]))
    lead = float(mean[row])
    if not nccl.is_clear(lead, lead, float(mean[order[-2]]), step_ns):
        return None
    columns = np.flatnonzero(known)[at:]
    one = tables.run.ranks[row]
    return _explain_delay(tables, row, columns, lead, step_ns, int(steps[at]) if at else None, one.host)


def average(values: Matrix) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the mean of each row without missing values; 0 for a row that has no other."""
    known = np.maximum(1, (~np.isnan(values)).sum(axis=1))
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = np.nansum(values, axis=1) / known
    return means


def _find_latest(late: Matrix) -> tuple[int, int]:
    """Return the row that is late most, and the column from which on it is: the clearest step up of its lateness."""
    filled = np.nan_to_num(late)
    steps = filled.shape[1]
    best, place = filled.mean(axis=1).max(initial=0.0), (int(filled.mean(axis=1).argmax()), 0)
    if steps < 2 * FEWEST:
        return place
    sums = np.concatenate([np.zeros((len(filled), 1)), filled.cumsum(axis=1)], axis=1)
    at = np.arange(FEWEST, steps - FEWEST + 1)
    before = sums[:, at] / at
    after = (sums[:, -1:] - sums[:, at]) / (steps - at)
    rise = (after - np.maximum(before, 0)) * np.sqrt(at * (steps - at)) / steps
    row, index = np.unravel_index(int(rise.argmax()), rise.shape)
    is_step_up = before[row, index] < after[row, index] / nccl.AHEAD
    return (int(row), int(at[index])) if is_step_up and after[row, index] > best else place


def _explain_delay(
    tables: RunTables, row: int, columns: "np.ndarray[tuple[int], np.dtype[np.int64]]", late_ns: float, step_ns: float,
    since: int | None, host: str,
) -> Straggler:  # fmt: skip
    others = np.arange(len(tables.numbers)) != row
    longer = {}
    for part in PARTS:
        values = average(tables.matrix(part)[:, columns])
        longer[part] = float(values[row] - np.nanmedian(values[others]))
    part, ns = max(longer.items(), key=lambda item: item[1])
    rank = tables.numbers[row]
    told = Straggler(rank, late_ns, step_ns, since, cause="unknown", cause_ns=max(ns, 0.0), host=host)
    if ns < EXPLAINS * late_ns:
        return told
    if part == "compute_ns":
        kernel, slower = _compare_kernels(tables, rank)
        return replace(told, cause="work" if slower is None else "compute", kernel=kernel, slower=slower)
    if part == "idle_ns":
        idle, place = _compare_idle(tables, rank)
        return replace(told, cause="idle", idle=idle, place=place)
    return replace(told, cause="copy")


def _divide_by_steps(tables: RunTables, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return rows.assign(**{column: rows[column] / rows["rank"].map(tables.step_count) for column in columns})


def _compare_kernels(tables: RunTables, rank: int) -> tuple[str, float | None]:
    """Return the kernel whose time per step differs most, and kernel time over the median rank's at equal launches."""
    rows = _divide_by_steps(tables, tables.kernels, ["calls", "total_ns"])
    rows = rows[rows["class"] != "communication"]
    mine, others = rows[rows["rank"] == rank], rows[rows["rank"] != rank]
    if mine.empty or others.empty:
        return "", None
    apart = mine.groupby("name")["total_ns"].sum().sub(
        others.groupby(["name", "rank"])["total_ns"].sum().groupby("name").median(), fill_value=0
    )  # fmt: skip
    calls, total = mine["calls"].sum(), mine["total_ns"].sum()
    usual = others.groupby("rank")[["calls", "total_ns"]].sum().median()
    is_equal = abs(calls - usual["calls"]) <= EQUAL * usual["calls"]
    return str(apart.idxmax()), float(total / usual["total_ns"]) if is_equal and usual["total_ns"] else None


def _compare_idle(tables: RunTables, rank: int) -> tuple[str, str]:
    """Return the CPU activity whose idle time per step differs most, and where the rank spends it."""
    rows = _divide_by_steps(tables, tables.idle, ["idle_ns"])
    mine = rows[rows["rank"] == rank]
    if mine.empty:
        return "", ""
    usual = rows[rows["rank"] != rank].groupby("reason")["idle_ns"].median()
    apart = mine["idle_ns"].to_numpy() - mine["reason"].map(usual).fillna(0).to_numpy(dtype=float)
    row = mine.iloc[int(apart.argmax())]
    reason = row["reason"]
    places = (row["range"], row["function"])
    return str(reason), next((str(place) for place in places if isinstance(place, str) and place), "")
