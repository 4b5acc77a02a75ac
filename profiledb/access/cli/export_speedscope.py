"""``warpdeck export_speedscope REPORT``: write the CPU samples of a report for speedscope."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import OUTPUT, PARAM, REPORT, parse_params

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "export_speedscope", "write the CPU samples as JSON for https://www.speedscope.app",
        "my.nsys-rep -o my.speedscope.json --param moments=idle", parents=[common],
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the file or write it; raise WarpdeckError if it cannot be written."""
    from profiledb.studies import speedscope  # imports pandas, 0.3 s, which other commands do not need

    text = speedscope.format_document(library, library.find(arguments.report).id, parse_params(arguments.param))
    terminal.write(text.encode(), arguments.output)
