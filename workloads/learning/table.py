"""The training table: the output of `warpdeck features`, a row per task, size and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import COMMAND
from ..errors import WorkloadError

if TYPE_CHECKING:
    import pandas as pd

ENERGY = "gpu_energy"
TARGETS = {
    "cpu": ("cpu_total_median_ns", 1e-9), "gpu": ("gpu_total_median_ns", 1e-9),
    "gpu_compute": ("gpu_compute_median_ns", 1e-9), ENERGY: ("gpu_energy_j", 1.0),
}  # fmt: skip
"""Predicted quantities, the columns that they are learned from, and units in seconds or joules: all parts on the CPU,
all parts on the GPU, computing on the GPU with the data already there, and the energy of the GPUs for all parts
there."""
COLUMNS = (
    "gpu_name", "cpu_name", "precision", "task", "size", "flops", "bytes_to_device", "bytes_to_host", "gpu_idle_w",
    *(column for column, _ in TARGETS.values()),
)  # fmt: skip
_TEXTS = dict.fromkeys(("gpu_name", "cpu_name", "precision", "task"), "str")
"""Columns of a CSV that are texts, even if a task is called 1."""
ROWS = 1_000_000
"""Most rows of a table."""


@dataclass(frozen=True)
class Row:
    """One task of one size, as it was measured on one machine.

    ``moved`` is the bytes to and from the GPU, ``work`` the floating-point operations; where the program counts none,
    N log2 N of N bytes, as of sorting. ``seconds`` has those of TARGETS that were measured, the energy in joules.
    ``idle_w`` is what the GPUs draw when nothing runs, where a power log told it; ``result`` the bytes to the host.
    """

    machine: str
    task: str
    precision: str
    size: float
    moved: float
    work: float
    seconds: dict[str, float]
    idle_w: float | None = None
    result: float = 0.0


def read(path: Path, left_out: Callable[[str], None] | None = None) -> list[Row]:
    """Return the rows of a Parquet or CSV file that have task, size, a time and bytes.

    Args:
        path: the file.
        left_out: receives a sentence about rows without bytes if others have some.

    Raises:
        WorkloadError: the file is invalid or has no such row.
    """
    import pandas as pd

    try:
        table = (
            _read_parquet(path)
            if path.suffix.lower() == ".parquet"
            else pd.read_csv(path, nrows=ROWS + 1, dtype=_TEXTS)
        )
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path} cannot be read as a table: {error}. Make it with: warpdeck features.") from error
    if missing := [name for name in ("task", "size") if name not in table]:
        raise WorkloadError(f"{path} has no column {missing[0]}. Make it with: warpdeck features REPORT... -o {path}.")
    if len(table) > ROWS:
        raise WorkloadError(f"{path} has more than {ROWS:,} rows.")
    table = table.reindex(columns=list(COLUMNS))
    parsed_rows = [row for row in map(_parse_row, table.itertuples(index=False)) if row]
    if not parsed_rows:
        raise WorkloadError(f"{path} has no row with a task, a size and a time.")
    rows = [row for row in parsed_rows if row.moved]
    if not rows:
        raise WorkloadError(
            f"{path} tells the bytes of no task: neither a profile nor bytes_by_task of .meta.json did. "
            f"Run {COMMAND} profile tasks anew."
        )
    if left_out and len(rows) < len(parsed_rows):
        left_out(
            f"{path}: {len(parsed_rows) - len(rows):,} of {len(parsed_rows):,} rows are excluded, which tell no bytes"
        )
    return rows


def _read_parquet(path: Path) -> pd.DataFrame:
    """Read the relevant columns, at most ROWS rows: a small file may hold many equal ones."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        if file.metadata.num_rows > ROWS:
            raise WorkloadError(f"{path} has more than {ROWS:,} rows.")
        table: pd.DataFrame = file.read(
            columns=[name for name in COLUMNS if name in file.schema_arrow.names]
        ).to_pandas()
    return table


def _parse_row(values: Sequence[object]) -> Row | None:
    """Return a parsed row; None without task, size or time. ``moved`` is 0 if the bytes are missing."""
    named = dict(zip(COLUMNS, values, strict=True))
    size = _parse_number(named["size"])
    seconds = {
        target: value * unit
        for target, (column, unit) in TARGETS.items()
        if (value := _parse_number(named[column])) and value > 0
    }
    if not size or size <= 0 or not isinstance(named["task"], str) or not seconds:
        return None
    result = _parse_number(named["bytes_to_host"]) or 0.0
    moved = (_parse_number(named["bytes_to_device"]) or 0.0) + result
    work = estimate_work(_parse_number(named["flops"]), moved)
    precision = named["precision"] if isinstance(named["precision"], str) else ""
    name, idle_w = name_machine(named["gpu_name"], named["cpu_name"]), _parse_number(named["gpu_idle_w"])
    return Row(name, named["task"], precision, size, moved, work, seconds, idle_w, result)


def name_machine(gpu_name: object, cpu_name: object) -> str:
    """Return the name of a machine from the known names of its GPU and CPU."""
    return " with ".join(name for name in (gpu_name, cpu_name) if isinstance(name, str) and name)


def estimate_work(flops: float | None, moved: float) -> float:
    """Return the operations of a task; if the program counts none, N log2 N of N bytes."""
    return float(flops or moved * np.log2(moved + 1))


def _parse_number(value: object) -> float | None:
    number = float(value) if isinstance(value, (int, float, np.integer, np.floating)) else float("nan")
    return number if np.isfinite(number) else None
