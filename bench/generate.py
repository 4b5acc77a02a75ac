"""Generate an nsys export of any size: `python -m bench.generate --kernels 1000000 --format sqlite -o PATH`.

The same arguments and seed give the same rows in both formats.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.fixed_tables import VM, make_capture_tables, make_device_tables, make_enumerations
from bench.odd_ranges import OddRanges, write_odd_ranges
from bench.process import DOMAIN, ProcessTables, Strings
from bench.step import make_training_step
from bench.timeline import StepClock
from bench.writers import Writer, open_writer

FORMATS = ("sqlite", "parquetdir")
_FIRST_PID = 4100
_MAX_GPUS = 8
_STEPS_A_BATCH = 250  # about 200,000 kernels: some hundred megabytes of arrays and rows at a time


@dataclass(frozen=True)
class Options:
    """The size of an export: kernels over all processes, and odd ranges per process."""

    kernels: int
    processes: int = 1
    seed: int = 0
    numbered_steps: bool = False
    single_thread: bool = False
    odd: OddRanges = field(default_factory=OddRanges)


def generate(options: Options, path: Path, form: str) -> None:
    """Write the export to `path`, which must not exist yet."""
    writer = open_writer(path, form)
    try:
        _write_all(options, writer)
    finally:
        writer.close()


def _write_all(options: Options, writer: Writer) -> None:
    strings, gpus = Strings(), min(options.processes, _MAX_GPUS)
    share, rest = divmod(options.kernels, options.processes)
    pids = [_FIRST_PID + 50 * index for index in range(options.processes)]
    end_ns = 0
    for index, pid in enumerate(pids):
        step = make_training_step(single_thread=options.single_thread)
        tables = ProcessTables(writer, strings, step, pid, index % gpus, share + (index < rest), options.numbered_steps)
        end_ns = max(end_ns, _write_process(tables, np.random.default_rng([options.seed, index]), options.odd))
    _write_names(writer, strings, pids)
    for table, batch in (
        make_capture_tables(pids, end_ns) | make_device_tables(pids, gpus) | make_enumerations()
    ).items():
        writer.write(table, batch)
    strings.write(writer)


def _write_process(tables: ProcessTables, rng: np.random.Generator, odd: OddRanges) -> int:
    """Write the steps of one process and return the end of the last one, in ns."""
    clock, end_ns, first = StepClock(tables.step), 100_000_000, 0
    tables.writer.write(
        "NVTX_EVENTS",
        {"start": 0, "eventType": DOMAIN, "text": "loader", "globalTid": int(tables.tids[0]), "domainId": 1},
    )
    steps = math.ceil(tables.kernels_left / tables.step.kernels)
    while first < steps:
        batch = clock.lay_out(rng, first, min(_STEPS_A_BATCH, steps - first), end_ns)
        tables.write(batch)
        first, end_ns = first + batch.steps, batch.end_ns
    write_odd_ranges(tables, rng, odd)
    return end_ns


def _write_names(writer: Writer, strings: Strings, pids: list[int]) -> None:
    """Write the processes and the names of their two threads."""
    global_pids = [VM + (pid << 24) for pid in pids]
    writer.write("PROCESSES", {"globalPid": global_pids, "pid": pids, "name": "python train.py"})
    for name, add in (("python", 0), ("pt_autograd_0", 7)):
        tids = [global_pid + pid + add for global_pid, pid in zip(global_pids, pids, strict=True)]
        writer.write("ThreadNames", {"nameId": strings.get_id(name), "priority": 20, "globalTid": tids})


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description=__doc__)
    parser.add_argument("--kernels", type=int, default=100_000, help="over all processes (default 100000)")
    parser.add_argument("--processes", type=int, default=1, help="each with its own GPU and correlation ids from 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--numbered-steps", action="store_true", help="name the ranges step_5, step_6, ... not step")
    parser.add_argument(
        "--single-thread", action="store_true", help="launch the backward pass from the main thread too"
    )
    for name, text in OddRanges.HELP.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=0, metavar="N", help=text)
    parser.add_argument("--format", choices=FORMATS, default="sqlite")
    parser.add_argument("-o", "--output", type=Path, required=True, help="must not be there yet")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    chosen = _parse_arguments(arguments)
    odd = OddRanges(**{name: getattr(chosen, name) for name in OddRanges.HELP})
    options = Options(chosen.kernels, chosen.processes, chosen.seed, chosen.numbered_steps, chosen.single_thread, odd)
    began = time.monotonic()
    try:
        generate(options, chosen.output, chosen.format)
    except FileExistsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{chosen.output}: {chosen.kernels} kernels in {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
