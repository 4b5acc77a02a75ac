"""Results of a queue under each policy: times, energy, regret, and errors of the predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .learning import costs
from .scheduler.decisions import Decision
from .scheduler.trust import match_machine

ENERGY = "energy"
DECIDING = ("threshold", "model", ENERGY)
"""Policies of workloads.scheduler; the others are fixed."""
Known = dict[tuple[str, str, int, str], dict[str, float]]
"""Median seconds by device, of task, precision, size and load."""


@dataclass(frozen=True)
class Done:
    """A finished task; the load is free or competing."""

    policy: str
    load: str
    task: str
    precision: str
    size: int
    decision: Decision
    seconds: float

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Key of repeated measurements: task, precision, size, load."""
        return self.task, self.precision, self.size, self.load


@dataclass
class Half:
    """The part of a queue under one load: the wall time and the energy of all GPUs, competitors included."""

    wall_s: float = 0.0
    joules: float | None = 0.0


class Results:
    """Collects finished tasks; ``model`` is that of the policy of this name."""

    def __init__(self, model: costs.TimeModel | None) -> None:
        self.done: list[Done] = []
        self.halves: dict[tuple[str, str], Half] = {}
        self._lines = model.make_lines(match_machine(model)[0]) if model else {}

    def add(self, done: Done) -> None:
        """Add a task."""
        self.done.append(done)

    def add_half(self, policy: str, load: str, wall_s: float, joules: float | None) -> None:
        """Add time and energy of a part of the queue."""
        half = self.halves.setdefault((policy, load), Half())
        half.wall_s += wall_s
        half.joules = None if joules is None or half.joules is None else half.joules + joules

    def collect_known_times(self) -> Known:
        """Return the times of tasks under `cpu` and `gpu`."""
        times: dict[tuple[str, str, int, str], dict[str, list[float]]] = {}
        for one in self.done:
            if one.policy in ("cpu", "gpu") and one.decision.device == one.policy:
                times.setdefault(one.key, {}).setdefault(one.policy, []).append(one.seconds)
        return {key: {device: median(of) for device, of in by_device.items()} for key, by_device in times.items()}

    def summarize(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return figures by policy and load; None if unknown.

        ``tasks_s`` is the time of the tasks, ``wall_s`` that with decisions and logs, ``joules`` of all GPUs. Regret:
        the measured times (`collect_known_times`) of the chosen devices over those of the faster ones, less one.
        ``error_pct`` is the median error of the model's times of the chosen devices, ``corrected_error_pct`` of those
        that decided.
        """
        known = self.collect_known_times()
        return {
            policy: {
                load: self._compute_figures(policy, load, half, known)
                for (of, load), half in self.halves.items()
                if of == policy
            }
            for policy in dict.fromkeys(policy for policy, _ in self.halves)
        }

    def _compute_figures(self, policy: str, load: str, half: Half, known: Known) -> dict[str, Any]:
        done = [one for one in self.done if (one.policy, one.load) == (policy, load)]
        both = [
            one
            for one in done
            if set(known.get(one.key, ())) == {"cpu", "gpu"} and one.decision.device in ("cpu", "gpu")
        ]
        best = sum(min(known[one.key].values()) for one in both)
        spent = sum(known[one.key][one.decision.device] for one in both)
        decided = [one for one in done if policy in DECIDING]
        micros = sorted(1e6 * one.decision.decision_s for one in decided)
        return {
            "tasks": len(done),
            "on_gpu": sum(one.decision.device == "gpu" for one in done),
            "refused": sum(one.decision.device == "none" for one in done),
            "tasks_s": round(sum(one.seconds for one in done), 6),
            "wall_s": round(half.wall_s, 6),
            "joules": None if half.joules is None else round(half.joules, 3),
            "regret_pct": round(100 * (spent / best - 1), 3) if best else None,
            "error_pct": _compute_median(
                [error for one in decided if (error := self._compute_error_pct(one)) is not None]
            ),
            "corrected_error_pct": _compute_median(
                [error for one in decided if (error := _compute_corrected_pct(one)) is not None]
            ),
            "decision_us": _compute_median(micros),
            "decision_p99_us": round(micros[int(0.99 * (len(micros) - 1))], 3) if micros else None,
        }

    def _compute_error_pct(self, one: Done) -> float | None:
        line = self._lines.get((one.task, one.precision))
        if not line or one.seconds <= 0:
            return None
        estimate = line(one.size)
        return 100 * abs((estimate.gpu_s if one.decision.device == "gpu" else estimate.cpu_s) / one.seconds - 1)

    def list_costs(self, items: Sequence[Any]) -> dict[str, dict[str, dict[str, float]]]:
        """Return the costs that the model learned for each task of the queue: seconds by device and term."""
        result: dict[str, dict[str, dict[str, float]]] = {}
        for item in items:
            if line := self._lines.get((item.task, item.precision)):
                cpu, gpu, _, _ = line.costs
                result[item.label] = {
                    "cpu": dict(zip(costs.TERMS, cpu, strict=True)), "gpu": dict(zip(costs.TERMS, gpu, strict=True))
                }  # fmt: skip
        return result

    def format_lines(self) -> Iterator[str]:
        """Return the figures, a line per policy and load."""
        for policy, loads in self.summarize().items():
            for load, of in loads.items():
                regret = "" if of["regret_pct"] is None else f", regret {of['regret_pct']:.1f} %"
                energy = "" if of["joules"] is None else f", {of['joules']:,.0f} J"
                error = "" if of["error_pct"] is None else f", times off by {of['error_pct']:.0f} %"
                speed = "" if of["decision_us"] is None else f", a decision {of['decision_us']:.0f} µs"
                yield (
                    f"{policy}, {load}: {of['tasks_s']:.3f} s for {of['tasks']} tasks, {of['on_gpu']} on the GPU"
                    f"{energy}{regret}{error}{speed}"
                )


def _compute_corrected_pct(one: Done) -> float | None:
    predicted = one.decision.gpu_s if one.decision.device == "gpu" else one.decision.cpu_s
    return None if predicted is None or one.seconds <= 0 else 100 * abs(predicted / one.seconds - 1)


def _compute_median(values: Sequence[float]) -> float | None:
    return round(median(values), 3) if values else None
