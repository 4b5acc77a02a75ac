"""``python -m profiledb export_stats REPORT DIR``: every analysis as CSV into a folder."""

import argparse
from pathlib import Path
from typing import Any

from profiledb.cli.params import REPORT, given
from profiledb.query import export
from profiledb.report.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = commands.add_parser("export_stats", parents=[common], help="every analysis as CSV into a folder")
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("folder", metavar="DIR", type=Path)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    command.set_defaults(command=run)


def run(library: Library, arguments: argparse.Namespace) -> None:
    """Writes the files and says how many."""
    index = export.write_all(library, library.find(arguments.report), arguments.folder, given(arguments.param))
    written = sum(1 for *_, why in index if not why)
    print(f"{written} of {len(index)} analyses have data: {arguments.folder / export.INDEX} lists all.")
