"""``warpdeck move FROM``: copy a folder library into the library and database that the settings name."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal, words
from profiledb.errors import WarpdeckError

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.library.move.move import Moved

EVERY_S = 5.0


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "move", "take a folder library, or a copy by backup, into this library", "/srv/warpdeck/library",
        parents=[common],
        description="Takes reports, labels, marks, links, decisions, questions, tokens and the audit into the library"
        " and the database that the settings name. The source stays as it is. Reports that are there already stay:"
        " run the command again after it was stopped. docs/team.md has more.",
    )  # fmt: skip
    command.add_argument("source", metavar="FROM", type=Path, help="the folder of the library")
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> int | None:
    """Copy the library and print the progress."""
    from profiledb.library.move.move import move

    settings = config.load(library=arguments.library)
    if settings.database:
        from profiledb.library import migrations

        migrations.move(settings.database)
    progress = _ProgressPrinter()
    try:
        moved = move(arguments.source.expanduser().absolute(), library, progress.look)
    except WarpdeckError:
        progress.say(at_once=True)
        raise
    progress.say(at_once=True)
    terminal.say(f"{words.counted(moved.rows, 'row')} written to the catalog. {arguments.source} is as it was.")
    for name in moved.damaged:
        terminal.say(f"{name} is damaged and stays behind. Drop its source file again.", sys.stderr)
    return terminal.FAILED if moved.damaged else None


class _ProgressPrinter:
    """Prints the progress from time to time."""

    def __init__(self) -> None:
        self._moved: Moved | None = None
        self._printed_at = time.monotonic()

    def look(self, moved: "Moved") -> None:
        """Take a new state of the progress."""
        self._moved = moved
        if time.monotonic() - self._printed_at >= EVERY_S:
            self.say()

    def say(self, *, at_once: bool = False) -> None:
        """Print a line, unless nothing has been done yet."""
        if self._moved is None:
            if at_once:
                terminal.say("No report to move.")
            return
        self._printed_at = time.monotonic()
        done = f"{self._moved.reports:,} of {words.counted(self._moved.of, 'report')}"
        terminal.say(f"{done}: {words.counted(self._moved.files, 'file')} copied, {words.bytes_(self._moved.bytes)}.")
