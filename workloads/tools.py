"""The command lines of the profilers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from warpdeck.profiling import ncu, nsys

from .errors import WorkloadError

NSYS = nsys.OFF | {"--trace": "cuda,nvtx", "--cuda-memory-usage": "true"}
NSYS_WINDOW = {"--capture-range": "cudaProfilerApi", "--capture-range-end": "stop"}
TORCH_OPTIONS = ("--with_stack", "--with_modules", "--with_flops", "--profile_memory")
"""Optional records of the PyTorch profiler, by torch.profiler's names; each costs time and space."""
BLOBS = "--include-blobs"
"""Option of `nsys export`: payloads of NVTX ranges, such as the bytes of an NCCL message."""
NCU = ncu.DEFAULTS | {"--filter-mode": "global", "--launch-count": "20"}


def choose_path(tool: str) -> str:
    """Return the path of `nsys` or `ncu`: $NSYS or $NCU, else from PATH, else its bare name."""
    return os.environ.get(tool.upper()) or shutil.which(tool) or tool


def find(tool: str) -> str:
    """Return the path of `nsys` or `ncu`, or raise if it is missing."""
    path = shutil.which(choose_path(tool))
    if not path:
        variable = os.environ.get(tool.upper())
        missing = f"${tool.upper()} names {variable}, which is no program" if variable else f"{tool} is not on PATH"
        raise WorkloadError(f"{missing}: install it, or let ${tool.upper()} name it (or choose another --tool).")
    return path


def make_nsys_command(prefix: str, window: bool, arguments: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return `nsys profile` of `program`, which leaves PREFIX.nsys-rep; with `window`, of its capture window only."""
    return nsys.make_command(choose_path("nsys"), prefix, NSYS | (NSYS_WINDOW if window else {}), arguments, program)


def make_export_command(report: Path) -> list[str]:
    """Return the command that writes the SQLite export beside `report`, with the payloads of NCCL."""
    nsys = find("nsys")
    options = ["--quiet=true", "--type=sqlite", "--force-overwrite=true"]
    known = subprocess.run([nsys, "export", "--help"], check=False, capture_output=True, text=True).stdout
    if BLOBS in known:  # from 2024 on
        options.append(f"{BLOBS}=true")
    return [nsys, "export", *options, "-o", str(report.with_suffix(".sqlite")), str(report)]


def make_ncu_command(prefix: str, window: bool, arguments: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return `ncu` of `program`, which leaves PREFIX.ncu-rep; with `window`, of its capture window only."""
    return ncu.make_command(choose_path("ncu"), prefix, NCU | (ncu.WINDOW if window else {}), arguments, program)


def make_torch_command(arguments: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return `program`, a Python program, under the PyTorch profiler with the options in `arguments`."""
    if len(program) < 2 or not Path(program[0]).name.startswith("python"):
        raise WorkloadError("--tool torch runs Python programs only, as in: profile --tool torch -- python train.py")
    for option in arguments:
        if option not in TORCH_OPTIONS:
            raise WorkloadError(f"--tool torch has no option {option}: choose from {', '.join(TORCH_OPTIONS)}.")
    return [program[0], "-m", f"{__package__}.torch_trace", *arguments, *program[1:]]


def make_workload_command(name: str, options: Sequence[str]) -> list[str]:
    """Return the program that runs the workload `name`."""
    return [sys.executable, "-m", str(__package__), "run", name, *options]
