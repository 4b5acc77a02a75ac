"""``python -m profiledb scaling REPORT...``: steps, efficiency and waits of runs on several GPUs."""

import argparse
from typing import Any

from profiledb.report.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = commands.add_parser("scaling", parents=[common], help="how well a program scales over GPUs")
    command.add_argument("reports", metavar="REPORT", nargs="+", help="of every rank of every run, as list names them")
    command.add_argument("--format", choices=("table", "csv", "json"), default="table")
    command.add_argument(
        "--scaling",
        choices=("strong", "weak"),
        default="strong",
        help="what it is where neither program nor items tell",
    )
    command.set_defaults(command=run)


def run(library: Library, arguments: argparse.Namespace) -> None:
    """Prints the rows of the runs that the named reports are of; raises AnalysisError as ``printed.text``."""
    from profiledb.studies.scaling import printed  # it takes pandas along, which the other commands do without

    print(printed.text(library, arguments.reports, arguments.format, arguments.scaling))
