"""A log of power, clocks, temperature and memory of the GPUs: NAME.nvml.csv beside a report.

The log has a row per reading and GPU: ``time_ns`` (CLOCK_REALTIME, nanoseconds since 1970, as in a report's session
start), ``elapsed_s`` (seconds since the monitor started), ``device`` (index), ``uuid`` (its identity), and
``nvml.READINGS``. Values that a GPU does not tell are empty. Without a GPU the monitor says so once and does nothing.
"""

from __future__ import annotations

import csv
import functools
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from warpdeck.profiling import nvml

HEADER = ("time_ns", "elapsed_s", "device", "uuid", *nvml.READINGS)
COLUMN = {name: index for index, name in enumerate(HEADER)}

Row = tuple[float | int | str | None, ...]


@functools.cache
def say_that_there_is_no_gpu() -> None:
    """Report it once per process."""
    print("No GPU that NVML can read: power and clocks are not logged.", file=sys.stderr)


class GPUMonitor:
    """Reads every GPU at a set rate in its own thread while its body runs."""

    def __init__(
        self,
        prefix: str | Path | None = None,
        interval_s: float = 0.02,
        devices: Sequence[int] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        """Write PREFIX.nvml.csv at the end (nothing if `prefix` is None) for `devices`, by default all.

        With `quiet`, a missing GPU is not reported.
        """
        self.quiet = quiet
        self.prefix = None if prefix is None else Path(prefix)
        self.interval_s = interval_s
        self.rows: list[Row] = []
        """Rows of the file: one per reading and GPU."""
        self.devices = list(range(nvml.count_gpus()) if devices is None else devices)
        self._uuids = {device: nvml.read_uuid(device) for device in self.devices}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_until_stopped, name="GPUMonitor", daemon=True)
        self._start_ns = 0

    def __enter__(self) -> GPUMonitor:
        self._start_ns = time.time_ns()
        if self.devices:
            self.read()
            self._thread.start()
        elif not self.quiet:
            say_that_there_is_no_gpu()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.devices:
            return
        self._stop.set()
        self._thread.join()
        self.read()
        if self.prefix:
            self.write(self.prefix.with_name(self.prefix.name + ".nvml.csv"))

    def write(self, path: Path, device: int | None = None) -> None:
        """Write the readings so far, of one GPU if `device` is given; nothing without readings."""
        rows = [row for row in self.rows if device in (None, row[COLUMN["device"]])]
        if rows:
            write_csv(path, HEADER, rows)

    def read(self) -> None:
        """Take one reading of each GPU now."""
        for device in self.devices:
            now_ns = time.time_ns()
            elapsed_s = (now_ns - self._start_ns) / 1e9
            self.rows.append((now_ns, elapsed_s, device, self._uuids[device], *nvml.read(device)))

    def _read_until_stopped(self) -> None:
        while not self._stop.wait(self.interval_s):
            self.read()

    def joules_now(self) -> float | None:
        """Return the sum of the GPUs' energy counters in joules; None without counters."""
        column = nvml.READINGS.index("energy_mj")
        counters = [nvml.read(device)[column] for device in self.devices]
        if not counters or None in counters:
            return None
        return sum(counter for counter in counters if counter is not None) / 1000


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write `header` and `rows` as CSV and create the folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{value:.9f}" if isinstance(value, float) else value for value in row] for row in rows)
