"""Model a time or an energy as the sum of the costs of a call, a row, a byte and an operation, none negative.

A large result costs more per byte (plain.LARGE): on an H100, results of 26 MB come back at 8 to 10 GB/s with all of a
task's time, those of 51 MB at 2 to 3.

So few parameters can be learned from the few sizes that people measure, have a meaning, and extrapolate beyond the
largest size as the work does. They are fitted to the relative error (scikit-learn's LinearRegression, positive,
weighted by 1 / time²).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from .. import COMMAND
from ..errors import WorkloadError
from . import checks
from .plain import Costs, Line, count_large_result, fit_laws
from .table import TARGETS, Row

SIZES = 4
"""Least number of sizes of a task to learn from."""
TERMS = ("call", "row", "byte", "operation", "result_byte")
ANY = ""
FORMAT = "warpdeck costs 3"

Key = tuple[str, str, str, str]
"""Machine, task, precision, target; ANY for a model of all machines or tasks."""


@dataclass(frozen=True)
class Prediction:
    """Seconds that a task will take, and the source of that: this task here, this task elsewhere, or other tasks."""

    seconds: float
    basis: str


Trust = dict[tuple[str, str, str], tuple[float, float]]
"""Regrets in percent of the model and of the threshold by task, precision and what was left out (validation.trust)."""


class TimeModel:
    """A learned model. Create it by ``learn`` or ``load``."""

    def __init__(
        self,
        fits: dict[Key, NDArray[np.float64]],
        sizes: dict[tuple[str, str], NDArray[np.float64]],
        limits: dict[tuple[str, str], float],
        trust: Trust | None = None,
        idle_w: Mapping[str, float] | None = None,
    ) -> None:
        self._fits = fits
        self._sizes = sizes
        self._limits = limits
        self.trust: Trust = dict(trust or {})
        self._idle_w = dict(idle_w or {})

    @property
    def tasks(self) -> list[str]:
        """Names of the learned tasks."""
        return sorted({task for _, task, _, _ in self._fits} - {ANY})

    def predict(
        self, machine: str, task: str, precision: str, size: float, target: str, *,
        moved: float | None = None, work: float | None = None, result: float = 0.0,
    ) -> Prediction | None:  # fmt: skip
        """Return how long a task takes; None if no measurement tells.

        Args:
            machine: as in ``Row.machine``.
            task: its name; a task that was never measured needs ``moved`` and ``work``.
            precision: fp32 ...
            size: its size, as the program counts.
            target: one of TARGETS.
            moved: bytes to and from the GPU; by default extrapolated from the measured sizes.
            work: operations; by default likewise.
            result: bytes to the host, if ``moved`` and ``work`` are given.
        """
        if moved is None or work is None:
            known = self._sizes.get((task, precision))
            if known is None:
                return None
            moved, work, result = (_interpolate_power_law(known, column, size) for column in (1, 2, 3))
        terms = np.array([1.0, size, moved, work, count_large_result(result)])
        for key, basis in (
            ((machine, task, precision, target), "this task"),
            ((ANY, task, precision, target), "this task on other machines"),
            ((machine, ANY, precision, target), "other tasks"),
            ((ANY, ANY, precision, target), "other tasks on other machines"),
        ):
            if (fit := self._fits.get(key)) is not None:
                return Prediction(max(float(terms @ fit), 1e-9), basis)
        return None

    def is_gpu_faster(self, machine: str, task: str, precision: str, size: float) -> bool | None:
        """Return whether the GPU is the faster device, copies included; None if no measurement tells.

        Times of a task that was never measured are too uncertain: for it, the middle of the sizes counts from which on
        the GPU won other tasks.
        """
        predictions = [self.predict(machine, task, precision, size, target) for target in ("cpu", "gpu")]
        if predictions[0] and predictions[1] and self.has_learned(machine, task, precision, "cpu", "gpu"):
            return predictions[1].seconds < predictions[0].seconds
        limit = self._limits.get((task, precision), self._limits.get((ANY, precision)))
        return None if limit is None else size >= limit

    def has_learned(self, machine: str, task: str, precision: str, *targets: str) -> bool:
        """Return True if each target of this task was learned, here or on other machines."""
        return all(any((of, task, precision, target) in self._fits for of in (machine, ANY)) for target in targets)

    def list_costs(self, machine: str, task: str, precision: str, target: str) -> dict[str, float] | None:
        """Return the seconds of each of TERMS for a task that was measured here."""
        fit = self._fits.get((machine, task, precision, target))
        return None if fit is None else dict(zip(TERMS, map(float, fit), strict=True))

    @property
    def machines(self) -> list[str]:
        """Names of the machines in the training data."""
        return sorted({machine for machine, _, _, _ in self._fits} - {ANY})

    @property
    def limits(self) -> dict[tuple[str, str], float]:
        """Sizes from which on the GPU won, by task and precision; for task ANY the middle of the others."""
        return dict(self._limits)

    def get_idle_w(self, machine: str) -> float | None:
        """Return the idle power of a machine's GPUs, or that of other machines; None without a log."""
        return self._idle_w.get(machine, median(self._idle_w.values()) if self._idle_w else None)

    def make_lines(self, machine: str) -> dict[tuple[str, str], Line]:
        """Return the times of each measured task and precision, here or else on other machines."""
        lines = {}
        for (task, precision), known in self._sizes.items():
            cpu, gpu, compute, energy = (self._estimate_own(machine, task, precision, target) for target in TARGETS)
            if cpu and gpu:
                rows = known.tolist()
                lines[task, precision] = Line([row[0] for row in rows], fit_laws(rows), (cpu, gpu, compute, energy))
        return lines

    def _estimate_own(self, machine: str, task: str, precision: str, target: str) -> Costs | None:
        for of in (machine, ANY):
            if (fit := self._fits.get((of, task, precision, target))) is not None:
                call, row, byte, operation, result_byte = map(float, fit)
                return call, row, byte, operation, result_byte
        return None

    def save(self, path: Path) -> None:
        """Write the model with skops, which stores data and no code.

        Raises:
            WorkloadError: the file cannot be written.
        """
        from skops import io

        fits = [list(map(list, self._fits)), np.array(list(self._fits.values()))]
        sizes = [[*key, known] for key, known in self._sizes.items()]
        try:
            limits = [[*key, limit] for key, limit in self._limits.items()]
            trust = [[*key, *regrets] for key, regrets in self.trust.items()]
            idle = [[machine, idle_w] for machine, idle_w in self._idle_w.items()]
            content = {"format": FORMAT, "fits": fits, "sizes": sizes, "limits": limits, "trust": trust, "idle_w": idle}
            io.dump(content, path)
        except OSError as error:
            raise WorkloadError(f"{path} cannot be written: {error.strerror}.") from error


def load(path: Path) -> TimeModel:
    """Return a saved model.

    Raises:
        WorkloadError: the file does not exist or is no model, or skops is not installed.
    """
    try:
        from skops import io
    except ImportError as error:
        raise WorkloadError(f"A model needs {error.name}: pip install 'warpdeck[learn]'.") from error

    try:
        checks.check_size(path)
        content = io.load(path, trusted=[])  # types that skops trusts by itself, which run no code of the file
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        fits = {
            (str(a), str(b), str(c), str(d)): checks.check_costs(fit, len(TERMS))
            for (a, b, c, d), fit in zip(*content["fits"], strict=True)
        }
        sizes = {(str(task), str(precision)): checks.check_rows(known) for task, precision, known in content["sizes"]}
        limits = {(str(task), str(precision)): float(limit) for task, precision, limit in content["limits"]}
        trust = {(str(a), str(b), str(c)): (float(model), float(rule)) for a, b, c, model, rule in content["trust"]}
        idle_w = {str(machine): float(idle) for machine, idle in content["idle_w"]}
        checks.require(
            all(limit > 0 for limit in limits.values()) and all(0 <= idle < np.inf for idle in idle_w.values())
        )
        return TimeModel(fits, sizes, limits, trust, idle_w)
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} is not there. Make it with: {COMMAND} learn FEATURES -o {path}.") from error
    except Exception as error:  # any error that a damaged file causes in the reader
        raise WorkloadError(f"{path} is no model of `{COMMAND} learn` ({type(error).__name__}).") from error


def learn(rows: Sequence[Row], *, each: bool = True) -> TimeModel:
    """Return models of any task and, on request, of each one: on each machine, and on any."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        for target in row.seconds:
            for machine in (row.machine, ANY):
                for task in (row.task, ANY) if each else (ANY,):
                    groups.setdefault((machine, task, row.precision, target), []).append(row)
    fits = {
        key: _fit_costs(members, key[3], tasks=key[1] == ANY)
        for key, members in groups.items()
        if len({row.size for row in members}) >= SIZES
    }
    idle: dict[str, list[float]] = {}
    for row in rows:
        if row.idle_w is not None:
            idle.setdefault(row.machine, []).append(row.idle_w)
    return TimeModel(
        fits, _list_known_sizes(rows), find_thresholds(rows), idle_w={machine: min(of) for machine, of in idle.items()}
    )


def find_thresholds(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Return the size from which on the GPU was always faster, by task and precision, and by precision the middle.

    It is infinite if the GPU never was.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if {"cpu", "gpu"} <= set(row.seconds):
            groups.setdefault((row.task, row.precision), []).append(row)
    limits: dict[tuple[str, str], float] = {}
    for key, members in groups.items():
        limit = float("inf")
        for row in sorted(members, key=lambda row: -row.size):
            if row.seconds["gpu"] >= row.seconds["cpu"]:
                break
            limit = row.size
        limits[key] = limit
    for precision in {precision for _, precision in limits}:
        limits[ANY, precision] = median(limit for (_, of), limit in limits.items() if of == precision)
    return limits


def find_too_few(rows: Iterable[Row]) -> dict[tuple[str, str, str], int]:
    """Return machine, task and precision of tasks with too few sizes to learn from, with their numbers."""
    sizes: dict[tuple[str, str, str], set[float]] = {}
    for row in rows:
        sizes.setdefault((row.machine, row.task, row.precision), set()).add(row.size)
    return {key: len(task_sizes) for key, task_sizes in sizes.items() if len(task_sizes) < SIZES}


def _fit_costs(rows: Sequence[Row], target: str, *, tasks: bool) -> NDArray[np.float64]:
    """Return the cost of each of TERMS; the cost of a matrix row belongs to a single task, so models of several have
    none."""
    from sklearn.linear_model import LinearRegression

    terms = np.array(
        [[1.0, 0.0 if tasks else row.size, row.moved, row.work, count_large_result(row.result)] for row in rows]
    )
    seconds = np.array([row.seconds[target] for row in rows])
    scale = np.maximum(terms.max(axis=0), 1e-300)
    fit = LinearRegression(fit_intercept=False, positive=True)
    fit.fit(terms / scale, seconds, sample_weight=1 / seconds**2)
    costs: NDArray[np.float64] = fit.coef_ / scale
    return costs


def _list_known_sizes(rows: Iterable[Row]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Size, bytes, operations and bytes of the result of each task and precision, by size."""
    rows_by_size: dict[tuple[str, str], dict[float, tuple[float, float, float, float]]] = {}
    for row in rows:
        rows_by_size.setdefault((row.task, row.precision), {})[row.size] = (
            row.size, row.moved, row.work, max(row.result, 1.0)
        )  # fmt: skip
    return {key: np.array([of[size] for size in sorted(of)]) for key, of in rows_by_size.items()}


def _interpolate_power_law(known: NDArray[np.float64], column: int, size: float) -> float:
    """Return a column at a size: interpolated between measured sizes, extrapolated with the growth of the last two."""
    x, y = np.log(known[:, 0]), np.log(known[:, column])
    at = float(np.log(size))
    if len(x) == 1:
        return float(known[0, column])
    side = slice(None, 2) if at < x[0] else slice(-2, None)
    if x[0] <= at <= x[-1]:
        return float(np.exp(np.interp(at, x, y)))
    (x0, x1), (y0, y1) = x[side], y[side]
    return float(np.exp(y1 + (y1 - y0) / (x1 - x0) * (at - x1)))
