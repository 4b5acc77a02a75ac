"""`python -m workloads profile NAME [options]`, or `profile [options] -- PROGRAM ...` for a program of your own.

Builds the exact command of a profiler, prints it, runs it, and leaves in a folder (the dashboard's inbox unless told
otherwise) NAME.nsys-rep with its export NAME.sqlite, or NAME.ncu-rep, or NAME.pt.trace.json.gz; NAME.meta.json;
NAME.timings.csv where the program is a workload; and NAME.nvml.csv where there is a GPU. With several ranks each has a
report of its own: NAME_rank0, NAME_rank1, ...
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from warpdeck.profiling.file_names import OUTPUTS, claim_name
from warpdeck.profiling.nvml import count_gpus, has_gpu

from . import COMMAND, PARENT, tools
from .clean_room import make_clean_environment, make_namespace_command
from .command_line import Parser
from .errors import WorkloadError
from .monitor import GPUMonitor
from .ranks import make_torchrun_command, split_torchrun
from .record import VARIABLE, write_meta
from .registry import WORKLOADS


@dataclass(frozen=True)
class Job:
    """The subject of a profile, its options, and the folder of the output."""

    tool: str
    folder: Path
    name: str
    program: list[str]
    workload: str | None
    ranks: int
    window: bool
    """Whether to profile only between cudaProfilerStart and cudaProfilerStop."""
    arguments: list[str]
    """Further options of the profiler."""
    environment: list[str]
    """Names of further variables that the program gets."""
    verbose: bool
    """Whether to print the profiler's command line."""

    def make_stem(self, rank: int | str | None = None) -> str:
        """Return the path of the files of a rank without their suffix."""
        return str(self.folder / (self.name if rank is None else f"{self.name}_rank{rank}"))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of profile's own options; all others belong to the workload."""
    parser = Parser(
        prog=f"{COMMAND} profile",
        usage="%(prog)s NAME [options] [options of the workload] | [options] -- PROGRAM ...",
        description=f"Profile a workload ({', '.join(sorted(WORKLOADS))}) or any program.",
        example="idle --mode host_bound",
        status="Exit status: 0; 1 after an error, or if profiler or program failed; 2 for a wrong command line.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--tool",
        choices=("nsys", "ncu", "torch", "nvml"),
        default="nsys",
        help="profiler; nvml only logs power and clocks (default: nsys)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: the dashboard's inbox)"
    )
    parser.add_argument("--name", help="name of the files (default: that of the workload or program)")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the command and run nothing")
    parser.add_argument("--verbose", action="store_true", help="print the profiler's command line")
    parser.add_argument(
        "--ranks", type=int, help="number of processes to start with torchrun; each has a GPU and a report"
    )
    parser.add_argument(
        "--capture", choices=("window", "all"), help="what to record (default: window of a workload, all of a program)"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="--X=Y", help="pass this option to the profiler; may be repeated"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="pass this environment variable to the program; may be repeated",
    )
    return parser


def find_inbox() -> Path:
    """Return the dashboard's inbox: WARPDECK_INBOX, else inbox in WARPDECK_DATA, else inbox here."""
    named = os.environ.get("WARPDECK_INBOX", "")
    if "://" in named:
        raise WorkloadError("The dashboard's inbox is a bucket. Name a folder with --output, then run: warpdeck open")
    return Path(named) if named else Path(os.environ.get("WARPDECK_DATA") or ".") / "inbox"


def plan_job(words: Sequence[str]) -> tuple[Job, bool]:
    """Return the job of a command line, and whether only to print it."""
    before = list(words[: words.index("--")]) if "--" in words else list(words)
    program = list(words[len(before) + 1 :])
    workload = None
    if not program and before and not before[0].startswith("-"):
        workload = before.pop(0)
    chosen, rest = build_parser().parse_known_args(before)
    if workload is None and not program:
        raise WorkloadError("Say what to profile: a workload's name first, or `--` and a program.")
    if workload is None and rest:
        raise WorkloadError(f"profile has no option {rest[0]}. Try: {COMMAND} profile --help")
    if workload is not None and workload not in WORKLOADS:
        raise WorkloadError(f"There is no workload called {workload!r}: choose from {', '.join(sorted(WORKLOADS))}.")
    if workload is not None:
        program = tools.make_workload_command(workload, rest)
    on_cpu = "--device=cpu" in rest or ("--device", "cpu") in pairwise(rest) or not has_gpu()
    job = Job(
        tool=chosen.tool,
        folder=(chosen.output or find_inbox()).absolute(),
        name=chosen.name or workload or name_program(program),
        program=program,
        workload=workload,
        ranks=chosen.ranks or 0,
        window=chosen.capture == "window" or (chosen.capture is None and workload is not None and not on_cpu),
        arguments=chosen.arg,
        environment=chosen.env,
        verbose=chosen.verbose,
    )
    return job, chosen.only_print


def name_program(program: Sequence[str]) -> str:
    """Return the name of the first Python file in `program`, else that of the program."""
    return Path(next((word for word in program if word.endswith(".py")), program[0])).stem


def build_command(job: Job) -> list[str]:
    """Return the whole command of a job."""
    launcher, program = split_torchrun(job.program)
    if job.ranks > 1:
        if launcher:
            raise WorkloadError("Leave --ranks out where the program is torchrun.")
        launcher = make_torchrun_command(job.ranks)
    stem = job.make_stem("%q{RANK}" if launcher else None)
    if job.tool == "nsys":
        program = tools.make_nsys_command(stem, job.window, job.arguments, program)
    elif job.tool == "ncu":
        program = tools.make_ncu_command(stem, job.window, job.arguments, program)
    elif job.tool == "torch":
        program = tools.make_torch_command(job.arguments, program)
    values = {VARIABLE: stem}
    if job.tool == "torch" and not job.workload:  # the module that traces the program must be importable from anywhere
        values["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PARENT), os.environ.get("PYTHONPATH"))))
    environment = make_clean_environment(values, job.environment)
    return [*environment, *(make_namespace_command() if job.tool == "nsys" else []), *launcher, *program]


def check(job: Job) -> None:
    """Refuse impossible jobs."""
    if job.tool in ("nsys", "ncu"):
        tools.find(job.tool)
    if " " in job.make_stem():
        raise WorkloadError(f"nsys cannot write to a path with a space in it: {job.make_stem()!r}.")
    if (job.tool == "ncu" and not has_gpu()) or (job.tool == "nvml" and not count_gpus()):
        raise WorkloadError(f"--tool {job.tool} needs a GPU, and there is none here: choose --tool nsys or torch.")


def run(job: Job, command: Sequence[str]) -> int:
    """Run `command` and complete its output; return its exit status."""
    stems = [job.make_stem(), *(job.make_stem(rank) for rank in range(64))]
    if job.tool == "ncu":  # runs each kernel many times: power would be that of the replays
        status = subprocess.run(command, check=False).returncode
    else:
        with GPUMonitor() as monitor:
            status = subprocess.run(command, check=False).returncode
        write_logs(job, monitor)
    try:
        if status == 0:
            complete(job, [Path(stem) for stem in stems])
    finally:
        claim = Path(f"{job.make_stem()}.meta.json")
        if claim.exists() and not claim.stat().st_size:
            claim.unlink()
    return status


def write_logs(job: Job, monitor: GPUMonitor) -> None:
    """Write the log of all GPUs; if each rank has a report, that of its GPU beside it, as torchrun numbers them."""
    ranks = [rank for rank in range(64) if Path(f"{job.make_stem(rank)}.nsys-rep").exists()]
    for rank in ranks if monitor.devices else ():
        monitor.write(Path(f"{job.make_stem(rank)}.nvml.csv"), monitor.devices[rank % len(monitor.devices)])
    log = Path(f"{job.make_stem()}.nvml.csv")
    if not ranks and not log.exists():  # else the program wrote one itself
        monitor.write(log)


def complete(job: Job, stems: Sequence[Path]) -> None:
    """Export each report, and describe the program if it did not describe itself."""
    for stem in stems:
        report = stem.with_name(stem.name + ".nsys-rep")
        if report.exists():
            subprocess.run(tools.make_export_command(report), check=True)
    left = [stem for stem in stems if any(_has_content(f"{stem}{suffix}") for suffix in OUTPUTS)]
    if job.tool in ("nsys", "ncu") and not any(Path(f"{stem}.{job.tool}-rep").exists() for stem in left):
        raise WorkloadError(
            f"{job.tool} wrote no report: there was nothing to record in the capture window, or it says why above."
        )
    for stem in left or [Path(job.make_stem())]:
        meta = stem.with_name(stem.name + ".meta.json")
        if not meta.exists() or not meta.stat().st_size:
            write_meta(meta, {"workload": job.workload, "command": job.program})
        print(f"{stem}: {' '.join(suffix for suffix in OUTPUTS if Path(f'{stem}{suffix}').exists())}")


def _has_content(path: str) -> bool:
    """Return True if there is a file with content; one without is the claim of a name."""
    return Path(path).exists() and Path(path).stat().st_size > 0


def main(words: Sequence[str]) -> int:
    """Profile as the command line asks and return the exit status."""
    job, only_print = plan_job(words)
    command = build_command(job)
    if only_print:
        print(shlex.join(command), flush=True)
        return 0
    check(job)
    job.folder.mkdir(parents=True, exist_ok=True)
    job = replace(job, name=claim_name(job.folder, job.name))
    command = build_command(job)
    if job.verbose:
        print(shlex.join(command), flush=True)
    status = run(job, command)
    if status:
        print(f"{job.tool} or the program ended with status {status}.", file=sys.stderr)
    return 1 if status else 0
