"""``warpdeck space`` and ``warpdeck share``: who sees which reports, as the page Administration has it."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal, words
from profiledb.cli.params import DEFAULT, REPORT
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.report.catalog import Catalog
    from profiledb.report.library import Library

DAYS = 7


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the commands to those of the parser."""
    space = terminal.add(
        commands, "space", "list, make, change and remove spaces", "set kernels kernel-team 'token:nightly build'",
        parents=[common],
        description="A space is the reports below a folder @NAME of the inbox. Admins see it, and the groups that 'set'"
        " names: values of the claim that says roles, or token: and the name of a token.",
    )  # fmt: skip
    space.add_argument("action", choices=("list", "set", "remove"), help="what to do")
    space.add_argument("name", nargs="?", metavar="NAME", default="", help="name of the space")
    space.add_argument("groups", nargs="*", metavar="GROUP", help="who sees it; none: admins alone")
    space.set_defaults(command=_space, asks="catalog")
    share = terminal.add(
        commands, "share", "list, make and end links that need no login", "new train.nsys-rep --days 3",
        parents=[common],
        description="'new' prints what follows the address of the dashboard; nobody can tell it again."
        " WARPDECK_LOGIN_LINK_DAYS allows links.",
    )  # fmt: skip
    share.add_argument("action", choices=("list", "new", "end"), help="what to do")
    share.add_argument(
        "what", nargs="?", metavar="REPORT|NUMBER", default="", help=f"of new: {REPORT}; of end: its number"
    )
    share.add_argument("--days", type=int, metavar="N", default=DAYS, help=DEFAULT)
    share.set_defaults(command=_share)


def _space(catalog: "Catalog", arguments: argparse.Namespace) -> None:
    from profiledb.report.spaces import EVERYBODY, folder

    spaces, name = catalog.spaces, arguments.name
    if arguments.action == "list":
        made, counts = spaces.made(), spaces.counts()
        for one in sorted((made | counts).keys() - {EVERYBODY}):
            seen_by = ", ".join(made.get(one, ())) or "admins alone"
            terminal.say(f"{folder(one)}  {words.counted(counts.get(one, 0), 'report')}  {seen_by}")
        return
    if not name:
        raise AnalysisError("A space needs a name.", hint=f"warpdeck space {arguments.action} NAME")
    if arguments.action == "set":
        spaces.put(name, arguments.groups)
    else:
        spaces.remove(name)
        terminal.say(f"Admins alone see the reports of {name}.")


def _share(library: "Library", arguments: argparse.Namespace) -> None:
    shares = library.catalog.shares
    if arguments.action == "list":
        names = {report.id: report.name for report in library.list()}
        for one in shares.all():
            terminal.say(f"{one.id}  until {one.ends_at}  {one.made_by}  {names.get(one.report_id, one.report_id)}")
        return
    if not arguments.what:
        raise AnalysisError("Which one?", hint="warpdeck share new REPORT, or warpdeck share end NUMBER")
    if arguments.action == "end":
        shares.end(arguments.what)
        return
    secret = shares.new(library.find(arguments.what).id, arguments.days, config.load().login_link_days)
    print(f"/shared/{secret}")
