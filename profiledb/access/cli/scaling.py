"""``warpdeck scaling REPORT...``: print steps, efficiency and waits of runs on several GPUs."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "scaling", "print how well a program scales over GPUs",
        "ddp_1.sqlite ddp_strong_4_rank0.sqlite ddp_strong_4_rank1.sqlite", parents=[common],
    )  # fmt: skip
    command.add_argument("reports", metavar="REPORT", nargs="+", help="reports of every rank of every run")
    command.add_argument("--format", choices=("table", "csv", "json"), default="table", help=DEFAULT)
    command.add_argument(
        "--scaling",
        choices=("strong", "weak"),
        default="strong",
        help="kind of scaling if neither the program nor its items tell (default: strong)",
    )
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the rows of the runs that contain the named reports; raises AnalysisError as ``printout.format_runs``."""
    from profiledb.studies.scaling import printout  # imports pandas, which other commands do not need

    text = printout.format_runs(library, arguments.reports, arguments.format, arguments.scaling)
    if arguments.format != "table":
        print(text)
        return
    for line in text.split("\n"):
        terminal.say(line)
