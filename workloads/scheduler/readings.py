"""What NVML says of the GPUs now: read by a thread, so that a decision looks at memory only."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from workloads import nvml

INTERVAL_S = 0.05
"""Time between readings."""
MEMORY = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of one GPU; None is what it does not tell.

    ``gpu`` is its number in this program, ``read_s`` when it was read on the clock of time.perf_counter.
    """

    gpu: int
    read_s: float
    utilization_pct: float | None = None
    free_bytes: float | None = None
    total_bytes: float | None = None
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """Memory that a program can have without swapping, None where nobody tells, and when that was read."""

    free_bytes: float | None = None
    read_s: float = float("-inf")


class Readings:
    """The newest reading of each GPU that this program may use, while it is entered.

    Args:
        interval_s: time between readings.
        use_gpu: False: as if there were no GPU.
    """

    def __init__(self, interval_s: float = INTERVAL_S, *, use_gpu: bool = True) -> None:
        self.interval_s = interval_s
        self.latest: tuple[Reading, ...] = ()
        self.host = Host()
        shown = visible([nvml.uuid(index) for index in range(nvml.gpu_count())]) if use_gpu else []
        self.has_gpu = nvml.has_gpu() and bool(shown)
        self._devices = {gpu: device for gpu, device in enumerate(shown) if device is not None}
        self._limits = {gpu: nvml.limits(device) for gpu, device in self._devices.items()}
        self._stop = threading.Event()
        self._read = threading.Condition()

    def __enter__(self) -> Readings:
        self.read()
        self._stop.clear()
        self._thread = threading.Thread(target=self._read_until_stopped, name="Readings", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def read(self) -> None:
        """Take one reading now; a GPU that tells nothing, as one that is lost, has none."""
        found = tuple(one for gpu in self._devices if (one := self._reading(gpu)))
        host = Host(host_free_bytes(), time.perf_counter())
        with self._read:
            self.latest, self.host = found, host
            self._read.notify_all()

    def wait(self, timeout_s: float) -> None:
        """Return after the next reading, or after the time."""
        with self._read:
            self._read.wait(timeout_s)

    def _reading(self, gpu: int) -> Reading | None:
        told = dict(zip(nvml.READINGS, nvml.read(self._devices[gpu]), strict=True))
        if all(value is None for value in told.values()):
            return None
        total, limit_w, clock = self._limits[gpu]
        used = told["memory_used_bytes"]
        return Reading(
            gpu, time.perf_counter(), told["gpu_utilisation_pct"],
            None if total is None or used is None else total - used, total, told["sm_clock_mhz"], clock,
            told["power_w"], limit_w,
        )  # fmt: skip

    def _read_until_stopped(self) -> None:
        while not self._stop.wait(self.interval_s):
            self.read()


def visible(uuids: Sequence[str | None]) -> list[int | None]:
    """Return NVML's numbers of the GPUs that CUDA shows this program, in CUDA's order.

    As CUDA reads CUDA_VISIBLE_DEVICES: numbers and beginnings of UUIDs, up to the first that names no GPU. NVML counts
    in the order of the bus, CUDA with CUDA_DEVICE_ORDER=PCI_BUS_ID or where all GPUs are alike.

    Args:
        uuids: of the GPUs that NVML lists. Where it lists none, any may be there; it has no number, nor has a part of
            a GPU (MIG).
    """
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    if told is None:
        return list(range(len(uuids))) or [None]
    found: list[int | None] = []
    for name in map(str.strip, told.split(",")):
        known = [index for index, uuid in enumerate(uuids) if name == str(index) or _begins(uuid, name)]
        if len(known) == 1:
            found += known
        elif name.startswith("MIG-") or (not uuids and (name.isdecimal() or name.startswith("GPU-"))):
            found.append(None)
        else:
            break
    return found


def _begins(uuid: str | None, name: str) -> bool:
    return uuid is not None and name.startswith("GPU-") and uuid.startswith(name)


def host_free_bytes() -> float | None:
    """Return the memory that a program can have without swapping, as Linux estimates it; None elsewhere."""
    try:
        for line in MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        return None
    return None
