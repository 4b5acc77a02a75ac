"""``warpdeck backup DIR``: copy the library consistently while a worker writes."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal, words

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "backup", "copy the library into a folder, while a worker may write", "/backup/warpdeck",
        parents=[common],
        description="The copy is a library itself: WARPDECK_LIBRARY=DIR serves it. A second copy into the same folder"
        " copies new files only. Stored answers are left out, because Warpdeck computes them again.",
    )  # fmt: skip
    command.add_argument("to", metavar="DIR", type=Path, help="an empty folder, or one with an earlier copy")
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Copy the library and print how many files were new."""
    from profiledb.library.move.backup import backup

    count, size = backup(library, arguments.to)
    library.catalog.audit.write_or_log("backed up", about=str(arguments.to))
    terminal.say(f"{words.counted(count, 'file')} copied to {arguments.to}: {words.bytes_(size)}.")
