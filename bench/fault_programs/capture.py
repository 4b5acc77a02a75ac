"""`python -m bench.fault_programs.capture FOLDER [--only TEXT] [--group GROUP] [--per-rank]`: capture all halves.

Needs GPUs, nsys ($NSYS or on PATH) and the packages that the programs import; without them a program fails alone.
nsys records what ``warpdeck profile`` records by default.
Leaves in FOLDER, for each program and half (bad, good):

- NAME.HALF.sqlite, the export of a capture of the steps; of programs of ranks one for all of them, with --per-rank
  instead NAME.HALF_rank0.sqlite ... and NAME.HALF.nvml.csv, a log of the GPUs' power;
- NAME.HALF.json, the duration of the steps in that capture;
- unprofiled/NAME.HALF.unprofiled.json, the duration without a profiler.

Programs of one GPU run on all GPUs at the same time, one on each. ``failed.txt`` has what failed, with its last words.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from bench.fault_programs.__main__ import GROUPS_OF_RANKS, load
from warpdeck.profiling import nsys
from warpdeck.profiling.nvml import count_gpus
from workloads.clean_room import HOSTNAME, make_clean_environment, make_namespace_command
from workloads.monitor import GPUMonitor
from workloads.ranks import make_torchrun_command
from workloads.tools import find, make_export_command, make_nsys_command

LONGEST_S = 240
"""Seconds after which a half is killed."""
RANKS = 2
FURTHER = {
    "plasma.unified_memory_faults": ("--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true"),
}
"""Further options of programs whose fault only the faults of pages show."""
SEVERAL_GPUS = ("product_reviews.data_parallel",)
"""Programs of one process that uses all GPUs."""
WHOLE = ("llama.unfused_elementwise",)
"""Programs that are captured from their start, as people do who do not know their steps."""


@dataclass(frozen=True)
class Half:
    """A program with or without its fault, and the folder for its files."""

    name: str
    mended: bool
    ranks: int
    folder: Path

    @property
    def stem(self) -> Path:
        """Path of its files without their ending."""
        return self.folder / f"{self.name}.{'good' if self.mended else 'bad'}"

    @property
    def needs_all(self) -> bool:
        """Return True if it runs on all GPUs."""
        return self.ranks > 1 or self.name in SEVERAL_GPUS

    @property
    def program(self) -> list[str]:
        """Command of one process of it."""
        return [sys.executable, "-m", "bench.fault_programs", self.name, *(["--mended"] if self.mended else [])]


def capture(half: Half, *, per_rank: bool = False) -> None:
    """Capture a half; with ``per_rank`` each rank by itself, with a log of the GPUs' power.

    Raises:
        subprocess.SubprocessError: the program or nsys failed, or took too long.
    """
    launcher = make_torchrun_command(half.ranks) if half.ranks > 1 else []
    stem = f"{half.stem}_rank%q{{RANK}}" if per_rank else str(half.stem)
    options = [*make_standard_options(), *FURTHER.get(half.name, ())]
    nsys_command = make_nsys_command(
        stem, half.name not in WHOLE, options, [] if per_rank else [*launcher, *half.program]
    )
    command = [*launcher, *nsys_command, *half.program] if per_rank else nsys_command
    if per_rank:
        with GPUMonitor(half.stem):
            run(command)
    else:
        half.stem.with_name(half.stem.name + ".json").write_text(run(command))


def export(half: Half) -> str | None:
    """Export the reports of a half and delete them; return the failure of nsys if there is one."""
    for report in sorted(half.folder.glob(f"{half.stem.name}*.nsys-rep")):
        # Path.with_suffix would take the half for a suffix
        export_command = make_export_command(report)
        try:
            subprocess.run(
                [*export_command[:-2], f"{str(report).removesuffix('.nsys-rep')}.sqlite", str(report)], check=True
            )
        except subprocess.SubprocessError as error:
            return f"{report.name}: {error}"
        report.unlink()
    return None


@cache
def make_standard_options() -> tuple[str, ...]:
    """Return the options of nsys for all that ``warpdeck profile`` records by default."""
    records, _ = nsys.choose_records((), (), cpu=True, gpu=True)
    help_text = subprocess.run([find("nsys"), "profile", "--help"], capture_output=True, text=True, check=False).stdout
    return tuple(f"{name}={value}" for name, value in nsys.make_options(records, help_text).items())


def measure(half: Half) -> None:
    """Run a half without a profiler and note the duration of its steps."""
    line = run([*(make_torchrun_command(half.ranks) if half.ranks > 1 else []), *half.program])
    folder = half.folder / "unprofiled"
    folder.mkdir(exist_ok=True)
    (folder / f"{half.stem.name}.unprofiled.json").write_text(line)


def run(command: Sequence[str]) -> str:
    """Run a command and return the line of JSON that it prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"program"')]
    if done.returncode or (not lines and "_rank%q" not in " ".join(command)):
        print(done.stderr[-1500:], file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr[-1500:])
    return lines[-1] if lines else ""


def capture_all(halves: Sequence[Half], until: float, *, per_rank: bool) -> list[str]:
    """Capture and measure all halves, on each GPU one at a time; return the halves that failed or had no time."""
    gpus: SimpleQueue[str] = SimpleQueue()
    exporters = ThreadPoolExecutor()  # a report is exported while the next program starts
    exports: list[Future[str | None]] = []
    for gpu in range(max(1, count_gpus())):
        gpus.put(str(gpu))

    def capture_one(half: Half) -> str | None:
        gpu = None if half.needs_all else gpus.get()
        try:
            if time.monotonic() > until:
                return f"{half.stem.name}: no time left"
            began = time.monotonic()
            if gpu is None:
                capture_half(half)
            else:
                pinned = [sys.executable, "-m", "bench.fault_programs.capture", str(half.folder), "--half", half.name]
                environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}
                subprocess.run(
                    [*pinned, *(["--mended"] if half.mended else [])],
                    check=True, capture_output=True, text=True, env=environment, timeout=2 * LONGEST_S,
                )  # fmt: skip
            print(f"{half.stem.name}: {time.monotonic() - began:.0f} s", flush=True)
            exports.append(exporters.submit(export, half))
        except subprocess.SubprocessError as error:
            print(f"{half.stem.name}: failed", flush=True)
            return f"{half.stem.name}: {error} {getattr(error, 'stderr', '')}"
        finally:
            if gpu is not None:
                gpus.put(gpu)
        return None

    def capture_half(half: Half) -> None:
        if per_rank:
            capture(half, per_rank=True)
            return
        measure(half)
        capture(half)

    one_by_one = any(half.needs_all for half in halves)
    with exporters, ThreadPoolExecutor(1 if one_by_one else max(1, count_gpus())) as pool:
        failures = list(pool.map(capture_one, halves))
        return [failure for failure in (*failures, *(one.result() for one in exports)) if failure]


def main() -> int:
    """Capture the chosen programs."""
    parser = argparse.ArgumentParser(prog="python -m bench.fault_programs.capture", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="programs whose name has this")
    parser.add_argument("--group", action="append", default=[], help="programs of this group")
    parser.add_argument("--per-rank", action="store_true", help="capture each rank by itself")
    parser.add_argument("--seconds", type=float, default=3600.0, help="start no half after this time")
    parser.add_argument("--half", help=argparse.SUPPRESS)
    parser.add_argument("--mended", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder.absolute()
    if given.half:
        half = Half(given.half, given.mended, 1, folder)
        measure(half)
        capture(half)
        return 0
    if platform.node() != HOSTNAME and (words := make_namespace_command()):  # reports name other processes and the host
        again = [sys.executable, "-m", "bench.fault_programs.capture", *sys.argv[1:]]
        return subprocess.run([*make_clean_environment({}, ("NSYS",)), *words, *again], check=False).returncode
    folder.mkdir(parents=True, exist_ok=True)
    halves = [
        Half(name, mended, RANKS if group in GROUPS_OF_RANKS else 1, folder)
        for name, group in load().items()
        if (not given.group or group in given.group) and (not given.only or any(one in name for one in given.only))
        for mended in (False, True)
    ]
    until = time.monotonic() + given.seconds
    failed = []
    one, several = ([half for half in halves if half.needs_all == many] for many in (False, True))
    for chosen in (one, several):
        failed += capture_all(chosen, until, per_rank=given.per_rank and chosen is several)
    (folder / "failed.txt").write_text("\n\n".join(failed))
    print(json.dumps({"halves": len(halves), "failed": len(failed)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
