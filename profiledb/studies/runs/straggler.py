"""Find the rank, or the machine, for which the others wait, since when, and why.

In a collective, everybody waits for the last rank to arrive. A rank is late in a step by the median wait of the others
minus its own wait. Of a wait only as much counts as is exposed, because compute hides the rest, and as the CPU of the
waiting rank does not need for the step itself (``RunTables.held``). The straggler is the rank that is late most over
the steps, if it is clearly so; if no rank is, the machine whose ranks are. Its cause is the part of its steps that is
longer than in the median rank of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from profiledb.studies.runs.run_tables import Matrix, RunTables
from profiledb.studies.scaling import nccl

PARTS = ("compute_ns", "copy_ns", "idle_ns")
"""Parts of a step in which a rank is late by itself; exposed communication is waiting."""
EXPLAINS = 0.5
"""Share of the lateness that a part explains if it is the cause."""
LEAST = 0.05
"""Share of the step from which lateness counts; GPUs and CPUs of equal ranks differ by less."""
SLOW_CPU = 0.25
"""The same if the CPU of the late rank does what the others do, only slower: on one machine CPUs differ by 17 %."""
EQUAL = 0.02
"""Difference of launches, and of their threads, between ranks up to which they do equal work."""
FEWEST = 3
"""Steps on each side of a change that tell since when a rank is late."""

Means = np.ndarray[tuple[int], np.dtype[np.float64]]
CPUS = ("slow", "own")
Columns = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Steps that count, by their place in a matrix."""
Rows = Sequence[int]
"""Rows of a matrix: one rank, or those of a machine."""


@dataclass(frozen=True)
class Straggler:
    """The rank for which the others wait, or several of one machine.

    Args:
        rank: its number; of several the lowest.
        late_ns: how late it is per step, mean over the steps from ``since``, ns.
        step_ns: mean step time of the run, ns.
        since: first step in which it is late; None if it is from the first one.
        cause: ``compute``, ``work`` (launches or threads differ), ``copy``, ``idle``, or ``unknown``.
        cause_ns: how much longer this part of its steps is than in the median rank, ns per step.
        kernel: of ``compute`` and ``work`` the kernel with the largest difference; else "".
        slower: of ``compute``, its kernel time over that of the median rank, at equal launches.
        idle: of ``idle``, the CPU activity with the largest difference; else "".
        place: range or function in which that idle time lies; "" if unknown.
        cpu: of ``idle``, one of ``CPUS``: its CPU does what the others do, only slower, or has ``own`` work; "" if
            unknown.
        host: name of its machine; "" if unknown.
        ranks: number of ranks that are late: 1, or all of a machine.
        clock_mhz: of ``compute``, its mean SM clock if that is lower than that of the others by ``EQUAL``; else None.
        usual_mhz: the median of the others then.
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
    cpu: str = ""
    host: str = ""
    ranks: int = 1
    clock_mhz: float | None = None
    usual_mhz: float | None = None

    @property
    def share(self) -> float:
        """Lateness as a part of the step."""
        return self.late_ns / self.step_ns if self.step_ns else 0.0


def find_straggler(tables: RunTables) -> Straggler | None:
    """Return the straggler of a run; None if the ranks arrive about together, or no collective could be matched."""
    waits = tables.held
    known = np.asarray(~np.isnan(waits).all(axis=0))
    if len(waits) < 2 or not known.any():
        return None
    hosts: dict[str, list[int]] = {}
    for row, one in enumerate(tables.run.ranks):
        hosts.setdefault(one.host, []).append(row)
    alone = [[row] for row in range(len(waits))]
    return _find_among(tables, waits, known, alone) or _find_among(tables, waits, known, list(hosts.values()))


def _find_among(tables: RunTables, waits: Matrix, known: "np.ndarray[Any, np.dtype[np.bool_]]",
                groups: Sequence[Rows]) -> Straggler | None:  # fmt: skip
    """Return the group of ranks that all others wait for."""
    if len(groups) < 2:
        return None
    by_group = np.stack([average(waits[rows][:, known].T) for rows in groups])
    by_group[np.stack([np.isnan(waits[rows][:, known]).all(axis=0) for rows in groups])] = np.nan
    late = measure_lateness(by_group)
    row, at = _find_latest(late)
    mean, waited = average(late[:, at:]), average(by_group[:, at:])
    rows, lead = groups[row], float(mean[row])
    own = float(average(waits[rows][:, known][:, at:]).max())  # of each: one late rank does not make a machine slow
    waited[np.isnan(by_group[:, at:]).all(axis=1)] = np.inf  # nothing tells whether it waits
    least = float(np.delete(waited, row).min())
    step_ns = float(np.nanmean(tables.matrix("duration_ns")[:, known][:, at:]))
    is_ahead = nccl.is_clear(lead, lead, float(np.sort(mean)[-2]), step_ns)
    if not is_ahead or not nccl.is_clear(least - own, least, own, step_ns):
        return None
    since = int(np.array(tables.step_numbers)[known][at]) if at else None
    columns = np.flatnonzero(known)[at:]
    straggler = _explain_delay(tables, rows, columns, lead, step_ns, since)
    return straggler if straggler.share >= (SLOW_CPU if straggler.cpu == "slow" else LEAST) else None


def measure_lateness(waits: Matrix) -> Matrix:
    """Return the median wait of all other rows minus that of each row, by column; NaN where a row has none."""
    order = np.argsort(waits, axis=0)  # missing values come last
    position = np.argsort(order, axis=0)
    ordered = np.take_along_axis(waits, order, axis=0)
    others = (~np.isnan(waits)).sum(axis=0) - 1

    def pick(place: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Matrix:
        """Return the value at this place of the column without the row itself."""
        skipped = place + (position <= place)
        return np.take_along_axis(ordered, np.clip(skipped, 0, len(waits) - 1), axis=0)

    late = (pick((others - 1) // 2) + pick(others // 2)) / 2 - waits
    return np.where(others > 0, late, np.nan)


def average(values: Matrix) -> Means:
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
    tables: RunTables, late: Rows, columns: Columns, late_ns: float, step_ns: float, since: int | None
) -> Straggler:
    longer = {part: _measure_excess(tables, part, late, columns) or 0.0 for part in PARTS}
    cpu_ns = _measure_excess(tables, "cpu_ns", late, columns)
    if cpu_ns is not None:  # a GPU that waits for others is not idle, however slow its own CPU is
        longer["idle_ns"] = min(longer["idle_ns"], cpu_ns)
    part, ns = max(longer.items(), key=lambda item: item[1])
    ranks = [tables.numbers[row] for row in late]
    host = tables.run.ranks[late[0]].host
    straggler = Straggler(
        ranks[0], late_ns, step_ns, since, cause="unknown", cause_ns=max(ns, 0.0), host=host, ranks=len(ranks)
    )
    if ns < EXPLAINS * late_ns:
        return straggler
    if part == "compute_ns":
        kernel, slower = _compare_kernels(tables, ranks)
        if slower is None:
            return replace(straggler, cause="work", kernel=kernel)
        straggler = replace(straggler, cause="compute", kernel=kernel, slower=slower)
        clocks = average(tables.matrix("sm_clock_mhz")[:, columns])  # 0 without a log
        own, usual = float(clocks[late].mean()), float(np.median(np.delete(clocks, late)))
        return replace(straggler, clock_mhz=own, usual_mhz=usual) if 0 < own < (1 - EQUAL) * usual else straggler
    if part == "idle_ns":
        idle, place = _compare_idle(tables, ranks)
        has_own = cpu_ns is None or _has_own_work(tables, late, columns, late_ns)
        return replace(straggler, cause="idle", idle=idle, place=place, cpu="" if cpu_ns is None else CPUS[has_own])
    return replace(straggler, cause="copy")


def _measure_excess(tables: RunTables, measure: str, late: Rows, columns: Columns) -> float | None:
    """Return how much more of a measure these ranks have per step than the median of the others; None if unknown."""
    values = tables.matrix(measure)[:, columns]
    known = np.asarray(~np.isnan(values).all(axis=1))
    others = np.setdiff1d(np.flatnonzero(known), late)
    if not known[late].any() or not len(others):
        return None
    means = average(values)
    return float(means[late].mean() - np.median(means[others]))


def _has_own_work(tables: RunTables, late: Rows, columns: Columns, late_ns: float) -> bool:
    """Return True if a CPU differs from those of the other ranks: by a long pause in its calls, or other launches."""
    rows = _divide_by_steps(tables, tables.kernels, ["calls"])
    calls = rows.groupby("rank")["calls"].sum().reindex(tables.numbers, fill_value=0).to_numpy(dtype=float)
    own, usual = float(calls[late].mean()), float(np.median(np.delete(calls, late)))
    pause_ns = _measure_excess(tables, "pause_ns", late, columns) or 0.0
    return pause_ns >= EXPLAINS * late_ns or abs(own - usual) > EQUAL * usual


def _divide_by_steps(tables: RunTables, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return rows.assign(**{column: rows[column] / rows["rank"].map(tables.step_count) for column in columns})


def _compare_kernels(tables: RunTables, ranks: list[int]) -> tuple[str, float | None]:
    """Return the kernel whose time per step differs most, and kernel time over the median rank's at equal launches."""
    measures = ["calls", "threads", "total_ns"]
    rows = _divide_by_steps(tables, tables.kernels, measures)
    rows = rows[rows["class"] != "communication"]
    is_late = rows["rank"].isin(ranks)
    mine, others = rows[is_late], rows[~is_late]
    if mine.empty or others.empty:
        return "", None
    apart = _average_kernels(mine).sub(_average_kernels(others), fill_value=0)
    own, usual = (part.groupby("rank")[measures].sum().median() for part in (mine, others))
    is_equal = all(abs(own[work] - usual[work]) <= EQUAL * usual[work] for work in ("calls", "threads"))
    return str(apart.idxmax()), float(own["total_ns"] / usual["total_ns"]) if is_equal and usual["total_ns"] else None


def _average_kernels(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return the median over the ranks of the time of each kernel."""
    return rows.groupby(["name", "rank"])["total_ns"].sum().groupby("name").median()


def _compare_idle(tables: RunTables, ranks: list[int]) -> tuple[str, str]:
    """Return the CPU activity whose idle time per step differs most, and where the rank spends it."""
    rows = _divide_by_steps(tables, tables.idle, ["idle_ns"])
    is_late = rows["rank"].isin(ranks)
    mine = rows[is_late]
    if mine.empty:
        return "", ""
    usual = rows[~is_late].groupby("reason")["idle_ns"].median()
    apart = mine["idle_ns"].to_numpy() - mine["reason"].map(usual).fillna(0).to_numpy(dtype=float)
    row = mine.iloc[int(apart.argmax())]
    reason = row["reason"]
    places = (row["range"], row["function"])
    return str(reason), next((str(place) for place in places if isinstance(place, str) and place), "")
