"""``warpdeck run ANALYSIS REPORT``: print the rows of an analysis."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, PARAM, REPORT, parse_params

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "run", "run an analysis on a report", "cuda_gpu_kern_sum my.nsys-rep --param range=step_2",
        parents=[common],
    )  # fmt: skip
    command.add_argument("analysis", metavar="ANALYSIS", help="name of the analysis; the command analyses lists them")
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.add_argument("--format", choices=("csv", "json"), default="csv", help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the rows as CSV or JSON."""
    from profiledb.query import analysis, output

    report = library.find(arguments.report)
    params = parse_params(arguments.param)
    if arguments.format == "json":
        frame = analysis.run(library, report.id, arguments.analysis, params)
        print(frame.to_json(orient="records", indent=1, date_format="iso", double_precision=15))
    else:
        output.write_csv(library, report, arguments.analysis, params, sys.stdout.buffer)
