"""Align the clocks of ranks by their collectives.

A collective ends on all its ranks at about the same moment. The clock of a rank is its offset at the first collective
and its drift after that: a line through the differences of its ends from the median end over all ranks, whose slope is
the median slope between the first and the last third (so that single late ends do not count). What is left is the
uncertainty of every time across ranks.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

FEWEST = 5
"""Collectives of a rank from which its clock can be told."""
DRIFT_NS = 1_000_000_000
"""Shortest time between first and last collective from which a drift is told, ns: noise looks like drift before."""


@dataclass(frozen=True)
class Clock:
    """The clock of a rank against the median of all.

    Args:
        rank: the rank.
        offset_ns: how far its clock is ahead at its first matched collective, ns.
        drift_ppm: how much faster it runs, parts per million; None if the capture is too short to tell.
        uncertainty_ns: 95 % of the ends of collectives lie within this distance of the line, ns.
        operations: matched collectives.
    """

    rank: int
    offset_ns: float
    drift_ppm: float | None
    uncertainty_ns: float
    operations: int


def align(matches: pd.DataFrame) -> list[Clock]:
    """Return the clocks of ranks with at least ``FEWEST`` matched collectives, from rows of ``nccl.match_rows``."""
    if matches.empty:
        return []
    ends = (matches["start_ns"] + matches["duration_ns"]).to_numpy(dtype=float)
    keys, key = np.unique(matches["key"].to_numpy(), return_inverse=True)
    ranks, row = np.unique(matches["rank"].to_numpy(), return_inverse=True)
    table = np.full((len(ranks), len(keys)), np.nan)
    table[row, key] = ends
    middle = np.nanmedian(table, axis=0)
    order = np.argsort(middle)
    clocks = (
        _fit_clock(int(rank), middle[order], (line - middle)[order]) for rank, line in zip(ranks, table, strict=True)
    )
    return [clock for clock in clocks if clock is not None]


def _fit_clock(
    rank: int, at: "np.ndarray[tuple[int], np.dtype[np.float64]]", apart: "np.ndarray[tuple[int], np.dtype[np.float64]]"
) -> Clock | None:
    known = ~np.isnan(apart)
    at, apart = at[known], apart[known]
    if len(at) < FEWEST:
        return None
    slope = 0.0
    third = max(1, len(at) // 3)
    length = float(np.median(at[-third:]) - np.median(at[:third]))
    tells_drift = at[-1] - at[0] >= DRIFT_NS and length > 0
    if tells_drift:
        slope = float(np.median(apart[-third:]) - np.median(apart[:third])) / length
    left = apart - slope * (at - at[0])
    offset = float(np.median(left))
    return Clock(
        rank=rank,
        offset_ns=offset,
        drift_ppm=slope * 1e6 if tells_drift else None,
        uncertainty_ns=float(np.quantile(np.abs(left - offset), 0.95)),
        operations=len(at),
    )
