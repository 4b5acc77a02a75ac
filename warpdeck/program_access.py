"""``warpdeck mcp`` and ``warpdeck token``: access for programs."""

import argparse
from typing import Any

from profiledb import config, terminal


def add_command(commands: Any) -> None:
    """Add both commands."""
    mcp = terminal.add(
        commands, "mcp", "answer an assistant on standard input and output", "--library DIR",
        description="An MCP server with the reports of the library. It needs the package mcp:"
        " pip install 'warpdeck[mcp]'",
    )  # fmt: skip
    _add_library_argument(mcp)
    mcp.set_defaults(execute=lambda arguments: terminal.run_guarded(lambda: _serve_mcp(arguments)))
    token = terminal.add(commands, "token", "make, list and remove tokens for programs", "new nightly --role editor")
    token.add_argument("action", choices=("new", "list", "remove"), help="what to do")
    token.add_argument("name", nargs="?", metavar="NAME", help="name of the token")
    token.add_argument(
        "--role",
        choices=("viewer", "editor", "admin"),
        default="viewer",
        help="what it allows: an editor also uploads, an admin sees every space",
    )
    token.add_argument("--days", type=int, metavar="N", help="how long a new token lasts (default: 90)")
    token.add_argument("--never", action="store_true", help="have a new token last until somebody removes it")
    _add_library_argument(token)
    token.set_defaults(execute=lambda arguments: terminal.run_guarded(lambda: _manage_tokens(arguments)))


def _add_library_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")


def _serve_mcp(arguments: argparse.Namespace) -> None:
    from profiledb.access.operations import mcp_tools
    from profiledb.library import server_file
    from profiledb.library.locations import open_library

    library = open_library(config.load(library=arguments.library))
    running = server_file.read_announcement(library.folder)
    address = f"http://127.0.0.1:{running.port}{running.base}" if running else ""
    mcp_tools.create_server(lambda: library)  # reports missing packages before anybody waits
    import anyio

    anyio.run(mcp_tools.serve_stdio, library, address)


def _manage_tokens(arguments: argparse.Namespace) -> None:
    from profiledb.access.operations.tokens import DAYS, describe_days, open_tokens
    from profiledb.errors import AnalysisError
    from profiledb.library.locations import open_catalog, refuse_newer

    settings = config.load(library=arguments.library)
    refuse_newer(settings)
    tokens, catalog = open_tokens(settings), open_catalog(settings)
    if arguments.action == "list":
        uses = catalog.token_uses.all()
        for token in tokens.all():
            times = (f"made {token.created_at}", f"{token.lasts:<30}", f"used {uses.get(token.id, 'never')}")
            terminal.say(f"{token.role:<7} {'  '.join(times)}  {token.name}")
        return
    if not arguments.name:
        raise AnalysisError("A token needs a name.", hint=f'warpdeck token {arguments.action} "nightly build"')
    if arguments.never and arguments.days is not None:
        raise AnalysisError("A token takes --days or --never, not both.")
    audit = catalog.audit
    if arguments.action == "remove":
        tokens.remove(arguments.name)
        audit.write("removed token", about=arguments.name)
        terminal.say(f"The token {arguments.name!r} opens nothing any more.")
        return
    days = None if arguments.never else DAYS if arguments.days is None else arguments.days
    secret = tokens.new(arguments.name, arguments.role, days)
    audit.write("made token", about=f"{arguments.name}, {arguments.role}, {describe_days(days)}")
    print(secret)
