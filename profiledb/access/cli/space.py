"""``warpdeck space``: set who sees which reports, as on the page Admin."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import terminal, words
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.library.catalog import Catalog


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "space", "list, make, change and remove spaces", "set kernels kernel-team 'token:nightly build'",
        parents=[common],
        description="A space is the reports below a folder @NAME of the inbox. Admins see it, and the groups that 'set'"
        " names: values of the claim that says roles, or token: and the name of a token.",
    )  # fmt: skip
    command.add_argument("action", choices=("list", "set", "remove"), help="what to do")
    command.add_argument("name", nargs="?", metavar="NAME", default="", help="name of the space")
    command.add_argument("groups", nargs="*", metavar="GROUP", help="who sees it; none: admins alone")
    command.set_defaults(command=run, asks="catalog")


def run(catalog: "Catalog", arguments: argparse.Namespace) -> None:
    """Change a space, or print all spaces, one per line."""
    from profiledb.library.spaces import get_folder

    spaces, name = catalog.spaces, arguments.name
    if arguments.action == "list":
        for one in spaces.list_all():
            terminal.say(f"{get_folder(one.name)}  {words.counted(one.reports, 'report')}  {one.seen_by}")
        return
    if not name:
        raise AnalysisError("A space needs a name.", hint=f"warpdeck space {arguments.action} NAME")
    if arguments.action == "set":
        spaces.put(name, arguments.groups)
    else:
        spaces.remove(name)
        terminal.say(f"Admins alone see the reports of {name}.")
