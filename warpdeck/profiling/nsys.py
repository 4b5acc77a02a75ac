"""Records of nsys by name, with the options of each version, and the command that records them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from warpdeck.profiling.errors import ProfilingError


@dataclass(frozen=True)
class Record:
    """Something that nsys records.

    Args:
        name: its word in --with and --without.
        tells: the data, for the line that says what is recorded.
        traces: values of --trace.
        options: further options, each in its spellings, newest first; the first one that nsys knows is used.
        standard: recorded unless --without names it.
        needs: ``cpu``: permission for perf events; ``gpu``: a GPU.
    """

    name: str
    tells: str
    traces: str = ""
    options: tuple[tuple[str, ...], ...] = ()
    standard: bool = False
    needs: str = ""


RECORDS = (
    Record("cuda", "CUDA calls and kernels", "cuda", (("--cuda-graph-trace=node",),), standard=True),
    Record("nvtx", "NVTX ranges", "nvtx", standard=True),
    Record("os", "OS calls", "osrt", standard=True),
    Record("memory", "GPU memory", options=(("--cuda-memory-usage=true",),), standard=True),
    Record("threads", "thread scheduling", options=(("--cpuctxsw=process-tree",),), standard=True, needs="cpu"),
    Record(
        "samples",
        "CPU samples",
        options=(("--sample=process-tree",), ("--backtrace=dwarf",), ("--cpuctxsw=process-tree",)),
        needs="cpu",
    ),
    Record("python", "Python stacks", options=(("--python-sampling=true",), ("--python-sampling-frequency=200",))),
    Record(
        "metrics",
        "GPU metrics",
        options=(
            ("--gpu-metrics-devices=all", "--gpu-metrics-device=all"),  # renamed in 2024.4
            ("--gpu-metrics-frequency=1000",),
        ),
        needs="gpu",
    ),
    Record(
        "faults",
        "page faults of unified memory",
        options=(("--cuda-um-cpu-page-faults=true",), ("--cuda-um-gpu-page-faults=true",)),
        needs="gpu",
    ),
    Record("mpi", "MPI calls", "mpi"),
    Record("openmp", "OpenMP regions", "openmp"),
    Record("openacc", "OpenACC regions", "openacc"),
)
"""What can be recorded. docs/profile.md says what each costs."""
BY_NAME = {record.name: record for record in RECORDS}
OFF = {"--sample": "none", "--cpuctxsw": "none", "--cudabacktrace": "none"}
"""Options that nsys would switch on by itself."""
WINDOW = {"--capture-range": "cudaProfilerApi", "--capture-range-end": "stop-shutdown", "--kill": "none"}
"""Options of a window that the program opens and closes; the program then runs on, and nsys ends."""


def choose_records(
    further: Sequence[str], without: Sequence[str], *, cpu: bool, gpu: bool
) -> tuple[list[Record], list[str]]:
    """Return the records to make, and a sentence for each that this machine does not allow.

    Args:
        further: names of records beside the standard ones.
        without: names of records to leave out.
        cpu: whether nsys may use perf events.
        gpu: whether there is a GPU.

    Raises:
        ProfilingError: a name is unknown.
    """
    for name in (*further, *without):
        if name not in BY_NAME:
            raise ProfilingError(f"There is no record {name!r}: choose from {', '.join(BY_NAME)}.")
    wanted = [one for one in RECORDS if (one.standard or one.name in further) and one.name not in without]
    lacking = [f"Without {one.tells}: nsys may not use perf events here (kernel.perf_event_paranoid must be 2 or less)."
               for one in wanted if one.needs == "cpu" and not cpu]  # fmt: skip
    lacking += [f"Without {one.tells}: there is no GPU here." for one in wanted if one.needs == "gpu" and not gpu]
    allowed = {"": True, "cpu": cpu, "gpu": gpu}
    return [one for one in wanted if allowed[one.needs]], lacking


def merge_options(defaults: dict[str, str], arguments: Sequence[str]) -> list[str]:
    """Return ``--name=value`` for each default, unless ``arguments`` override it; then the other arguments."""
    merged = dict(defaults)
    for argument in arguments:
        name, _, value = argument.partition("=")
        merged[name] = value
    return [f"{name}={value}" if value else name for name, value in merged.items()]


def make_options(records: Sequence[Record], help_text: str) -> dict[str, str]:
    """Return the options that record these.

    Args:
        records: the records.
        help_text: the output of ``nsys profile --help``; options that it does not list are left out.
    """
    options = dict(OFF)
    options["--trace"] = ",".join(one.traces for one in records if one.traces) or "none"
    for record in records:
        for spellings in record.options:
            known = next((one for one in spellings if one.partition("=")[0] in help_text), None)
            if known:
                name, _, value = known.partition("=")
                options[name] = value
    return options


def make_command(
    nsys: str, output: str, options: dict[str, str], arguments: Sequence[str], program: Sequence[str]
) -> list[str]:
    """Return ``nsys profile`` of ``program``, which leaves OUTPUT.nsys-rep.

    Args:
        nsys: path of the program.
        output: path without its ending; nsys replaces some words after % in it.
        options: name and value of each option.
        arguments: options of the user, which override the others.
        program: command line to run.
    """
    # nsys names a session after its process number, which is the same in every new PID namespace.
    session = {"--session-new": f"warpdeck-{time.time_ns():x}", "--force-overwrite": "true"}
    return [nsys, "profile", "-o", output, *merge_options(session | options, arguments), *program]


def make_time_window(after_s: float | None, seconds: float | None) -> dict[str, str]:
    """Return the options of a window in time; the program runs on after it, and nsys ends."""
    window = {"--delay": f"{after_s:g}"} if after_s else {}
    return window | ({"--duration": f"{seconds:g}", "--kill": "none"} if seconds else {})
