"""``warpdeck serve``: the dashboard's server, as ``streamlit run app/main.py`` starts it."""

import argparse
import os
import signal
import socket
import sys
import threading
from typing import Any

from profiledb import config, terminal
from profiledb.errors import ConfigError

_FOLDERS = ("inbox", "library", "samples")
_STATUS = "Exit status: 0, also after Ctrl-C; 1 after an error; 2 for a wrong command line."


def add(commands: Any) -> None:
    """Adds the command to those of the parser."""
    command = terminal.add(commands, "serve", "serve the dashboard (the default)", "--port 8600", status=_STATUS)
    folders(command)
    command.add_argument(
        "--samples", metavar="DIR", help="folder of sample reports to take in, or 'off' (default: WARPDECK_SAMPLES)"
    )
    command.add_argument("--address", metavar="HOST", help="address to listen on (default: localhost)")
    command.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input closes")
    command.set_defaults(execute=execute)


def folders(command: argparse.ArgumentParser) -> None:
    """Adds what a server is started with to a command."""
    command.add_argument("--port", type=port, metavar="PORT", help="port (default: 8501, or the next one that is free)")
    command.add_argument("--inbox", metavar="DIR", help="folder to watch (default: WARPDECK_INBOX)")
    command.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")


def port(text: str) -> int:
    """A TCP port; argparse turns a ValueError into its own words."""
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise ValueError(text)
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Serves until Ctrl-C; the exit status is then 0."""
    return terminal.guarded(lambda: _serve(arguments))


def _serve(arguments: argparse.Namespace) -> int:
    for field in _FOLDERS:
        if value := getattr(arguments, field):
            os.environ[config.variable(field)] = value
    settings = config.load()
    if arguments.port:
        require_free(arguments.address or "localhost", arguments.port)
    if not config.CHECKOUT and settings.samples is None and not config.variables_with_prefix("WARPDECK_SAMPLES"):
        terminal.say(
            "No sample reports: they are part of a checkout, not of the installed package. --samples names a folder."
        )
    if arguments.until_stdin_closes:
        threading.Thread(target=_after_stdin, daemon=True).start()
    from app import command

    options = {"server.port": arguments.port, "server.address": arguments.address}
    return command.run_server({name: str(value) for name, value in options.items() if value is not None})


def require_free(address: str, number: int) -> None:
    """Says in a sentence what Streamlit would log.

    Raises:
        ConfigError: another program listens on the port, or nobody may.
    """
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET  # as Streamlit chooses
        *_, target = socket.getaddrinfo(address, number, family, socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(target)
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on port {number} of {address}: {error.strerror}.", hint="Choose another one with --port."
        ) from error


def _after_stdin() -> None:
    """Ends the server when the other end of standard input is closed, however the process that held it ended."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
