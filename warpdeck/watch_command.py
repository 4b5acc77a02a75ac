"""``warpdeck watch DIR``: send the reports of a folder to a server as they come."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from profiledb import terminal
from profiledb.errors import ConfigError, ConversionError
from warpdeck.push_command import SERVER, TOKEN, Server, ServerAwayError, add_target, open_server, send

ABOUT = (
    "Sends each report in DIR and the folders below it to a server once nobody writes to it any more: those that are"
    " there, then those that come. Reports are told by their ending and their first bytes; other files stay. A report"
    " that the server has is not sent again, and reports wait while the server is away."
    f" {SERVER} names the server, {TOKEN} has a token of it. Ctrl-C ends the command."
)
PATIENCE_S = 5.0
"""Seconds without a change after which a file counts as finished, unless its content shows that."""
AGAIN_S = 30.0
"""Seconds until the next try while the server is away."""


def add_command(commands: Any) -> None:
    """Add the command to a parser."""
    command = terminal.add(
        commands, "watch", "send the reports of a folder to a server as they come",
        "captures --server https://profiles.example.com", description=ABOUT,
        status="Exit status: 0; 1 if the server refuses the token; 2 for a wrong command line; 130 after Ctrl-C.",
    )  # fmt: skip
    command.add_argument("folder", metavar="DIR", type=Path, help="a folder for reports")
    add_target(command)
    command.set_defaults(execute=lambda arguments: terminal.run_guarded(lambda: _run_watch(arguments)))


def _run_watch(arguments: argparse.Namespace) -> int:
    if not arguments.folder.is_dir():
        raise ConfigError(f"{arguments.folder} is no folder.")
    watched = FolderPush(arguments.folder.resolve(), open_server(arguments.server), arguments.space)
    terminal.say(f"Watching {arguments.folder}; Ctrl-C ends this.")
    with watched:
        while True:
            watched.push_finished()
            watched.wait()


class FolderPush:
    """Sends the finished files of a folder, each state of a file once.

    Args:
        folder: a folder; links in it are not followed.
        server: the server.
        space: space for the reports.
    """

    def __init__(self, folder: Path, server: Server, space: str = "") -> None:
        from ingest.watch import Watch
        from profiledb.library.inbox.folder import FolderInbox

        self.server = server
        self.space = space
        self.watch = Watch(FolderInbox(folder), PATIENCE_S)
        self._sent: dict[Path, object] = {}
        self._away_until = 0.0

    def __enter__(self) -> "FolderPush":
        self.watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.watch.stop()

    def wait(self) -> None:
        """Wait until something changes in the folder, or it is time for another look."""
        pause_s = self.watch.again_s if self._away_until == 0.0 else max(0.0, self._away_until - time.monotonic())
        self.watch.wake.wait(pause_s)
        self.watch.wake.clear()

    def push_finished(self) -> None:
        """Send the files that are finished and were not sent in this state; print the address of each, or why not.

        Raises:
            ConfigError: the server refuses the token.
        """
        from warpdeck.sources import list_sources

        self._away_until = 0.0
        with self.watch.look() as finished:
            if self.watch.swept:
                self._sent = {path: self._sent[path] for path in finished if path in self._sent}
            for path in list_sources([path for path in finished if _is_report(path)]):
                state = self.watch.inbox.look(path)
                if state is None or self._sent.get(path) == state:
                    continue
                try:
                    terminal.say(f"{path.name}  {self.server.address}{send(self.server, path, self.space)}")
                except ServerAwayError as error:
                    terminal.say(f"{terminal.describe_error(error)} Trying again in {AGAIN_S:.0f} s.", sys.stderr)
                    self._away_until = time.monotonic() + AGAIN_S
                    self.watch.sweeps.make_due()
                    return
                except ConversionError as error:
                    terminal.say(f"{path.name}: {terminal.describe_error(error)}", sys.stderr)
                self._sent[path] = state


def _is_report(path: Path) -> bool:
    """Return True for a file with the ending and the first bytes of a format; other files belong to the user."""
    from ingest.formats import list_formats

    return path.is_file() and any(
        path.name.lower().endswith(tuple(one.endings)) and one.matches(path) for one in list_formats()
    )
