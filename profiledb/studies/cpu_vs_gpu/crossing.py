"""The size from which the GPU is faster than the CPU, with its interval, from ``task_repetitions``.

The crossing is that of the medians: the size from which the GPU is faster at every larger measured size. It is
interpolated linearly in log(size) on log(CPU / GPU) between the two sizes around it, and never extrapolated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from profiledb.query.header import Column

Basis = Literal["total", "compute"]
State = Literal["crossed", "always", "never", "back", "one device", "nothing in common"]
Place = Literal["", "inside", "below", "above"]
Floats = NDArray[np.float64]

BASES: tuple[Basis, ...] = ("total", "compute")
RESAMPLES = 1000
LEVEL_PCT = 95
FEWEST = 3
"""Repetitions per device and size below which there is no interval. In simulations it covers the crossing in 95 to 98
of 100 captures from five repetitions on, in 87 to 93 with three, and in too few with two, whose median is their
mean."""
COLUMNS = (
    Column("task", "text", "", "what was computed"),
    Column("basis", "text", "", "total: all parts, with transfers; compute: computing alone"),
    Column("state", "text", "", "crossed, always, never, back, one device, nothing in common (crossing.Crossover)"),
    Column("sizes", "count", "", "sizes at which both devices have a time above 0"),
    Column("smallest", "count", "", "the smallest of them"),
    Column("largest", "count", "", "the largest of them"),
    Column("repetitions", "count", "", "repetitions of each device and size, the fewest of them"),
    Column("crossings", "count", "", "how often the faster device changes with size"),
    Column("crossing", "size", ".1f", "size from which on the GPU is faster; empty where it is not inside"),
    Column("low_place", "text", "", "lower end of the 95 % interval: inside, below or above what was measured"),
    Column("low", "size", ".1f", "that end, where it is inside"),
    Column("high_place", "text", "", "upper end of the 95 % interval: inside, below or above what was measured"),
    Column("high", "size", ".1f", "that end, where it is inside"),
    Column(
        "threshold", "count", "",
        "use the GPU from this size on: upper end of the interval, rounded up; empty where unknown",
        "Use the GPU from",
    ),
)  # fmt: skip
"""Columns of ``build_frame``; ``sentences`` adds the sentence."""

_SEED = 20_261_121
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Crossover:
    """The crossover of one task on one basis; sizes as the program counts them.

    Attributes:
        state: ``crossed``: from some size on, the GPU is faster. ``always``: at every size, so that the crossing is
            below.
            ``never``: at none, so that it is above, if anywhere. ``back``: at some sizes, but not at the largest. ``one
            device``: only one was measured. ``nothing in common``: both were, but at no common size.
        devices: measured devices.
        crossings: number of changes of the faster device from size to size.
        crossing: None if it is outside the measured sizes.
        low, high: ends of the interval; None without one, or if it ends outside at ``low_place``, ``high_place``.
        threshold: the upper end rounded up, at most the largest size; without an interval the crossing.
    """

    task: str
    basis: Basis
    state: State
    devices: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    repetitions: int = 0
    crossings: int = 0
    crossing: float | None = None
    low: float | None = None
    high: float | None = None
    low_place: Place = ""
    high_place: Place = ""
    threshold: int | None = None


def find_crossovers(rows: pd.DataFrame) -> list[Crossover]:
    """Return the crossover of each task on each basis, in the order of the rows of ``task_repetitions``."""
    results = []
    for task, of_task in rows.groupby("task", sort=False):
        for basis in BASES:
            known = of_task.dropna(subset=[f"{basis}_ns"])
            times: dict[str, dict[int, Floats]] = {"cpu": {}, "gpu": {}}
            for key, group in known.groupby(["device", "size"]):
                device, size = cast("tuple[str, int]", key)
                times[device][int(size)] = group[f"{basis}_ns"].to_numpy(dtype=float)
            results.append(find_crossover(str(task), basis, times["cpu"], times["gpu"]))
    return results


def find_crossover(task: str, basis: Basis, cpu: Mapping[int, Floats], gpu: Mapping[int, Floats]) -> Crossover:
    """Return the crossover of a task; ``cpu`` and ``gpu`` are times in ns by size, in any order."""
    devices = tuple(name for name, times in (("cpu", cpu), ("gpu", gpu)) if times)
    if len(devices) < 2:
        return Crossover(task, basis, "one device", devices)
    sizes = tuple(sorted(size for size in cpu.keys() & gpu.keys() if size > 0 and _are_usable(cpu[size], gpu[size])))
    if not sizes:
        return Crossover(task, basis, "nothing in common", devices)
    samples = [(cpu[size], gpu[size]) for size in sizes]
    ratio = np.array([[math.log(np.median(a)) - math.log(np.median(b)) for a, b in samples]])
    faster = ratio[0] > 0
    at = float(find_last_crossing(np.log(sizes), ratio)[0])
    fewest = min(len(times) for pair in samples for times in pair)
    low, high = _estimate_interval(sizes, samples, at) if fewest >= FEWEST else (None, None)
    low_size, low_place = _place(low)
    high_size, high_place = _place(high)
    return Crossover(
        task, basis, _judge(faster), devices, sizes, fewest, int((faster[1:] != faster[:-1]).sum()), _place(at)[0],
        low_size, high_size, low_place, high_place, _round_threshold_up(at if high is None else high, sizes),
    )  # fmt: skip


def find_last_crossing(log_sizes: Floats, log_ratios: Floats) -> Floats:
    """Return where each row of ``log_ratios`` (row, size) leaves its last value at or below 0.

    Returns:
        log(size) by linear interpolation; -inf if all values are above 0, inf if the last is not.
    """
    behind = log_ratios <= 0
    many = len(log_sizes)
    last = np.where(behind.any(axis=1), many - 1 - behind[:, ::-1].argmax(axis=1), -1)
    crossings = np.where(last < 0, -np.inf, np.inf)
    inside = np.flatnonzero((last >= 0) & (last < many - 1))
    left = last[inside]
    below, above = log_ratios[inside, left], log_ratios[inside, left + 1]
    part = -below / (above - below)
    crossings[inside] = log_sizes[left] + part * (log_sizes[left + 1] - log_sizes[left])
    return crossings


def _are_usable(*times: Floats) -> bool:
    return all(0 < np.median(sample) < math.inf for sample in times)


def _judge(faster: NDArray[np.bool_]) -> State:
    if faster.all():
        return "always"
    return "never" if not faster.any() else "crossed" if faster[-1] else "back"


def _estimate_interval(
    sizes: Sequence[int], samples: Sequence[tuple[Floats, Floats]], at: float
) -> tuple[float, float]:
    """Return the ends as log(size): quantiles of the crossings of resamples over all sizes and both devices.

    Each sample is resampled independently with replacement and a fixed seed. This is the plain percentile interval;
    medians need no widening (a test simulates its coverage). It contains the crossing of the medians.
    """
    ratio = np.stack(
        [_resample_medians(a, 2 * n) - _resample_medians(b, 2 * n + 1) for n, (a, b) in enumerate(samples)], axis=1
    )
    drawn = np.sort(find_last_crossing(np.log(sizes), ratio))
    margin = round(RESAMPLES * (100 - LEVEL_PCT) / 200)
    return min(float(drawn[margin]), at), max(float(drawn[-1 - margin]), at)


def _resample_medians(values: Floats, stream: int) -> Floats:
    """Return logarithms of the medians of a sample's resamples; samples of other streams are drawn independently."""
    ordered = np.sort(values)
    lower, upper = _draw_middle_places(len(values), stream)
    # A resample of mostly zeros counts as a tiny time.
    return np.log(np.maximum((ordered[lower] + ordered[upper]) / 2, 1e-9))


@lru_cache(maxsize=256)
def _draw_middle_places(many: int, stream: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the two middle values of each resample in the sorted sample; equal if ``many`` is odd."""
    drawn = np.random.default_rng((_SEED, many, stream)).integers(many, size=(RESAMPLES, many))
    middle = ((many - 1) // 2, many // 2)
    ordered = np.partition(drawn, middle, axis=1)
    return ordered[:, middle[0]], ordered[:, middle[1]]


def _place(log_size: float | None) -> tuple[float | None, Place]:
    if log_size is None:
        return None, ""
    if math.isfinite(log_size):
        return math.exp(log_size), "inside"
    return None, "below" if log_size < 0 else "above"


def _round_threshold_up(log_size: float, sizes: Sequence[int]) -> int | None:
    """Return the smallest size if the end is below it; None if it is above all."""
    if log_size == math.inf:
        return None
    return sizes[0] if log_size == -math.inf else min(round_up(math.exp(log_size), sizes), sizes[-1])


def round_up(size: float, sizes: Sequence[int]) -> int:
    """Return the next round size: a power of two if all measured sizes are, else 1, 1.2, 1.5, 2 ... times a power of
    ten.
    """
    least = max(size * (1 - 1e-9), 1.0)  # exp(log(512)) is slightly above 512
    if all(measured & (measured - 1) == 0 for measured in sizes):
        return 1 << math.ceil(math.log2(least))
    power = 10.0 ** math.floor(math.log10(least))
    return math.ceil(next(factor * power for factor in _ROUND if factor * power >= least) - 1e-9)


def build_frame(results: Sequence[Crossover]) -> pd.DataFrame:
    """Return one row per crossover with the columns of ``COLUMNS``; unknown values are missing."""
    rows = [
        {
            "task": crossover.task, "basis": crossover.basis, "state": crossover.state, "sizes": len(crossover.sizes),
            "smallest": min(crossover.sizes, default=None), "largest": max(crossover.sizes, default=None),
            "repetitions": crossover.repetitions or None, "crossings": crossover.crossings if crossover.sizes else None,
            "crossing": crossover.crossing, "low_place": crossover.low_place or None, "low": crossover.low,
            "high_place": crossover.high_place or None, "high": crossover.high, "threshold": crossover.threshold,
        }
        for crossover in results
    ]  # fmt: skip
    types = {"text": "str", "count": "Int64", "size": "Float64"}
    frame = pd.DataFrame(rows, columns=[column.name for column in COLUMNS])
    return frame.astype({column.name: types[column.unit] for column in COLUMNS})
