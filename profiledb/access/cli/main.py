"""``python -m profiledb``: ask the library from the command line. ``warpdeck`` offers the same commands."""

import argparse
from typing import Any

from profiledb import config, terminal
from profiledb.access.cli import (
    analyses,
    audit,
    backup,
    check,
    compare,
    critical_path,
    crossover,
    export_speedscope,
    export_stats,
    export_trace,
    features,
    findings,
    html,
    link,
    move,
    rename,
    retain,
    run,
    runs,
    scaling,
    series,
    share,
    space,
    sql,
    summary,
    whatif,
)
from profiledb.access.cli import list as listing
from profiledb.library.locations import open_catalog, open_library

COMMANDS = (
    listing, run, sql, summary, html, findings, whatif, critical_path, export_stats, export_speedscope, export_trace,
    link, rename, compare, crossover, features, runs, scaling, series, check, analyses, audit, space, share, retain,
    backup, move,
)  # fmt: skip
"""Commands in the order of the help, each with ``add`` and ``run``. None imports a database or pandas before it
runs."""


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status, see ``terminal.run_guarded``; a gate returns 2 after any error."""
    parser = terminal.Parser(
        prog="python -m profiledb",
        description="Ask the reports of the library.",
        epilog=f"Example: python -m profiledb summary my.nsys-rep\n{terminal.STATUS}",
    )
    add_all(parser.add_subparsers(required=True, metavar="COMMAND"))
    arguments = parser.parse_args(argv)
    return int(arguments.execute(arguments))


def add_all(commands: Any) -> None:
    """Add all commands to a parser; ``arguments.execute(arguments)`` runs the parsed one."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")
    common.set_defaults(trouble=terminal.FAILED, execute=execute, asks="reports")
    for command in COMMANDS:
        command.add(commands, common)


def execute(arguments: argparse.Namespace) -> int:
    """Run the parsed command on the library, or on its catalog alone if it needs no report."""

    def action() -> int | None:
        settings = config.load(library=arguments.library)
        if arguments.asks == "catalog":
            status: int | None = arguments.command(open_catalog(settings), arguments)
        else:
            library = open_library(settings)
            library.waits = True  # a command answers once, and completely
            status = arguments.command(library, arguments)
        return status

    return terminal.run_guarded(action, arguments.trouble, damaged=terminal.USAGE)
