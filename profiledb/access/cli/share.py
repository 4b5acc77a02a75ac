"""``warpdeck share``: make, list and end links to a report that need no login."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal
from profiledb.access.cli.params import DEFAULT, REPORT
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.library.library import Library

DAYS = 7


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "share", "list, make and end links that need no login", "new train.nsys-rep --days 3",
        parents=[common],
        description="'new' prints the part of the link after the dashboard's address; it cannot be shown again."
        " WARPDECK_LOGIN_LINK_DAYS allows links.",
    )  # fmt: skip
    command.add_argument("action", choices=("list", "new", "end"), help="what to do")
    command.add_argument(
        "what", nargs="?", metavar="REPORT|NUMBER", default="", help=f"of new: {REPORT}; of end: its number"
    )
    command.add_argument("--days", type=int, metavar="N", default=DAYS, help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Make or end a link, or print all links, one per line."""
    shares = library.catalog.sharing_links
    if arguments.action == "list":
        names = {report.id: report.name for report in library.list()}
        for one in shares.all():
            terminal.say(f"{one.id}  until {one.ends_at}  {one.made_by}  {names.get(one.report_id, one.report_id)}")
        return
    if not arguments.what:
        raise AnalysisError("Name a report or a link.", hint="warpdeck share new REPORT, or warpdeck share end NUMBER")
    if arguments.action == "end":
        shares.end(arguments.what)
        return
    secret = shares.create(library.find(arguments.what).id, arguments.days, config.load().login_link_days)
    print(f"/shared/{secret}")
