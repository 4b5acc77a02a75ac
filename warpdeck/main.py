"""``warpdeck``: reads the command line and runs one command."""

import argparse
import sys
from typing import Any

from ingest import arguments as of_ingest
from profiledb import terminal
from profiledb.access.cli import main as library
from warpdeck import completion, migrate, open_command, program_access, serve

ABOUT = "A dashboard for GPU profile reports. Without a command it serves the dashboard."


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns its exit status, see ``terminal.guarded``."""
    given = _with_command(sys.argv[1:] if argv is None else argv)
    arguments = parser(_version() if "--version" in given else "").parse_args(given)
    return int(arguments.execute(arguments))


def parser(version: str = "") -> argparse.ArgumentParser:
    """The parser of all commands; each sets ``execute``, which takes what was read and returns the exit status."""
    top = terminal.Parser(
        prog="warpdeck", description=ABOUT, epilog=f"Example: warpdeck open my.nsys-rep\n{terminal.STATUS}"
    )
    top.add_argument("--version", action="version", version=version, help="print the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    serve.add(commands)
    open_command.add(commands)
    _add_ingest(commands)
    library.add_all(commands)
    program_access.add(commands)
    migrate.add(commands)
    completion.add(commands, parser)
    return top


def _with_command(given: list[str]) -> list[str]:
    """Options without a command are those of ``serve``."""
    named = given and (not given[0].startswith("-") or given[0] in ("-h", "--help", "--version"))
    return given if named else ["serve", *given]


def _add_ingest(commands: Any) -> None:
    command = terminal.add(
        commands, "ingest", of_ingest.SUMMARY, of_ingest.EXAMPLE, description=of_ingest.ABOUT, epilog=of_ingest.EPILOG
    )
    of_ingest.add(command)

    def execute(arguments: argparse.Namespace) -> int:
        from ingest.__main__ import execute

        return execute(arguments)

    command.set_defaults(execute=execute)


def _version() -> str:
    """The version that is installed; asked only where it is wanted, for it takes as long as all the rest."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"warpdeck {version('warpdeck')}"
    except PackageNotFoundError:
        return "warpdeck, not installed"
