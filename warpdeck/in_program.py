"""Captures from within a program: ``from warpdeck import capture``.

    with capture("evaluation"):                     # evaluation.pt.trace.json.gz
        evaluate()

    @capture.every(steps=1000, record=10)           # training_step_1000, training_step_2000, ...
    def training_step(batch): ...

The PyTorch profiler records, or nsys where it started the program (``--capture-range=cudaProfilerApi``
``--capture-range-end=repeat``). Traces go to the folder ``WARPDECK_CAPTURES``, else to ``warpdeck-captures``; with
``WARPDECK_SERVER`` and ``WARPDECK_TOKEN`` also to a server, beside the run. All ranks count the same calls, and so
record the same steps. Whatever goes wrong is a line in the log ``warpdeck``: the program goes on.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from warpdeck.profiling.file_names import claim_name
from warpdeck.profiling.push_process import push_file
from warpdeck.profiling.ranks import read_rank

FOLDER = "WARPDECK_CAPTURES"
MOST = 20
"""Captures of a process; further ones are left out."""
END_S = 60.0
"""Seconds that a program waits at its end for captures that are being written and sent."""
P = ParamSpec("P")
R = TypeVar("R")
_log = logging.getLogger("warpdeck")


class Window:
    """One recording of the PyTorch profiler or of nsys; it never raises."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._profiler: Any = None
        self._is_nsys = "NSYS_PROFILING_SESSION_ID" in os.environ

    def open(self) -> None:
        """Start to record on this thread."""
        with _log_errors():
            import torch

            if self._is_nsys:
                _call_profiler("cudaProfilerStart")
                return
            activities = [torch.profiler.ProfilerActivity.CPU]
            if torch.cuda.is_available():
                activities.append(torch.profiler.ProfilerActivity.CUDA)
            profiler = torch.profiler.profile(activities=activities, record_shapes=True)
            profiler.start()
            self._profiler = profiler

    def close(self) -> threading.Thread | None:
        """Stop; return the thread that writes the trace and sends it."""
        with _log_errors():
            if self._is_nsys:
                _call_profiler("cudaProfilerStop")
                return None
            profiler, self._profiler = self._profiler, None
            if profiler is not None:
                profiler.stop()
                thread = threading.Thread(
                    target=self._write_capture, args=(profiler,), name="warpdeck-capture", daemon=True
                )
                thread.start()
                return thread
        return None

    def _write_capture(self, profiler: Any) -> None:
        with _log_errors():
            folder = Path(os.environ.get(FOLDER) or "warpdeck-captures").absolute()
            folder.mkdir(parents=True, exist_ok=True)
            rank = read_rank()
            label = re.sub(r"[^A-Za-z0-9._-]+", "_", self.label).strip("._-")[:80] or "capture"
            stem = claim_name(folder, label, f"_rank{rank.number}" if rank else "")
            (folder / f"{stem}.meta.json").write_text(
                f'{{"rank": {rank.number}, "ranks": {rank.size}}}\n' if rank else "{}\n", encoding="utf-8"
            )
            half = folder / f".{stem}.pt.trace.json.gz"
            profiler.export_chrome_trace(str(half))
            path = half.rename(folder / f"{stem}.pt.trace.json.gz")
            self._send_capture(path)

    def _send_capture(self, path: Path) -> None:
        if os.environ.get("WARPDECK_SERVER", "").strip():
            is_sent, message = push_file(path)
            _log.log(logging.INFO if is_sent else logging.WARNING, "%s", message)


class Schedule:
    """Records some steps out of many. Call ``begin`` and ``end`` around each step, on one thread."""

    def __init__(self, capture: Capture, label: str, steps: int, record: int) -> None:
        """Raise ValueError unless 0 < record <= steps."""
        if not 0 < record <= steps:
            raise ValueError("capture.every needs 0 < record <= steps")
        self._capture, self._label, self._steps, self._record = capture, label, steps, record
        self.step = 0
        """Steps that began so far."""
        self._next = steps
        self._window: Window | None = None
        self._range: Any = None

    def begin(self) -> None:
        """Start a step."""
        if self.step >= self._next:
            self._begin_recorded()
        self.step += 1

    def end(self) -> None:
        """End a step."""
        if self._window is not None:
            self._end_recorded()

    def _begin_recorded(self) -> None:
        if self._window is None and self.step == self._next:
            self._window = self._capture.open(f"{self._label}_{self.step}")
        if self._window is not None:
            with _log_errors():
                import torch

                self._range = torch.profiler.record_function(f"step_{self.step}")
                self._range.__enter__()

    def _end_recorded(self) -> None:
        if self._range is not None:
            with _log_errors():
                self._range.__exit__(None, None, None)
            self._range = None
        if self.step >= self._next + self._record:
            window, self._window = self._window, None
            self._next += self._steps
            assert window is not None
            self._capture.close(window)


class Capture:
    """Makes captures; ``capture`` is the one of this process."""

    def __init__(self) -> None:
        self._made = 0
        self._open: Window | None = None
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @contextmanager
    def __call__(self, label: str) -> Iterator[None]:
        """Record the body. A capture within a capture records nothing of its own."""
        window = self.open(label)
        try:
            yield
        finally:
            if window is not None:
                self.close(window)

    def every(self, steps: int, record: int = 10, label: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate the function of a step: ``record`` calls of every ``steps`` are recorded.

        Raises:
            ValueError: unless 0 < record <= steps.
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            schedule = self.schedule(steps, record, label or function.__name__)

            @functools.wraps(function)
            def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
                schedule.begin()
                try:
                    return function(*args, **kwargs)
                finally:
                    schedule.end()

            return recorded

        return decorate

    def schedule(self, steps: int, record: int = 10, label: str = "training") -> Schedule:
        """Return a schedule for a loop that calls ``begin`` and ``end`` itself."""
        return Schedule(self, label, steps, record)

    def trainer_callback(self, steps: int, record: int = 10, label: str = "training") -> Any:
        """Return a callback for the Trainer of Hugging Face: ``Trainer(callbacks=[...])``."""
        from transformers import TrainerCallback

        schedule = self.schedule(steps, record, label)
        methods = {
            "on_step_begin": lambda *_, **__: schedule.begin(),
            "on_step_end": lambda *_, **__: schedule.end(),
        }
        return type("WarpdeckCallback", (TrainerCallback,), methods)()

    def lightning_callback(self, steps: int, record: int = 10, label: str = "training") -> Any:
        """Return a callback for the Trainer of Lightning: ``Trainer(callbacks=[...])``."""
        from lightning import Callback

        schedule = self.schedule(steps, record, label)
        methods = {
            "on_train_batch_start": lambda *_, **__: schedule.begin(),
            "on_train_batch_end": lambda *_, **__: schedule.end(),
        }
        return type("WarpdeckCallback", (Callback,), methods)()

    def open(self, label: str) -> Window | None:
        """Open a window; None while another one is open, and after ``MOST`` of them."""
        with self._lock:
            if self._open is not None or self._made >= MOST:
                return None
            self._open = window = Window(label)
            self._made += 1
            if self._made == 1:
                atexit.register(self.wait)
        window.open()
        return window

    def close(self, window: Window) -> None:
        """Close a window; its trace is written beside the program."""
        thread = window.close()
        with self._lock:
            self._open = None
            self._threads = [one for one in self._threads if one.is_alive()] + ([thread] if thread else [])

    def wait(self, seconds: float = END_S) -> None:
        """Wait until all traces are written and sent, for so many seconds at most."""
        limit = time.monotonic() + seconds
        for thread in list(self._threads):
            with suppress(RuntimeError):
                thread.join(max(0.0, limit - time.monotonic()))


def _call_profiler(name: str) -> None:
    """Call a function of the CUDA runtime after all work so far."""
    import torch

    cuda: Any = torch.cuda
    cuda.synchronize()
    getattr(cuda.cudart(), name)()


@contextmanager
def _log_errors() -> Iterator[None]:
    """Turn an error into a line of the log: a capture never ends the program that it is about."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        _log.warning("Warpdeck capture: %s: %s", type(error).__name__, error)


capture = Capture()
