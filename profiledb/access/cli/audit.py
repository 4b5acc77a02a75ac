"""``warpdeck audit``: print who did what in the library."""

import argparse
import csv
import json
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, astuple
from itertools import islice
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT
from profiledb.spreadsheet import defuse_text

if TYPE_CHECKING:
    from profiledb.library.audit import Entry
    from profiledb.library.catalog import Catalog

USUAL = 1_000
"""Default number of lines in plain text."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "audit", "list who did what", "--month 2026-11 --format csv", parents=[common],
        description="Uploads, labels, marks, links, deletions, decisions, tokens; logins, downloads, questions in SQL,"
        " backups: the newest first. Entries are kept for WARPDECK_AUDIT_DAYS.",
    )  # fmt: skip
    command.add_argument("--search", metavar="TEXT", default="", help="only entries that hold this text")
    command.add_argument("--month", metavar="YYYY-MM", type=_parse_month, help="only entries of this month (UTC)")
    command.add_argument(
        "--most", type=int, metavar="N", help=f"at most N entries (default: {USUAL:,} as text, all as CSV and JSON)"
    )
    command.add_argument("--format", choices=("text", "csv", "json"), default="text", help=DEFAULT)
    command.set_defaults(command=run, asks="catalog")


def run(catalog: "Catalog", arguments: argparse.Namespace) -> None:
    """Print entries as they are read, one per line."""
    from profiledb.library.audit import COLUMNS, MOST

    most = MOST if arguments.most is None else arguments.most
    entries = catalog.audit.iterate(arguments.search, most=most, month=arguments.month or "")
    if arguments.format == "json":
        _print_json(entries)
    elif arguments.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(map(defuse_text, astuple(entry)) for entry in entries)
    else:
        for one in entries if arguments.most is not None else islice(entries, USUAL):
            about = f": {one.about}" if one.about else ""
            terminal.say(f"{one.at}  {one.who} ({one.way})  {one.action}  {one.report_name or one.report_id}{about}")
        if next(entries, None):
            terminal.say(f"There are more entries: only the newest {USUAL:,} are shown. Try --most.", sys.stderr)


def _parse_month(text: str) -> str:
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", text):
        raise argparse.ArgumentTypeError("a month is like 2026-11")
    return text


def _print_json(entries: "Iterable[Entry]") -> None:
    """Print a JSON list with one entry in memory at a time."""
    before = "[\n"
    for entry in entries:
        print(before + textwrap.indent(json.dumps(asdict(entry), indent=1), " "), end="")
        before = ",\n"
    print("\n]" if before != "[\n" else "[]")
