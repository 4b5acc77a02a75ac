"""`python -m workloads list`, `run NAME [options]` and `profile NAME [options]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from workloads import profile
from workloads.errors import WorkloadError
from workloads.record import prefix_from_environment, recording
from workloads.registry import WORKLOADS, load


def list_workloads() -> None:
    """Print a line a workload."""
    for name, entry in sorted(WORKLOADS.items()):
        print(f"{name}  {entry.summary}")


def run_workload(name: str, arguments: Sequence[str]) -> None:
    """Run the workload `name` with its own options; what it leaves beside a report is in workloads.record."""
    workload = load(name)
    parser = argparse.ArgumentParser(prog=f"python -m workloads run {name}", description=WORKLOADS[name].summary)
    workload.add_options(parser)
    options = parser.parse_args(arguments)
    with recording(prefix_from_environment(), workload=name, options=vars(options)):
        for line in workload.run(options):
            print(line, flush=True)


def build_parser() -> argparse.ArgumentParser:
    """Parse up to the workload's name; what follows belongs to the workload."""
    parser = argparse.ArgumentParser(prog="python -m workloads", description="Programs worth profiling.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the workloads")
    run = commands.add_parser("run", help="run one; `run NAME --help` shows its options")
    run.add_argument("name", choices=sorted(WORKLOADS))
    run.add_argument("options", nargs=argparse.REMAINDER)
    commands.add_parser("profile", help="profile one, or `-- any program`; `profile --help` shows the options")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["profile"]:  # takes options of the workload among its own
            return profile.main(words[1:])
        chosen = build_parser().parse_args(words)
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
