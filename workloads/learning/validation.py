"""How far a model can be trusted: what it says of what it has not seen, beside rules that need no model.

Regret is the time of the tasks on the devices that a rule chooses, over that on the faster devices, less one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from workloads.learning import costs
from workloads.learning.table import TARGETS, Row

FOLDS = 5
LARGEST = 0.2
"""Share of the sizes that is left out as the largest."""


@dataclass(frozen=True)
class Score:
    """What came of leaving something out.

    ``error_pct`` is the median error of the times by target, ``regret_pct`` that of each rule; ``rows`` were predicted,
    ``decided`` of them have both devices.
    """

    left_out: str
    rows: int
    decided: int
    error_pct: dict[str, float]
    regret_pct: dict[str, float]


Split = tuple[Sequence[Row], Sequence[Row]]


def scores(rows: Sequence[Row]) -> Iterator[Score]:
    """Leave out sizes, the largest sizes, each task, and each machine, as far as there are several."""
    yield score("every fifth size", list(_sizes(rows)))
    yield score("the largest fifth of the sizes", list(_largest(rows)))
    for what, told in (("one task", "task"), ("one machine", "machine")):
        names = sorted({getattr(row, told) for row in rows})
        if len(names) > 1:
            splits = [
                (
                    [row for row in rows if getattr(row, told) != name],
                    [row for row in rows if getattr(row, told) == name],
                )
                for name in names
            ]
            yield score(what, splits)


def score(left_out: str, splits: Sequence[Split]) -> Score:
    """Learn from the first part of each split and compare with the second."""
    errors: dict[str, list[float]] = {target: [] for target in TARGETS}
    spent = dict.fromkeys(("model", "threshold", "always GPU", "always CPU"), 0.0)
    best, predicted, decided = 0.0, 0, 0
    for known, unknown in splits:
        model, limits = costs.learn(known), costs.thresholds(known)
        for row in unknown:
            found = {target: _predicted(model, row, target) for target in row.seconds}
            for target, seconds in found.items():
                if seconds is not None:
                    errors[target].append(abs(seconds / row.seconds[target] - 1))
            predicted += any(seconds is not None for seconds in found.values())
            told = model.on_gpu(row.machine, row.task, row.precision, row.size)
            if told is None or not {"cpu", "gpu"} <= set(row.seconds):
                continue
            decided += 1
            limit = limits.get((row.task, row.precision), limits.get((costs.ANY, row.precision), 0.0))
            chosen = {
                "model": told, "threshold": row.size >= limit, "always GPU": True, "always CPU": False,
            }  # fmt: skip
            best += min(row.seconds["cpu"], row.seconds["gpu"])
            for rule, on_gpu in chosen.items():
                spent[rule] += row.seconds["gpu" if on_gpu else "cpu"]
    return Score(
        left_out, predicted, decided,
        {target: 100 * median(of) for target, of in errors.items() if of},
        {rule: 100 * (seconds / best - 1) for rule, seconds in spent.items()} if best else {},
    )  # fmt: skip


def _predicted(model: costs.TimeModel, row: Row, target: str) -> float | None:
    found = model.predict(
        row.machine, row.task, row.precision, row.size, target, moved=row.moved, work=row.work
    )  # fmt: skip
    return None if found is None else found.seconds


def _without(rows: Sequence[Row], told: str, name: str) -> Split:
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[getattr(row, told) == name].append(row)
    return parts


def _sizes(rows: Sequence[Row]) -> Iterator[Split]:
    sizes = sorted({row.size for row in rows})
    for fold in range(min(FOLDS, len(sizes))):
        out = set(sizes[fold::FOLDS])
        yield [row for row in rows if row.size not in out], [row for row in rows if row.size in out]


def _largest(rows: Sequence[Row]) -> Iterator[Split]:
    """Of each task by itself, for tasks count their sizes in their own way."""
    by_task: dict[str, list[float]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row.size)
    limits = {}
    for task, of in by_task.items():
        sizes = sorted(set(of))
        limits[task] = sizes[-max(1, round(LARGEST * len(sizes)))]
    yield [row for row in rows if row.size < limits[row.task]], [row for row in rows if row.size >= limits[row.task]]
