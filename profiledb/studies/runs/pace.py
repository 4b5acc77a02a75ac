"""The pace recipes of nsys: when a kernel or range occurs on each rank, and how long after the occurrence before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

OCCURRENCES = "occurrences"
PACE: Mapping[str, str] = {
    "cuda_gpu_kern_pace": "kernels",
    "nvtx_gpu_proj_pace": "range_projections",
    "nvtx_pace": "ranges",
}
"""Recipes and their events, a value of the parameter ``of`` of the analysis ``occurrences``."""
MEANINGS = {
    "Rank": "number of the report among those with such events",
    "Iteration": "number of the occurrence on its rank, from 0",
    "start": "since the first session of the run began",
    "end": "since the first session of the run began",
    "duration": "from start to end",
    "delta": "since the end of the occurrence before; of the first one since its session began",
    "duration_accum": "sum of the durations so far",
    "delta_accum": "sum of the deltas so far",
}


@dataclass(frozen=True)
class Rank:
    """The occurrences on a rank (columns start_ns, end_ns), and how long after the first session its own began, ns."""

    file: str
    shift_ns: int
    occurrences: pd.DataFrame


def list_iterations(ranks: Sequence[Rank]) -> pd.DataFrame:
    """Return a row per rank and occurrence, ns, with the values that the recipe writes into a table per column."""
    frames = [_list_rank(number, rank) for number, rank in enumerate(ranks)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _list_rank(number: int, rank: Rank) -> pd.DataFrame:
    start, end = rank.occurrences["start_ns"], rank.occurrences["end_ns"]
    duration, delta = end - start, start - end.shift(fill_value=0)
    return pd.DataFrame(
        {
            "Rank": number,
            "Iteration": range(len(start)),
            "start": start + rank.shift_ns,
            "end": end + rank.shift_ns,
            "duration": duration,
            "delta": delta,
            "duration_accum": duration.cumsum(),
            "delta_accum": delta.cumsum(),
            "File": rank.file,
        }
    )
