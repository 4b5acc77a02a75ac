"""``warpdeck audit``: who changed what in the library."""

import argparse
import csv
import json
import sys
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.cli.params import DEFAULT

if TYPE_CHECKING:
    from profiledb.report.catalog import Catalog

USUAL = 1_000


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = terminal.add(
        commands, "audit", "list who changed what", "--search edith --format csv", parents=[common],
        description="Uploads, labels, marks, links, deletions, decisions, tokens: the newest first.",
    )  # fmt: skip
    command.add_argument("--search", metavar="TEXT", default="", help="only entries that hold this text")
    command.add_argument("--most", type=int, metavar="N", default=USUAL, help=f"at most N entries (default: {USUAL:,})")
    command.add_argument("--format", choices=("text", "csv", "json"), default="text", help=DEFAULT)
    command.set_defaults(command=run, asks="catalog")


def run(catalog: "Catalog", arguments: argparse.Namespace) -> None:
    """Prints an entry a line."""
    from profiledb.report.audit import COLUMNS

    entries = catalog.audit.entries(arguments.search, most=max(0, arguments.most))
    if arguments.format == "json":
        print(json.dumps([asdict(entry) for entry in entries], indent=1))
    elif arguments.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *map(astuple, entries)])
    else:
        for one in entries:
            about = f": {one.about}" if one.about else ""
            terminal.say(f"{one.at}  {one.who} ({one.way})  {one.action}  {one.report_name or one.report_id}{about}")
