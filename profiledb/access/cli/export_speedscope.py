"""``warpdeck export_speedscope REPORT``: the CPU samples of a report as a file for speedscope."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import OUTPUT, PARAM, REPORT, given

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = terminal.add(
        commands, "export_speedscope", "write the CPU samples as JSON for https://www.speedscope.app",
        "my.nsys-rep -o my.speedscope.json --param moments=idle", parents=[common],
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Prints the file, or writes it; raises WarpdeckError where it cannot be written."""
    from profiledb.studies import speedscope  # brings pandas, 0.3 s, which other commands do without

    text = speedscope.text(library, library.find(arguments.report).id, given(arguments.param))
    terminal.write(text.encode(), arguments.output)
