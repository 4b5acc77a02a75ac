"""``warpdeck``: parse the command line and run one command."""

import argparse
import sys
from typing import Any

from ingest import arguments as ingest_arguments
from profiledb import terminal
from profiledb.access.cli import main as library
from warpdeck import completion, migrate, open_command, program_access, push_command, serve, watch_command
from warpdeck.profile_command import command as profile_command

ABOUT = "A dashboard for GPU profile reports. Without a command it serves the dashboard."
GROUPS = {
    "Record": ("profile",),
    "Read": (
        "open", "list", "summary", "findings", "compare", "whatif", "critical_path", "scaling", "runs", "crossover",
        "series", "check", "run", "sql", "analyses", "link", "rename",
    ),
    "Share": (
        "push", "watch", "html", "export_trace", "export_speedscope", "export_stats", "features", "share", "mcp",
        "token",
    ),
    "Operate": ("serve", "ingest", "space", "audit", "retain", "backup", "move", "migrate", "completion"),
}  # fmt: skip
"""Commands by what people do with them, in the order of the help."""


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status (``terminal.run_guarded``)."""
    words = _insert_default_command(sys.argv[1:] if argv is None else argv)
    arguments = make_parser(_read_version() if "--version" in words else "").parse_args(words)
    return int(arguments.execute(arguments))


def make_parser(version: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``execute``, which takes the arguments and returns the exit
    status."""
    top = terminal.Parser(
        prog="warpdeck", description=ABOUT, epilog=f"Example: warpdeck open my.nsys-rep\n{terminal.STATUS}",
        formatter_class=terminal.group_commands(GROUPS),
    )  # fmt: skip
    top.add_argument("--version", action="version", version=version, help="print the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    serve.add_command(commands)
    open_command.add_command(commands)
    profile_command.add_command(commands)
    _add_ingest_command(commands)
    library.add_all(commands)
    push_command.add_command(commands)
    watch_command.add_command(commands)
    program_access.add_command(commands)
    migrate.add_command(commands)
    completion.add_command(commands, make_parser)
    return top


def _insert_default_command(words: list[str]) -> list[str]:
    """Insert ``serve`` in front of options without a command."""
    has_command = words and (not words[0].startswith("-") or words[0] in ("-h", "--help", "--version"))
    return words if has_command else ["serve", *words]


def _add_ingest_command(commands: Any) -> None:
    command = terminal.add(
        commands,
        "ingest",
        ingest_arguments.SUMMARY,
        ingest_arguments.EXAMPLE,
        description=ingest_arguments.ABOUT,
        epilog=ingest_arguments.EPILOG,
    )
    ingest_arguments.add_arguments(command)

    def execute(arguments: argparse.Namespace) -> int:
        from ingest.__main__ import execute

        return execute(arguments)

    command.set_defaults(execute=execute)


def _read_version() -> str:
    """Return the installed version; the lookup takes as long as the rest of the start, so only --version asks for
    it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"warpdeck {version('warpdeck')}"
    except PackageNotFoundError:
        return "warpdeck, not installed"
