"""``warpdeck push FILE...``: send reports to a server and say their addresses."""

import argparse
import http.client
import json
import os
import ssl
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from profiledb import terminal
from profiledb.errors import ConfigError, ConversionError, WarpdeckError
from profiledb.words import bytes_

SERVER, TOKEN = "WARPDECK_SERVER", "WARPDECK_TOKEN"
ABOUT = (
    "Uploads each file with its sidecars, waits until it is a report, and prints the address."
    f" {SERVER} names the server, {TOKEN} has a token of it (warpdeck token new NAME --role editor). A report that the"
    " server has already is not sent again. After a break the rest of the file is sent, by the next command, too."
)
TRIES = 5
ANSWER_S = 60.0
"""Seconds without a byte after which a connection counts as broken."""
READY_S = 1800.0
"""Seconds in which a file must become a report."""
_PAUSE_S = 2.0
_LOOK_S = 0.5
_LONGEST = 1 << 20
_LOCAL = ("localhost", "127.0.0.1", "::1")


class ServerAwayError(ConversionError):
    """The server does not answer, or has no room."""


@dataclass(frozen=True)
class Reply:
    """An answer of the server; ``content`` is empty if it is no JSON object."""

    status: int
    content: Mapping[str, Any]
    retry_after_s: float

    @property
    def message(self) -> str:
        """Return the server's answer."""
        parts = (str(self.content.get(name, "")).strip() for name in ("title", "detail"))
        return " ".join(part for part in parts if part) or f"HTTP status {self.status}."


class Server:
    """Asks a server; redirects are not followed, because the token belongs to this one."""

    def __init__(self, address: str, token: str) -> None:
        """Raise ConfigError if the address is none, or would show the token to others."""
        self.parts: SplitResult = urlsplit(address.rstrip("/"))
        if self.parts.scheme not in ("http", "https") or not self.parts.hostname or self.parts.username:
            raise ConfigError(
                f"{address!r} is no address of a server.", hint=f"Set {SERVER}=https://profiles.example.com"
            )
        if token and self.parts.scheme == "http" and self.parts.hostname not in _LOCAL:
            raise ConfigError("A token goes over https only.", hint="Name the server by https://")
        if any(not " " < letter <= "~" for letter in token):
            raise ConfigError(f"{TOKEN} is no token.", hint="warpdeck token new NAME --role editor")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    @property
    def address(self) -> str:
        """Return the address without a slash at its end."""
        return self.parts.geturl()

    def ask(
        self, path: str, query: Mapping[str, str] | None = None, body: Path | None = None, offset: int = 0
    ) -> Reply:
        """Send a request, with a file from ``offset`` on as its body.

        Raises:
            OSError, http.client.HTTPException: the connection broke, or there is no server.
        """
        host, port = str(self.parts.hostname), self.parts.port
        connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(host, port, timeout=ANSWER_S, context=ssl.create_default_context())
            if self.parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=ANSWER_S)
        )
        target = f"{self.parts.path}/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            if body is None:
                connection.request("GET", target, headers=self.headers)
            else:
                length = str(body.stat().st_size - offset)
                headers = {"Content-Type": "application/octet-stream", "Content-Length": length}
                with body.open("rb") as file:
                    file.seek(offset)
                    connection.request("POST", target, file, self.headers | headers)
            return _read_reply(connection.getresponse())
        finally:
            connection.close()


def _read_reply(response: http.client.HTTPResponse) -> Reply:
    try:
        content = json.loads(response.read(_LONGEST))
    except ValueError:
        content = {}
    wait = response.headers.get("Retry-After", "")
    seconds = min(float(wait), 60.0) if wait.isdecimal() else _PAUSE_S
    return Reply(response.status, content if isinstance(content, dict) else {}, seconds)


def add_command(commands: Any) -> None:
    """Add the command to a parser."""
    command = terminal.add(
        commands, "push", "send reports to a server", "train.nsys-rep --server https://profiles.example.com",
        description=ABOUT, status="Exit status: 0; 1 if a file failed; 2 for a wrong command line; 130 after Ctrl-C.",
    )  # fmt: skip
    command.add_argument("files", metavar="FILE", nargs="+", type=Path, help="a report or an export")
    add_target(command)
    command.set_defaults(execute=lambda arguments: terminal.run_guarded(lambda: _run_push(arguments)))


def add_target(command: argparse.ArgumentParser) -> None:
    """Add the options that say where reports go."""
    command.add_argument("--server", metavar="URL", help=f"address of the server (default: {SERVER})")
    command.add_argument("--space", metavar="NAME", default="", help="space for the reports (default: everybody's)")


def _run_push(arguments: argparse.Namespace) -> int:
    from warpdeck.sources import list_sources

    server = open_server(arguments.server)
    failed = False
    for path in list_sources(arguments.files):
        try:
            terminal.say(f"{path.name}  {server.address}{send(server, path, arguments.space)}")
        except WarpdeckError as error:
            terminal.say(f"{path.name}: {terminal.describe_error(error)}", sys.stderr)
            failed = True
    return terminal.FAILED if failed else 0


def open_server(named: str | None) -> Server:
    """Return the server that the command line or the environment names, with the token of the environment.

    Raises:
        ConfigError: neither names one, or it is no address.
    """
    address = named or os.environ.get(SERVER, "").strip()
    if not address:
        raise ConfigError("No server is named.", hint=f"Use --server, or set {SERVER}=https://profiles.example.com")
    return Server(address, os.environ.get(TOKEN, "").strip())


def send(server: Server, path: Path, space: str = "") -> str:
    """Send a file and the files that belong to it; return the path of its page.

    Raises:
        WarpdeckError: the file cannot be read or sent, or does not become a report.
    """
    from ingest.file_state import hash_contents
    from warpdeck.sources import list_companions

    if not path.is_file():
        raise ConversionError("There is no such file.")
    try:
        sha256 = hash_contents(path)
        companions = list_companions(path)
    except OSError as error:
        raise ConversionError(f"It cannot be read: {error.strerror}.") from error
    report_id = sha256[:16]
    page = _find_page(server, report_id)
    if page is None:
        terminal.say(f"{path.name}: sending {bytes_(path.stat().st_size)}")
        for one in companions:
            _upload_file(server, one, hash_contents(one), space)
        name = _upload_file(server, path, sha256, space)
        page = _wait_for_page(server, name, report_id)
    return page


def _upload_file(server: Server, path: Path, sha256: str, space: str) -> str:
    """Send a file, after a break the rest of it; return the name that the server gave it."""
    query = {"name": path.name, "sha256": sha256} | ({"space": space} if space else {})

    def send_rest() -> Reply:
        part = server.ask(f"/uploads/{sha256}")
        offset = int(part.content.get("bytes", 0)) if part.status == 200 else 0
        if offset:
            terminal.say(f"{path.name}: {bytes_(offset)} have arrived; sending the rest")
            reply = server.ask("/uploads", query | {"offset": str(offset)}, path, offset)
            if reply.status != 409:
                return reply
        return server.ask("/uploads", query, path)

    reply = _retry(server, send_rest)
    if reply.status != 202:
        raise ConversionError(f"The server refuses it: {reply.message}")
    return str(reply.content.get("name", path.name))


def _find_page(server: Server, report_id: str) -> str | None:
    """Return the path of a report's page; None if the server has no such report."""
    reply = _retry(server, lambda: server.ask(f"/reports/{quote(report_id)}"))
    if reply.status in (401, 403):
        raise ConfigError(f"The server refuses: {reply.message}", hint=f"Put a token of an editor into {TOKEN}.")
    return str(reply.content.get("page") or "/") if reply.status == 200 else None


def _wait_for_page(server: Server, name: str, report_id: str) -> str:
    from profiledb.library.catalog import OPEN_STATES

    limit = time.monotonic() + READY_S
    while time.monotonic() < limit:
        if page := _find_page(server, report_id):
            return page
        jobs: Sequence[Mapping[str, Any]] = _retry(server, lambda: server.ask("/jobs", {"name": name})).content.get(
            "jobs", []
        )
        if jobs and jobs[0].get("state") not in (*OPEN_STATES, "ready", "duplicate"):
            raise ConversionError(
                f"{jobs[0].get('message') or jobs[0].get('state')} {jobs[0].get('hint') or ''}".strip()
            )
        time.sleep(_LOOK_S)  # between two looks; the answer decides
    raise ConversionError("The server has it, and has not made a report of it yet.")


def _retry(server: Server, ask: Callable[[], Reply]) -> Reply:
    """Ask a server, and again where it is busy or the connection breaks.

    Raises:
        ServerAwayError: it does not answer.
    """
    reason = ""
    for number in range(TRIES):
        pause = _PAUSE_S * 2**number
        try:
            reply = ask()
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
        else:
            if reply.status not in (429, 503):
                return reply
            reason, pause = reply.message, reply.retry_after_s
        if number + 1 < TRIES:
            time.sleep(pause)  # the server says how long, or is given time
    raise ServerAwayError(f"The server {server.parts.hostname} does not take it: {reason}.")
