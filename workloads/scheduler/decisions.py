"""A decision, and the log of decisions: a row of NAME.tasks.csv each, with its reasons."""

from __future__ import annotations

import csv
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .readings import Reading

HEADER = (
    "task", "size", "device", "part", "seconds", "time_ns", "policy", "load", "reason", "gpu", "cpu_predicted_s",
    "gpu_predicted_s", "decision_s", "waited_s", "gpu_utilisation_pct", "memory_free_bytes", "sm_clock_mhz", "power_w",
    "reading_age_s",
)  # fmt: skip
"""Columns of the log: those of NAME.tasks.csv, then the reasons. ``device`` is none if a task did not run."""
PART, FAILED, DECIDED, WAIT = "run", "failed", "decided", "wait"
"""Part of a row: a run; a task that was refused, or raised an error; a decision without a reported run, and so without
seconds (a run with the same ``time_ns`` replaces it); and a decision to wait."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a task runs, and why.

    Args:
        task: its name in the model.
        size: its size.
        precision: fp32 ...
        device: cpu, gpu, wait (ask again) or none (it fits nowhere).
        reason: why, in words.
        gpu: number of the GPU; None for other devices.
        cpu_s: predicted seconds on the CPU; None if unknown.
        gpu_s: predicted seconds on the GPU, copies included, under its present load.
        time_ns: time of the decision (CLOCK_REALTIME).
        decision_s: seconds that the decision took.
        wait_s: for ``wait``, the seconds that waiting is worth.
        reading: reading of the GPU.
        age_s: age of the reading.
        busy: whether others used the GPU.
    """

    task: str
    size: float
    precision: str
    device: str
    reason: str
    gpu: int | None = None
    cpu_s: float | None = None
    gpu_s: float | None = None
    time_ns: int = 0
    decision_s: float = 0.0
    wait_s: float = 0.0
    reading: Reading | None = None
    age_s: float | None = None
    busy: bool = False


class DecisionLog:
    """NAME.tasks.csv, for any thread; each row is in the file once it is written. No file without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._lock = threading.Lock()
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(",".join(HEADER) + "\n", encoding="utf-8")
        self.open()

    def open(self) -> None:
        """Continue the file if it was closed."""
        if self._path and not self._file:
            self._file = self._path.open("a", newline="", encoding="utf-8", buffering=1)  # a line at a time
            self._writer = csv.writer(self._file, lineterminator="\n")

    def write(
        self, decision: Decision, seconds: float, *, label: str | None = None, policy: str = "", load: str = "",
        waited_s: float = 0.0, part: str = PART,
    ) -> None:  # fmt: skip
        """Write a decision and its result; ``label`` names the task if its name alone does not."""
        if not self._file:
            return
        reading = decision.reading
        now = (
            (reading.utilization_pct, reading.free_bytes, reading.sm_clock_mhz, reading.power_w)
            if reading
            else (None,) * 4
        )
        device = decision.device if decision.device in ("cpu", "gpu") and part != FAILED else "none"
        took = _format_seconds(None if part == DECIDED else seconds)
        words = (label or decision.task, f"{decision.size:.0f}", device, part, took, decision.time_ns)
        why = (
            policy,
            load,
            decision.reason,
            decision.gpu,
            _format_seconds(decision.cpu_s),
            _format_seconds(decision.gpu_s),
        )
        spent = (_format_seconds(decision.decision_s), _format_seconds(waited_s or None))
        age = None if decision.age_s is None else f"{decision.age_s:.3f}"
        with self._lock:
            self._writer.writerow((*words, *why, *spent, *now, age))

    def close(self) -> None:
        """Write the rest."""
        if self._file:
            self._file.close()
            self._file = None


def _format_seconds(value: float | None) -> str:
    """Format long times with seven decimals, short ones in nanoseconds."""
    return "" if value is None else f"{value:.7f}" if value >= 0.001 else f"{value:.9f}"
