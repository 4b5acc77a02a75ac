"""``warpdeck rename REPORT [NAME]``: give a report another name; its file keeps its own."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import REPORT

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "rename", "give a report another name; its file keeps its own", "my.nsys-rep 'Baseline, batch 64'",
        parents=[common],
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("name", metavar="NAME", nargs="?", default="", help="the new name; without one the file's")
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Rename the report and print its file's name and the new one."""
    report = library.find(arguments.report)
    title = library.catalog.rename(report.id, arguments.name)
    terminal.say(f"{report.name} is now called {title}." if title else f"{report.name} has its file's name again.")
