"""`python -m workloads list` and `python -m workloads run NAME [options]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from workloads.errors import WorkloadError
from workloads.registry import WORKLOADS, load


def list_workloads() -> None:
    """Print a line a workload."""
    for name, entry in sorted(WORKLOADS.items()):
        print(f"{name}  {entry.summary}")


def run_workload(name: str, arguments: Sequence[str]) -> None:
    """Run the workload `name` with its own options."""
    workload = load(name)
    parser = argparse.ArgumentParser(prog=f"python -m workloads run {name}", description=WORKLOADS[name].summary)
    workload.add_options(parser)
    for line in workload.run(parser.parse_args(arguments)):
        print(line, flush=True)


def build_parser() -> argparse.ArgumentParser:
    """Parse up to the workload's name; what follows belongs to the workload."""
    parser = argparse.ArgumentParser(prog="python -m workloads", description="Programs worth profiling.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the workloads")
    run = commands.add_parser("run", help="run one; `run NAME --help` shows its options")
    run.add_argument("name", choices=sorted(WORKLOADS))
    run.add_argument("options", nargs=argparse.REMAINDER)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    chosen = build_parser().parse_args(arguments)
    try:
        if chosen.command == "list":
            list_workloads()
        else:
            run_workload(chosen.name, chosen.options)
    except WorkloadError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
