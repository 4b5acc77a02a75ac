"""End a process that exceeds its processor time or makes no progress.

Wall time says little on a busy machine, where conversions have a low priority, so the work of the process and its
children counts. A process hangs if none of them computes, reads or writes for a while.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ingest.process_endings import EndedError

LOOK_S = 1.0
"""Seconds between two looks, or a tenth of the shorter limit if that is less."""
LONGEST_S = 86_400.0
"""A converter that waits by polling never idles and would take days to reach its limit."""
_TICKS_S = 0.02
"""Processor time that counts as work: the system counts in steps of 0.01 s."""


@dataclass(frozen=True)
class Usage:
    """Processor seconds, and bytes read and written, of a process and its children."""

    cpu_s: float
    moved_bytes: int


class Watchdog:
    """Watches a process while the block runs; ``verdict`` is the cause if it ended the process.

    Args:
        pid: id of the process.
        time_s: processor seconds that it may use with its children.
        idle_s: seconds without progress.
        end: ends it.
    """

    def __init__(self, pid: int, time_s: float, idle_s: float, end: Callable[[], None]) -> None:
        self.verdict = ""
        self._pid, self._time_s, self._idle_s, self._end = pid, time_s, idle_s, end
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch_process, daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._thread.join()

    def make_error(self, subject: str, detail: str) -> EndedError:
        """Return the error that explains the end."""
        limit = {
            "time": f": {_format_seconds(self._time_s)}",
            "hang": _format_seconds(self._idle_s),
            "wall": _format_seconds(LONGEST_S),
        }
        return EndedError(self.verdict, subject, detail, limit=limit[self.verdict])

    def _watch_process(self) -> None:
        started = worked_at = time.monotonic()
        pause_s = min(LOOK_S, self._time_s / 10, self._idle_s / 10)
        first: Usage | None = None
        last = Usage(0.0, 0)
        while not self._finished.wait(pause_s):
            now, used = time.monotonic(), _measure_usage(self._pid)
            if first is None:  # the process served other files before, and their usage does not count
                first = last = used
            if used.cpu_s - last.cpu_s >= _TICKS_S or used.moved_bytes != last.moved_bytes:
                last, worked_at = used, now
            if used.cpu_s - first.cpu_s > self._time_s:
                self.verdict = "time"
            elif now - worked_at > self._idle_s:
                self.verdict = "hang"
            elif now - started > LONGEST_S:
                self.verdict = "wall"
            if self.verdict:
                self._end()
                return


def _measure_usage(pid: int) -> Usage:
    import psutil  # here: it takes 30 ms, and only long conversions need it

    cpu_s, moved_bytes = 0.0, 0
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(
                psutil.Error, AttributeError
            ):  # the process has ended, or the system does not count bytes
                cpu_s += sum(process.cpu_times()[:4])  # user and system time, including children that have ended
                io = process.io_counters()
                moved_bytes += io.read_chars + io.write_chars
    return Usage(cpu_s, moved_bytes)


def _format_seconds(number: float) -> str:
    return f"{number:,.0f} seconds"
