"""The command that measures kernels with Nsight Compute."""

from __future__ import annotations

import re
from collections.abc import Sequence

LAUNCHES = 3
"""Launches that are measured of each launch shape."""
DEFAULTS = {
    "--set": "full",
    "--clock-control": "none",
    "--filter-mode": "per-launch-config",
    "--replay-mode": "kernel",
    "--nvtx": "",
    "--force-overwrite": "",
}
"""Options: kernels run at the clocks of the program, and are repeated one by one, which is the shortest way."""
WINDOW = {"--profile-from-start": "off"}
MEASURED = re.compile(rb'^==PROF== Profiling "', re.MULTILINE)
"""A line that ncu prints for each launch that it measures."""
_ENDS = {
    b"ERR_NVGPUCTRPERM": "The driver lets only root read GPU counters (ERR_NVGPUCTRPERM): set"
    " NVreg_RestrictProfilingToAdminUsers=0, or run as root, in a container with --cap-add SYS_ADMIN.",
    b"driver resource was unavailable": "Another profiler, such as DCGM, holds the GPU's counters: stop it first.",
    b"failed to connect to the CUDA driver": "There is no CUDA driver here.",
    b"Failed to connect": "ncu could not connect to the program.",
    b"No kernels were profiled": "ncu met none of these kernels: the program launches others than in the first pass.",
}


def match_kernels(names: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return the options that choose kernels by name.

    Args:
        names: short and mangled name of each kernel; the mangled one is exact.
    """
    mangled = [name for _, name in names if name]
    exact = len(mangled) == len(names)
    chosen = dict.fromkeys(mangled if exact else [short for short, _ in names])
    pattern = "|".join(re.escape(name) for name in chosen)
    return {**({"--kernel-name-base": "mangled"} if exact else {}), "--kernel-name": f"regex:^({pattern})$"}


def make_command(
    ncu: str, output: str, options: dict[str, str], arguments: Sequence[str], program: Sequence[str]
) -> list[str]:
    """Return ``ncu`` of ``program``, which leaves OUTPUT.ncu-rep; ``arguments`` of the user override the options."""
    merged = dict(options)
    for argument in arguments:
        name, _, value = argument.partition("=")
        merged[name] = value
    words = [word for name, value in merged.items() for word in ((name, value) if value else (name,))]
    return [ncu, "-o", output, *words, *program]


def explain(output: bytes) -> str:
    """Return a sentence for the output of an ncu that left no report."""
    known = next((sentence for sign, sentence in _ENDS.items() if sign in output), None)
    if known:
        return known
    last = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()][-3:]
    return f"ncu wrote no report. It says: {' '.join(last)[:400]}" if last else "ncu wrote no report."
