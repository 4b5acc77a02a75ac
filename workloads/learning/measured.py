"""Read measured tasks of the workload `tasks`: NAME.tasks.csv, with NAME.meta.json and NAME.nvml.csv beside it.

Without a profiler there is no report with features; the figures are defined as those of `warpdeck features`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import COMMAND
from ..errors import WorkloadError
from .table import ENERGY, ROWS, Row, estimate_work, name_machine

if TYPE_CHECKING:
    import pandas as pd

ENDING = ".tasks.csv"
_NEEDED = ("task", "size", "device", "part", "seconds")
_LOGGED = ("time_ns", "device", "energy_mj", "power_w")
_TEXTS = ("task", "device", "part")


def read(path: Path) -> list[Row]:
    """Return a row per task and size.

    Raises:
        WorkloadError: the file is invalid, or NAME.meta.json lacks the bytes of each task.
    """
    times, facts = (
        _read_table(path, _NEEDED),
        _read_facts(path.with_name(path.name.removesuffix(ENDING) + ".meta.json")),
    )
    log = path.with_name(path.name.removesuffix(ENDING) + ".nvml.csv")
    joules, idle_w = (
        _measure_energy(times, _read_table(log, _LOGGED)) if log.exists() and "repetitions" in times else ({}, None)
    )
    name = name_machine(_read_gpu_name(facts), facts.get("cpu_name"))
    flops, both, back = (
        _read_values_by_task(facts, name) for name in ("flops_by_task", "bytes_by_task", "result_bytes_by_task")
    )
    rows = []
    for (task, size), seconds in _compute_medians(times).items():
        moved = both.get(f"{task}_{size}")
        if not moved:
            raise WorkloadError(f"{path}: its .meta.json has no bytes_by_task. Run {COMMAND} profile tasks anew.")
        work, result = estimate_work(flops.get(f"{task}_{size}"), moved), back.get(f"{task}_{size}", 0.0)
        if (task, size) in joules:
            seconds[ENERGY] = joules[task, size]
        rows.append(Row(name, task, str(facts.get("precision", "")), size, moved, work, seconds, idle_w, result))
    return rows


def _read_table(path: Path, needed: Sequence[str]) -> pd.DataFrame:
    """Return a table with numbers in all columns but those of texts; invalid numbers are missing."""
    import pandas as pd

    try:
        table = pd.read_csv(path, nrows=ROWS, dtype={"task": "str"})
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path} cannot be read as a table: {error}.") from error
    if missing := [name for name in needed if name not in table]:
        raise WorkloadError(f"{path} has no column {missing[0]}.")
    for name in map(str, table.columns):
        if name not in _TEXTS:
            table[name] = pd.to_numeric(table[name], errors="coerce")
    return table


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path} is needed beside the times, and cannot be read.") from error
    return facts if isinstance(facts, dict) else {}


def _read_values_by_task(facts: dict[str, Any], name: str) -> dict[str, float]:
    values = facts.get(name)
    pairs = values.items() if isinstance(values, dict) else ()
    return {key: float(value) for key, value in pairs if isinstance(value, (int, float)) and 0 < value < 1e300}


def _read_gpu_name(facts: dict[str, Any]) -> object:
    gpus = facts.get("gpus")
    first = gpus[0] if isinstance(gpus, list) and gpus else None
    return first.get("name") if isinstance(first, dict) else None


def _compute_medians(times: pd.DataFrame) -> dict[tuple[str, int], dict[str, float]]:
    """Return seconds of each task and size: of all parts by device, of complete repetitions, and of computing."""
    own = times[times["device"].isin(("cpu", "gpu")) & (times["seconds"] > 0) & (times["size"] > 0)]
    key = ["task", "size", "device"]
    own = own.assign(repetition=own.groupby([*key, "part"]).cumcount())
    runs = own.groupby([*key, "repetition"])["seconds"].agg(["sum", "count"]).reset_index()
    complete = runs[runs["count"] == runs.groupby(key)["count"].transform("max")]
    medians: dict[tuple[str, int], dict[str, float]] = {}
    for one in complete.groupby(key)["sum"].median().reset_index().to_dict("records"):
        medians.setdefault((str(one["task"]), int(one["size"])), {})[str(one["device"])] = float(one["sum"])
    computing = own[(own["device"] == "gpu") & (own["part"] == "compute")]
    for one in computing.groupby(["task", "size"])["seconds"].median().reset_index().to_dict("records"):
        medians[str(one["task"]), int(one["size"])]["gpu_compute"] = float(one["seconds"])
    return medians


def _measure_energy(times: pd.DataFrame, log: pd.DataFrame) -> tuple[dict[tuple[str, int], float], float | None]:
    """Return joules of a repetition of each task and size on the GPU, and the lowest power reading."""
    energies = {}
    for one in times[(times["repetitions"] > 0) & (times["size"] > 0)].to_dict("records"):
        first, seconds = float(one["time_ns"]), float(one["seconds"])
        power = [_compute_mean_w(own, first, first + 1e9 * seconds) for _, own in log.groupby("device")]
        if known := [watts for watts in power if watts is not None]:
            energies[str(one["task"]), int(one["size"])] = sum(known) * seconds / float(one["repetitions"])
    idle = log[log["power_w"] > 0].groupby("device")["power_w"].min()
    return energies, float(idle.sum()) if energies and len(idle) else None


def _compute_mean_w(log: pd.DataFrame, first_ns: float, last_ns: float) -> float | None:
    """Return the mean power between the first and the last change of the counter within a time; None without two."""
    joules, times = log["energy_mj"].to_numpy(float) / 1000, log["time_ns"].to_numpy(float)
    changed = np.flatnonzero(np.diff(joules) > 0) + 1
    inside = changed[(times[changed] >= first_ns) & (times[changed] <= last_ns)]
    if len(inside) < 2:
        return None
    start, end = inside[0], inside[-1]
    return float((joules[end] - joules[start]) / (times[end] - times[start]) * 1e9)
