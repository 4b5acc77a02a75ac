"""``warpdeck export_stats REPORT DIR``: write every analysis as CSV into a folder."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import PARAM, REPORT, parse_params

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "export_stats", "write every analysis as CSV into a folder", "my.nsys-rep stats/", parents=[common]
    )
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("folder", metavar="DIR", type=Path, help="folder to write to")
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    from profiledb.query import export

    index = export.write_all(library, library.find(arguments.report), arguments.folder, parse_params(arguments.param))
    written = sum(1 for *_, why in index if not why)
    terminal.say(f"{written} of {len(index)} analyses have data; {arguments.folder / export.INDEX} lists all.")
