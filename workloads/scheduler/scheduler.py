"""The scheduler decides by the learned model, the readings of NVML, and the times of this program's own runs.

In this order:

1. What does not fit is not tried. A task needs what the caller says, else ROOM times the bytes that go in and out. One
   that no GPU has free now, though it could, waits as long as that is worth it.
2. Where no GPU is, or NVML is silent, or a reading is older than STALE_S, or no model is there, or the model was not as
   good as the threshold when this task was left out of its data (``TimeModel.trust``): the threshold of the task, from
   which on the GPU won. Without one the CPU. The threshold is that of a free GPU: one that others use is decided on
   by times.
3. Else the faster device, by the model and the present load (load.py), or the one that takes less energy
   (objective.py). Among GPUs the one that will be ready first.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from ..errors import WorkloadError
from ..learning import costs
from ..learning.plain import Estimate
from ..ranges import mark
from .decisions import DECIDED, FAILED, WAIT, Decision, DecisionLog
from .load import BUSY_PCT, Correction, Own, estimate_at_clock
from .memory import ROOM, decide_by_memory, fits
from .objective import Objective
from .readings import Reading, Readings
from .trust import judge_model, match_machine

STALE_S = 1.0
"""Age in seconds from which on a reading is ignored."""
NO_PRECISION = ""
"""Precision of tasks learned from a table without precisions: it matches any."""
WINDOW_S = 0.3
"""Seconds that a utilization of NVML covers."""

P = ParamSpec("P")
R = TypeVar("R")
Thresholds = Mapping[str, float] | Mapping[tuple[str, str], float]


class TooLargeError(WorkloadError):
    """A task fits into the memory of no device."""


class Scheduler:
    """Makes decisions while it is entered.

    Args:
        model: file of `python -m workloads learn`, a model, or None.
        log: path without suffix; each decision is a row of LOG.tasks.csv.
        thresholds: sizes from which on a task goes to the GPU (`warpdeck crossover`), by task, or by task and
            precision, in place of those that the model has.
        readings: by default those of NVML.
        policy: name of this scheduler in the log.
        energy_weight: what makes a device the better one, from time alone (0) to energy alone (1), where the model has
            learned energy (objective.py).
        host_w: power of the host while this program works, which no meter tells.
    """

    def __init__(
        self,
        model: str | Path | costs.TimeModel | None = None,
        *,
        log: str | Path | None = None,
        thresholds: Thresholds | None = None,
        readings: Readings | None = None,
        policy: str = "model",
        energy_weight: float = 0.0,
        host_w: float = 0.0,
    ) -> None:
        known = costs.load(Path(model)) if isinstance(model, str | Path) else model
        self.readings = readings or Readings()
        self.policy = policy
        self.machine, self.is_known = match_machine(known) if known else ("", False)
        self._objective = Objective(energy_weight, known.get_idle_w(self.machine) if known else None, host_w)
        self._lines = known.make_lines(self.machine) if known else {}
        self._given: dict[Any, float] = dict(thresholds or {})
        self._limits: dict[Any, float] = {**(known.limits if known else {}), **self._given}
        self._trusted = {key: judge_model(known, key, self.is_known) for key in self._lines} if known else {}
        self._log = DecisionLog(None if log is None else Path(f"{log}.tasks.csv"))
        self._cpu = Correction()
        self._free: dict[int | None, Correction] = {}
        self._shared: dict[int | None, Correction] = {}
        self._own: dict[int | None, Own] = {}
        self._entered = readings is None
        self._learning = threading.Lock()

    def __enter__(self) -> Scheduler:
        if self._entered:
            self.readings.__enter__()
        self._log.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered:
            self.readings.__exit__(kind, error, trace)
        self._log.close()

    def schedule(
        self,
        task: str,
        size: float,
        precision: str = "fp32",
        *,
        needs_bytes: float | None = None,
        waited_s: float = 0.0,
    ) -> Decision:
        """Return where a task of a size runs, and log it; pass its duration to ``finished``.

        Args:
            task: its name in the model.
            size: its size, as the model counts.
            precision: fp32 ...
            needs_bytes: memory that it needs on a device, if known.
            waited_s: seconds it has waited already.
        """
        decision = self._decide_device(task, size, precision, needs_bytes, waited_s)
        part = {"wait": WAIT, "none": FAILED}.get(decision.device, DECIDED)
        self._log.write(decision, 0.0, policy=self.policy, waited_s=waited_s, part=part)
        return decision

    def _decide_device(
        self, task: str, size: float, precision: str, needs_bytes: float | None, waited_s: float = 0.0
    ) -> Decision:
        started = time.perf_counter()
        estimate = self._estimate_times(task, size, precision)
        if needs_bytes is None and estimate:
            needs_bytes = ROOM * estimate.moved_bytes
        readings, host = self.readings.latest if self.readings.has_gpu else (), self.readings.host
        latest = [one for one in readings if started - one.read_s <= STALE_S]
        host_free = host.free_bytes if started - host.read_s <= STALE_S else None
        ready = [one for one in latest if fits(needs_bytes, one.free_bytes)]
        cpu_s = self._cpu(estimate.cpu_s) if estimate else None
        gpu_s, reading = self._find_soonest(estimate, ready or latest, started) if estimate else (None, None)
        reading = reading or next(iter(ready or latest), None)
        shared = reading is not None and self._is_shared(reading, started)
        choice = decide_by_memory(
            needs_bytes, latest, host_free, gain_s=(cpu_s or 0.0) - (gpu_s or 0.0),
            waited_s=waited_s, interval_s=self.readings.interval_s,
        )  # fmt: skip
        if choice is None:
            choice = self._choose_device(task, size, precision, estimate, cpu_s, gpu_s, reading, shared)
        device, reason, wait_s = choice
        age_s = max(started - reading.read_s, 0.0) if reading else None  # a new reading may arrive meanwhile
        gpu = (reading.gpu if reading else 0) if device == "gpu" else None
        mark(f"schedule {task}_{size:.0f}: {device}{'' if gpu is None else f' {gpu}'}")
        return Decision(
            task, size, precision, device, reason, gpu, cpu_s, gpu_s, time.time_ns(), wait_s=wait_s, reading=reading,
            age_s=age_s, busy=shared, decision_s=time.perf_counter() - started,
        )  # fmt: skip

    def _choose_device(
        self, task: str, size: float, precision: str, estimate: Estimate | None, cpu_s: float | None,
        gpu_s: float | None, reading: Reading | None, shared: bool,
    ) -> tuple[str, str, float]:  # fmt: skip
        """Decide by time or energy, with a reason from a small set."""
        if not self.readings.has_gpu:
            return "cpu", "no GPU", 0.0
        if estimate is None or cpu_s is None or gpu_s is None:
            why = "never measured" if self._lines else "no model"
        elif reading is None:
            why = "NVML is silent"
        elif not shared and not self._is_trusted(task, size, precision):
            why = "model no better"
        else:
            better, why = self._objective(estimate, cpu_s, gpu_s)
            return better, f"{why}, GPU shared" if shared else why, 0.0
        limit = self._find_limit(task, precision)
        if limit is None:
            return "cpu", f"{why}, no threshold", 0.0
        if limit == float("inf"):
            return "cpu", f"{why}: the GPU never won", 0.0
        return ("gpu" if size >= limit else "cpu"), f"{why}: threshold {limit:,.0f}", 0.0

    def _find_limit(self, task: str, precision: str) -> float | None:
        """Return the size from which on the GPU wins: as given, else learned, else that of other tasks."""
        for limits in (self._given, self._limits):
            for key in ((task, precision), task, (task, NO_PRECISION)):
                if key in limits:
                    return limits[key]
        return self._limits.get((costs.ANY, precision), self._limits.get((costs.ANY, NO_PRECISION)))

    def _choose_key(self, task: str, precision: str) -> tuple[str, str]:
        return (task, precision if (task, precision) in self._lines else NO_PRECISION)

    def _estimate_times(self, task: str, size: float, precision: str) -> Estimate | None:
        line = self._lines.get(self._choose_key(task, precision))
        return line(max(size, 1)) if line else None

    def _is_trusted(self, task: str, size: float, precision: str) -> bool:
        key = self._choose_key(task, precision)
        return self._trusted[key][size > self._lines[key].largest]

    def _find_soonest(
        self, estimate: Estimate, among: Iterable[Reading], now_s: float
    ) -> tuple[float, Reading | None]:  # fmt: skip
        """Return the GPU that will be ready first, and when; without readings as if it were free."""
        best: tuple[float, Reading | None] = (estimate.gpu_s, None)
        for reading in among:
            expected_s = estimate_at_clock(estimate, reading)
            seconds = self._get_correction(reading.gpu, shared=self._is_shared(reading, now_s))(expected_s)
            if best[1] is None or seconds < best[0]:
                best = seconds, reading
        return best

    def _is_shared(self, reading: Reading, now_s: float) -> bool:
        """Return True if others use a GPU: NVML's utilization less this program's own."""
        own = self._own.get(reading.gpu)
        used = reading.utilization_pct or 0.0
        return used - (100 * own.compute_share(now_s) if own else 0.0) >= BUSY_PCT

    def _get_correction(self, gpu: int | None, *, shared: bool) -> Correction:
        corrections = self._shared if shared else self._free
        if gpu not in corrections:
            corrections[gpu] = Correction(2.0, doubt=1.0) if shared else Correction()
        return corrections[gpu]

    def finished(self, decision: Decision, seconds: float, *, waited_s: float = 0.0, **words: str) -> None:
        """Learn from a finished run and log it.

        Args:
            decision: result of ``schedule``.
            seconds: duration of the task on its device, copies included.
            waited_s: earlier wait for a GPU.
            words: label, policy and load, as of ``DecisionLog.write``.
        """
        estimate = self._estimate_times(decision.task, decision.size, decision.precision)
        if estimate and seconds > 0:
            with self._learning:
                self._learn_times(decision, estimate, seconds)
        self._log.write(decision, seconds, waited_s=waited_s, **{"policy": self.policy, **words})

    def _learn_times(self, decision: Decision, estimate: Estimate, seconds: float) -> None:
        if decision.device == "cpu":
            self._cpu.learn(estimate.cpu_s, seconds)
        elif decision.device == "gpu":
            expected_s = estimate_at_clock(
                estimate, decision.reading
            )  # the load is not charged with the effect of the clock
            self._get_correction(decision.gpu, shared=decision.busy).learn(expected_s, seconds)
            own = self._own.setdefault(decision.gpu, Own(WINDOW_S))
            own.add(time.perf_counter(), min(estimate.compute_s, seconds))

    @contextmanager
    def place(
        self, task: str, size: float, precision: str = "fp32", needs_bytes: float | None = None, **words: str
    ) -> Iterator[Decision]:
        """Wrap a task: wait if so decided, time the body and log it.

        Raises:
            TooLargeError: it fits nowhere.
        """
        words = {"policy": self.policy, **words}
        started, waited_s = time.perf_counter(), 0.0
        decision = self._decide_device(task, size, precision, needs_bytes)
        while decision.device == "wait":
            self._log.write(decision, 0.0, part=WAIT, waited_s=waited_s, **words)
            self.readings.wait(decision.wait_s)
            waited_s = time.perf_counter() - started
            decision = self._decide_device(task, size, precision, needs_bytes, waited_s)
        begun = time.perf_counter()
        try:
            if decision.device == "none":
                raise TooLargeError(f"{task} of size {size:,.0f} fits into no memory: {decision.reason}.")
            yield decision
        except BaseException:
            self._log.write(decision, 0.0, part=FAILED, waited_s=waited_s, **words)
            raise
        self.finished(decision, time.perf_counter() - begun, waited_s=waited_s, **words)

    def scheduled(
        self, task: str, size: Callable[..., float], precision: str = "fp32"
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Make a function run where the scheduler decides, by ``size`` of its arguments; it gets ``device``, such as
        cuda:0."""

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            signature = inspect.signature(function)

            @functools.wraps(function)
            def run_placed(*args: P.args, **kwargs: P.kwargs) -> R:
                bound = signature.bind_partial(*args, **kwargs)  # by position if possible, as len needs it
                with self.place(task, size(*bound.args, **bound.kwargs), precision) as decision:
                    device: dict[str, Any] = {"device": "cpu" if decision.gpu is None else f"cuda:{decision.gpu}"}
                    return function(*args, **{**kwargs, **device})

            return run_placed

        return decorate
