"""Read the GPUs' state from NVML in a thread, so that a decision only reads memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from warpdeck.profiling import nvml

INTERVAL_S = 0.05
"""Seconds between readings."""
MEMORY = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of one GPU; unknown values are None.

    ``gpu`` is its number in this program, ``read_s`` its time on the clock of time.perf_counter.
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
    """Memory that a program can have without swapping, None if unknown, and the time of the reading."""

    free_bytes: float | None = None
    read_s: float = float("-inf")


class Readings:
    """The newest reading of each GPU that this program may use, while it is entered.

    Args:
        interval_s: seconds between readings.
        use_gpu: False: act as if there were no GPU.
    """

    def __init__(self, interval_s: float = INTERVAL_S, *, use_gpu: bool = True) -> None:
        self.interval_s = interval_s
        self.latest: tuple[Reading, ...] = ()
        self.host = Host()
        devices = list_visible_gpus([nvml.read_uuid(index) for index in range(nvml.count_gpus())]) if use_gpu else []
        self.has_gpu = nvml.has_gpu() and bool(devices)
        self._devices = {gpu: device for gpu, device in enumerate(devices) if device is not None}
        self._limits = {gpu: nvml.read_limits(device) for gpu, device in self._devices.items()}
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
        """Take one reading now; a GPU that does not answer, such as a lost one, has none."""
        readings = tuple(one for gpu in self._devices if (one := self._read_gpu(gpu)))
        host = Host(read_host_free_bytes(), time.perf_counter())
        with self._read:
            self.latest, self.host = readings, host
            self._read.notify_all()

    def wait(self, timeout_s: float) -> None:
        """Return after the next reading, or after the timeout."""
        with self._read:
            self._read.wait(timeout_s)

    def _read_gpu(self, gpu: int) -> Reading | None:
        values = dict(zip(nvml.READINGS, nvml.read(self._devices[gpu]), strict=True))
        if all(value is None for value in values.values()):
            return None
        total, limit_w, clock = self._limits[gpu]
        used = values["memory_used_bytes"]
        return Reading(
            gpu, time.perf_counter(), values["gpu_utilisation_pct"],
            None if total is None or used is None else total - used, total, values["sm_clock_mhz"], clock,
            values["power_w"], limit_w,
        )  # fmt: skip

    def _read_until_stopped(self) -> None:
        while not self._stop.wait(self.interval_s):
            self.read()


def list_visible_gpus(uuids: Sequence[str | None]) -> list[int | None]:
    """Return NVML's numbers of the GPUs that CUDA shows this program, in CUDA's order.

    CUDA_VISIBLE_DEVICES is read as CUDA does: numbers and prefixes of UUIDs, up to the first that names no GPU. NVML
    counts in the order of the bus, CUDA with CUDA_DEVICE_ORDER=PCI_BUS_ID or if all GPUs are alike.

    Args:
        uuids: UUIDs of the GPUs that NVML lists. If it lists none, any GPU may exist without a number, as may a part of
            a GPU (MIG).
    """
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if setting is None:
        return list(range(len(uuids))) or [None]
    numbers: list[int | None] = []
    for name in map(str.strip, setting.split(",")):
        known = [index for index, uuid in enumerate(uuids) if name == str(index) or _starts_with_name(uuid, name)]
        if len(known) == 1:
            numbers += known
        elif name.startswith("MIG-") or (not uuids and (name.isdecimal() or name.startswith("GPU-"))):
            numbers.append(None)
        else:
            break
    return numbers


def _starts_with_name(uuid: str | None, name: str) -> bool:
    return uuid is not None and name.startswith("GPU-") and uuid.startswith(name)


def read_host_free_bytes() -> float | None:
    """Return the memory that a program can have without swapping, as Linux estimates it; None elsewhere."""
    try:
        for line in MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        return None
    return None
