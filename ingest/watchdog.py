"""Ends a process that uses more processor time than it may, or that does nothing any more.

Time on a clock says little on a busy machine, where a conversion has a low priority: what counts is the work of the
process and all below it. A process hangs if none of them works, reads or writes for a while.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ingest.process_endings import EndedError

LOOK_S = 1.0
"""Between two looks, or a tenth of the shorter limit."""
LONGEST_S = 86_400.0
"""A converter that waits for something by asking again and again never idles, and takes days for its limit."""
_TICKS_S = 0.02
"""Processor time that counts as work: the system counts in steps of 0.01 s."""


@dataclass(frozen=True)
class Used:
    """Processor seconds, and bytes read and written, of a process and all below it."""

    cpu_s: float
    moved: int


class Watchdog:
    """Watches a process while the block runs; ``verdict`` is the cause for which it was ended, if it was.

    Args:
        pid: of the process.
        time_s: processor seconds that it may use, with all below it.
        idle_s: seconds that it may be without progress.
        end: ends it.
    """

    def __init__(self, pid: int, time_s: float, idle_s: float, end: Callable[[], None]) -> None:
        self.verdict = ""
        self._pid, self._time_s, self._idle_s, self._end = pid, time_s, idle_s, end
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def error(self, who: str, detail: str) -> EndedError:
        """Why it was ended."""
        limit = {
            "time": f": {_seconds(self._time_s)}",
            "hang": _seconds(self._idle_s),
            "wall": _seconds(LONGEST_S),
        }
        return EndedError(self.verdict, who, detail, limit=limit[self.verdict])

    def _watch(self) -> None:
        began = worked_at = time.monotonic()
        pause_s = min(LOOK_S, self._time_s / 10, self._idle_s / 10)
        first: Used | None = None
        worked = Used(0.0, 0)
        while not self._over.wait(pause_s):
            now, used = time.monotonic(), _used(self._pid)
            if first is None:  # a process serves several files: what it used before this one is theirs
                first = worked = used
            if used.cpu_s - worked.cpu_s >= _TICKS_S or used.moved != worked.moved:
                worked, worked_at = used, now
            if used.cpu_s - first.cpu_s > self._time_s:
                self.verdict = "time"
            elif now - worked_at > self._idle_s:
                self.verdict = "hang"
            elif now - began > LONGEST_S:
                self.verdict = "wall"
            if self.verdict:
                self._end()
                return


def _used(pid: int) -> Used:
    import psutil  # here: 30 ms, and only for conversions that take a while

    cpu_s, moved = 0.0, 0
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for one in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.Error, AttributeError):  # it has ended; not every system counts bytes
                cpu_s += sum(one.cpu_times()[:4])  # with those of its children that have ended
                counted = one.io_counters()
                moved += counted.read_chars + counted.write_chars
    return Used(cpu_s, moved)


def _seconds(number: float) -> str:
    return f"{number:,.0f} seconds"
