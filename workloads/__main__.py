"""`python -m workloads list`, `run NAME [options]`, `profile NAME [options]` and `learn FEATURES`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from warpdeck.profiling.errors import ProfilingError

from . import COMMAND, profile
from .command_line import Parser
from .learning import command as learning
from .record import read_prefix, record_run
from .registry import WORKLOADS, load


def list_workloads() -> None:
    """Print a line per workload."""
    for name, entry in sorted(WORKLOADS.items()):
        print(f"{name}  {entry.summary}")


def run_workload(name: str, arguments: Sequence[str]) -> None:
    """Run the workload `name` with its own options; workloads.record writes files beside a report."""
    workload = load(name)
    summary = WORKLOADS[name].summary
    parser = Parser(
        prog=f"{COMMAND} run {name}",
        description=f"{summary[:1].upper()}{summary[1:]}.",
        example=WORKLOADS[name].example,
    )
    workload.add_options(parser)
    options = parser.parse_args(arguments)
    with record_run(read_prefix(), workload=name, options=vars(options)):
        for line in workload.run(options):
            print(line, flush=True)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser up to the workload's name; later words belong to the workload."""
    parser = Parser(
        prog=f"{COMMAND}", description="Programs worth profiling.", example="profile idle --mode host_bound"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="list the workloads", description="List the workloads, a line each.")
    run = commands.add_parser(
        "run",
        help="run a workload; `run NAME --help` shows its options",
        description="Run a workload without a profiler. `run NAME --help` shows its options.",
        example="idle --mode host_bound --steps 5",
    )
    run.add_argument("name", choices=sorted(WORKLOADS), metavar="NAME", help="workload; `list` names them")
    run.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTIONS", help="options of the workload")
    commands.add_parser(
        "profile", help="profile a workload, or any program after `--`; `profile --help` shows the options"
    )
    learning.add_options(
        commands.add_parser(
            "learn",
            help="learn from measured tasks how long they take",
            description="Learn how long tasks take on CPU and GPU, and say how far that can be trusted.",
            example="features.parquet -o model.skops",
        )
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["profile"]:  # profile mixes the workload's options with its own
            return profile.main(words[1:])
        chosen = build_parser().parse_args(words)
        if chosen.command == "list":
            list_workloads()
        elif chosen.command == "learn":
            for line in learning.run(chosen):
                print(line, flush=True)
        else:
            run_workload(chosen.name, chosen.options)
    except ProfilingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
