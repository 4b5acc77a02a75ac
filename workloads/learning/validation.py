"""Validate a model: its predictions of left-out data, beside rules that need no model.

Regret is the time of the tasks on the devices that a rule chooses, over that on the faster devices, less one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from . import costs
from .table import ENERGY, TARGETS, Row

SIZES, LARGEST = "every fifth size", "the largest fifth of the sizes"
TASKS, MACHINES = "one task", "one machine"
"""Names of the left-out parts."""
FOLDS = 5
LARGEST_SHARE = 0.2
"""Share of the sizes that is left out as the largest."""


@dataclass(frozen=True)
class Score:
    """The errors of a model on rows that were left out of its training.

    ``error_pct`` is the median error of the times by target, ``regret_pct`` that of each rule; ``rows`` were predicted,
    ``decided`` of them have both devices. Regrets are of those that the model had learned of, without its own where it
    had of none. ``energy_regret_pct`` is the same of energy: of the model that chooses by
    energy, of the one that chooses by time, and of the fixed devices.
    """

    left_out: str
    rows: int
    decided: int
    error_pct: dict[str, float]
    regret_pct: dict[str, float]
    energy_regret_pct: dict[str, float]


Split = tuple[Sequence[Row], Sequence[Row]]


@dataclass(frozen=True)
class Judged:
    """A left-out row: seconds that the model predicts by target, and whether each rule takes the GPU."""

    row: Row
    predicted: dict[str, float | None]
    on_gpu: dict[str, bool]
    """Empty if one device was not measured, or no rule decides."""
    saves: dict[str, bool]
    """The same for rules about energy; empty if that was not measured, or not learned."""
    is_learned: bool = False
    """Whether the model had learned this task; else it chose as the threshold does."""


def validate(rows: Sequence[Row]) -> dict[str, list[Judged]]:
    """Leave out sizes, the largest sizes, each task, and each machine if there are several."""
    splits = _split_rows(rows)
    return {left_out: list(judge_rows(of, each=left_out != TASKS)) for left_out, of in splits.items() if of}


def score_parts(judged_rows: Mapping[str, Sequence[Judged]]) -> Iterator[Score]:
    """Return a score of each part left out by ``validate``."""
    for left_out, of in judged_rows.items():
        yield score(left_out, of)


def compute_trust(judged_rows: Mapping[str, Sequence[Judged]]) -> costs.Trust:
    """Return the regrets in percent of the model and of the threshold, by task, precision and left-out part.

    The left-out part is one of SIZES, LARGEST and MACHINES. A task is included if both devices were measured and the
    model learned it without the left-out part; otherwise its choices are those of the threshold.
    """
    trust = {}
    for left_out in (SIZES, LARGEST, MACHINES):
        groups: dict[tuple[str, str], list[Judged]] = {}
        for one in judged_rows.get(left_out, ()):
            if one.is_learned:
                groups.setdefault((one.row.task, one.row.precision), []).append(one)
        for key, members in groups.items():
            if regrets := _compute_regrets(members):
                trust[*key, left_out] = regrets["model"], regrets["threshold"]
    return trust


def judge_rows(splits: Iterable[Split], *, each: bool = True) -> Iterator[Judged]:
    """Learn from the first part of each split, of each task or of any, and predict the second."""
    for known, unknown in splits:
        model, limits = costs.learn(known, each=each), costs.find_thresholds(known)
        for row in unknown:
            predicted = {target: _predict_seconds(model, row, target) for target in row.seconds}
            is_gpu_faster = model.is_gpu_faster(row.machine, row.task, row.precision, row.size)
            names = row.machine, row.task, row.precision  # energy decides nothing for a task that was never measured
            if is_gpu_faster is None or not {"cpu", "gpu"} <= set(row.seconds):
                yield Judged(row, predicted, {}, {})
                continue
            limit = limits.get((row.task, row.precision), limits.get((costs.ANY, row.precision), 0.0))
            chosen = {"model": is_gpu_faster, "threshold": row.size >= limit, "always GPU": True, "always CPU": False}
            saves = (
                _decide_by_energy(row, predicted, by_time=is_gpu_faster) if model.has_learned(*names, ENERGY) else {}
            )
            yield Judged(row, predicted, chosen, saves, model.has_learned(*names, "cpu", "gpu"))


def score(left_out: str, judged_rows: Sequence[Judged]) -> Score:
    """Compare predictions and choices with the measurements."""
    errors: dict[str, list[float]] = {target: [] for target in TARGETS}
    for one in judged_rows:
        for target, seconds in one.predicted.items():
            if seconds is not None:
                errors[target].append(abs(seconds / one.row.seconds[target] - 1))
    return Score(
        left_out,
        sum(any(seconds is not None for seconds in one.predicted.values()) for one in judged_rows),
        sum(bool(one.on_gpu) for one in judged_rows),
        {target: 100 * median(of) for target, of in errors.items() if of},
        _compute_regrets(judged_rows),
        _compare_with_best((one.saves, *_estimate_joules(one.row)) for one in judged_rows if one.saves),
    )


def _compute_regrets(judged_rows: Iterable[Judged]) -> dict[str, float]:
    """Return the regrets of all rules over the rows of learned tasks; without any, over the others."""
    decided = [one for one in judged_rows if one.on_gpu]
    learned = [one for one in decided if one.is_learned]
    regrets = _compare_with_best(
        (one.on_gpu, one.row.seconds["cpu"], one.row.seconds["gpu"]) for one in learned or decided
    )
    return regrets if learned else {rule: regret for rule, regret in regrets.items() if rule != "model"}


def _compare_with_best(choices: Iterable[tuple[dict[str, bool], float, float]]) -> dict[str, float]:
    """Return percent by rule, from each rule's choice and the costs of CPU and GPU; empty without rows."""
    spent: dict[str, float] = {}
    best = 0.0
    for chosen, cpu, gpu in choices:
        best += min(cpu, gpu)
        for rule, on_gpu in chosen.items():
            spent[rule] = spent.get(rule, 0.0) + (gpu if on_gpu else cpu)
    return {rule: 100 * (cost / best - 1) for rule, cost in spent.items()}


def _estimate_joules(row: Row) -> tuple[float, float]:
    """Return the energy of the GPUs while a task runs on the CPU, where they idle, and on the GPU."""
    return (row.idle_w or 0.0) * row.seconds["cpu"], row.seconds[ENERGY]


def _decide_by_energy(row: Row, predicted: dict[str, float | None], *, by_time: bool) -> dict[str, bool]:
    cpu_s, gpu_j = predicted.get("cpu"), predicted.get(ENERGY)
    if not row.idle_w or cpu_s is None or gpu_j is None:
        return {}
    return {"by energy": gpu_j < row.idle_w * cpu_s, "by time": by_time, "always GPU": True, "always CPU": False}


def _split_rows(rows: Sequence[Row]) -> dict[str, list[Split]]:
    splits = {SIZES: list(_split_by_size(rows)), LARGEST: list(_split_off_largest(rows))}
    for what, attribute in ((TASKS, "task"), (MACHINES, "machine")):
        names = sorted({getattr(row, attribute) for row in rows})
        splits[what] = [_split_by_field(rows, attribute, name) for name in names] if len(names) > 1 else []
    return splits


def _predict_seconds(model: costs.TimeModel, row: Row, target: str) -> float | None:
    prediction = model.predict(
        row.machine, row.task, row.precision, row.size, target, moved=row.moved, work=row.work, result=row.result
    )  # fmt: skip
    return None if prediction is None else prediction.seconds


def _split_by_field(rows: Sequence[Row], field_name: str, name: str) -> Split:
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[getattr(row, field_name) == name].append(row)
    return parts


def _split_by_size(rows: Sequence[Row]) -> Iterator[Split]:
    sizes = sorted({row.size for row in rows})
    for fold in range(min(FOLDS, len(sizes))):
        out = set(sizes[fold::FOLDS])
        yield [row for row in rows if row.size not in out], [row for row in rows if row.size in out]


def _split_off_largest(rows: Sequence[Row]) -> Iterator[Split]:
    """Split each task separately, because tasks count their sizes differently."""
    by_task: dict[str, list[float]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row.size)
    limits = {}
    for task, of in by_task.items():
        sizes = sorted(set(of))
        limits[task] = sizes[-max(1, round(LARGEST_SHARE * len(sizes)))]
    yield [row for row in rows if row.size < limits[row.task]], [row for row in rows if row.size >= limits[row.task]]
