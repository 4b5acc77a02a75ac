"""Read GPUs through NVIDIA's management library (pynvml, the package nvidia-ml-py) if it is available."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

READINGS = (
    "power_w",
    "average_power_w",
    "energy_mj",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "memory_used_bytes",
    "gpu_utilisation_pct",
    "memory_utilisation_pct",
)
"""Columns of a reading. `power_w` is of this instant and `average_power_w` of the last second (where a GPU tells only
one of them, both are that one). `energy_mj` counts from the loading of the driver, in millijoules. A utilization is the
share of the driver's last sampling period (about 0.2 s) in which a kernel ran, or memory was read or written."""

Reading = tuple[float | None, ...]


@cache
def load_library() -> Any | None:
    """Return pynvml, initialized; None if the package or the driver is missing."""
    try:
        pynvml = importlib.import_module("pynvml")
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def count_gpus() -> int:
    """Return the number of GPUs that the driver shows."""
    pynvml = load_library()
    return int(_ask_nvml(pynvml.nvmlDeviceGetCount) or 0) if pynvml else 0


def has_gpu() -> bool:
    """Return True if there is a GPU, even one that NVML does not support."""
    return count_gpus() > 0 or any(Path("/dev").glob("nvidia[0-9]*"))


def read_driver_version() -> str | None:
    pynvml = load_library()
    return _decode_text(pynvml.nvmlSystemGetDriverVersion()) if pynvml else None


def read_uuid(index: int) -> str | None:
    """Return the identity of a GPU, such as GPU-12ab..., which reports contain too; None if unknown."""
    pynvml = load_library()
    assert pynvml is not None
    handle = _get_handle(index)
    answer = None if handle is None else _ask_nvml(pynvml.nvmlDeviceGetUUID, handle)
    return None if answer is None else _decode_text(answer)


def describe_gpus() -> list[dict[str, object]]:
    """Return name, memory and power limit of each GPU; None for unknown values."""
    pynvml = load_library()
    if not pynvml:
        return []
    described: list[dict[str, object]] = []
    for index in range(count_gpus()):
        handle = _get_handle(index)
        name = None if handle is None else _ask_nvml(pynvml.nvmlDeviceGetName, handle)
        memory_bytes, limit_w, _ = read_limits(index)
        described.append(
            {
                "name": None if name is None else _decode_text(name),
                "memory_bytes": memory_bytes,
                "power_limit_w": limit_w,
            }
        )
    return described


def read_limits(index: int) -> tuple[float | None, float | None, float | None]:
    """Return memory (bytes), power limit (watts) and highest SM clock (MHz) of a GPU; None for unknown values."""
    pynvml = load_library()
    assert pynvml is not None
    handle = _get_handle(index)
    if handle is None:
        return None, None, None
    memory = _ask_nvml(pynvml.nvmlDeviceGetMemoryInfo, handle)
    limit_mw = _ask_nvml(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    return (
        None if memory is None else memory.total,
        None if limit_mw is None else limit_mw / 1000,
        _ask_nvml(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM),
    )


def read(index: int) -> Reading:
    """Return one value for each of READINGS; None for values that this GPU does not report."""
    pynvml = load_library()
    assert pynvml is not None
    handle = _get_handle(index)
    if handle is None:
        return (None,) * len(READINGS)
    average_mw = _ask_nvml(pynvml.nvmlDeviceGetPowerUsage, handle)
    power_mw = _read_instant_power_mw(handle) or average_mw
    memory = _ask_nvml(pynvml.nvmlDeviceGetMemoryInfo, handle)
    utilization = _ask_nvml(pynvml.nvmlDeviceGetUtilizationRates, handle)
    return (
        None if power_mw is None else power_mw / 1000,
        None if average_mw is None else average_mw / 1000,
        _ask_nvml(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle),
        _ask_nvml(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        _ask_nvml(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM),
        _ask_nvml(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        None if memory is None else memory.used,
        None if utilization is None else utilization.gpu,
        None if utilization is None else utilization.memory,
    )


def _get_handle(index: int) -> Any | None:
    """Return NVML's handle of a GPU; None if it is lost."""
    pynvml = load_library()
    assert pynvml is not None
    return _ask_nvml(pynvml.nvmlDeviceGetHandleByIndex, index)


def _read_instant_power_mw(handle: Any) -> int | None:
    pynvml = load_library()
    assert pynvml is not None
    values = _ask_nvml(pynvml.nvmlDeviceGetFieldValues, handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])
    if values is None or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return int(values[0].value.uiVal)


def _ask_nvml(function: Callable[..., Any], *arguments: object) -> Any | None:
    """Call a function of NVML; return None if this GPU does not support it, or does not answer."""
    pynvml = load_library()
    assert pynvml is not None
    try:
        return function(*arguments)
    except pynvml.NVMLError:
        return None


def _decode_text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
