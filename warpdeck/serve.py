"""``warpdeck serve``: run the dashboard's server, as ``streamlit run app/main.py`` does."""

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


def add_command(commands: Any) -> None:
    command = terminal.add(commands, "serve", "serve the dashboard (the default)", "--port 8600", status=_STATUS)
    add_server_arguments(command)
    command.add_argument(
        "--samples", metavar="DIR", help="folder of sample reports to take in, or 'off' (default: WARPDECK_SAMPLES)"
    )
    command.add_argument("--address", metavar="HOST", help="address to listen on (default: localhost)")
    command.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input closes")
    command.set_defaults(execute=execute)


def add_server_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of a server to a command."""
    command.add_argument("--port", type=port, metavar="PORT", help="port (default: 8501, or the next one that is free)")
    command.add_argument("--inbox", metavar="DIR", help="folder to watch (default: WARPDECK_INBOX)")
    command.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")


def port(text: str) -> int:
    """Return a TCP port. argparse shows this function's name in its error."""
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise ValueError(text)
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, which is exit status 0."""
    return terminal.run_guarded(lambda: _run_serve(arguments))


def _run_serve(arguments: argparse.Namespace) -> int:
    for field in _FOLDERS:
        if value := getattr(arguments, field):
            os.environ[config.name_variable(field)] = value
    settings = config.load()
    if arguments.port:
        require_free(arguments.address or "localhost", arguments.port)
    if not config.CHECKOUT and settings.samples is None and not config.list_variables("WARPDECK_SAMPLES"):
        terminal.say(
            "No sample reports: they are part of a checkout, not of the installed package. --samples names a folder."
        )
    if arguments.until_stdin_closes:
        threading.Thread(target=_end_after_stdin, daemon=True).start()
    from app import command

    options = {"server.port": arguments.port, "server.address": arguments.address}
    return command.run_server({name: str(value) for name, value in options.items() if value is not None})


def require_free(address: str, number: int) -> None:
    """Check a port before Streamlit does, whose error is only in the log.

    Raises:
        ConfigError: the port is in use, or not permitted.
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


def _end_after_stdin() -> None:
    """End the server when standard input closes, however the process at its other end died."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
