"""The kernels of one transformer training step: about 60 names as PyTorch, cuBLAS, CUTLASS and NCCL give them.

kernels.tsv holds them: `question` is what the library asks the runtime before it launches with `api`; durations are
means in ns; `stream` 16 is the one on which collectives run beside the computation.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

RUNTIME, DRIVER = 0, 1
COMPUTE_STREAM, SIDE_STREAM = 7, 16


@dataclass(frozen=True)
class Kernel:
    """A kernel's name and launch: API calls, mean duration, grid, threads a block, registers a thread, stream."""

    question: str
    api: str
    mean_ns: int
    grid_x: int
    grid_y: int
    threads: int
    registers: int
    shared_bytes: int
    stream: int
    name: str

    @property
    def short_name(self) -> str:
        """The function's name without return type, namespaces, template and parameters."""
        plain = self.name.removeprefix("void ").replace("(anonymous namespace)::", "")
        return plain.split("<")[0].split("(")[0].split("::")[-1]

    @property
    def mangled_name(self) -> str:
        """A name as the compiler might mangle it (C names stay as they are)."""
        return f"_ZN2at6native{len(self.short_name)}{self.short_name}E" if "::" in self.name else self.short_name


def _parse_kernel(row: dict[str, str]) -> Kernel:
    return Kernel(
        row["question"],
        row["api"],
        int(row["mean_ns"]),
        int(row["grid_x"]),
        int(row["grid_y"]),
        int(row["threads"]),
        int(row["registers"]),
        int(row["shared_bytes"]),
        int(row["stream"]),
        row["name"],
    )


def _read_kernels() -> dict[str, Kernel]:
    with Path(__file__).with_name("kernels.tsv").open(encoding="utf-8", newline="") as file:
        return {row["key"]: _parse_kernel(row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


KERNELS = _read_kernels()
