"""What tells one state of a file from another, without a look into it."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class State(NamedTuple):
    """Bytes and latest time (ns since 1970) of a file, or of a folder's files, and what else tells of a change.

    As text it is how the fingerprint of a file begins (ingest/fingerprints.py).
    """

    bytes: int
    time_ns: int
    tag: str = ""

    def __str__(self) -> str:
        """The state in a form that is compared and kept."""
        return f"{self.bytes}:{self.time_ns}{self.tag}"


def look(path: Path) -> State | None:
    """The state of a file or folder of this machine, tagged where it may not be read.

    None for what is neither (a pipe) or is gone.
    """
    try:
        own = path.stat()
        files = [p.stat() for p in path.iterdir()] if stat.S_ISDIR(own.st_mode) else [own]
    except OSError:
        return None
    if not (stat.S_ISREG(own.st_mode) or stat.S_ISDIR(own.st_mode)):
        return None
    tag = "" if os.access(path, os.R_OK) else "!"
    return State(sum(s.st_size for s in files), max(s.st_mtime_ns for s in (own, *files)), tag)


def is_gone(path: Path) -> bool:
    """Whether a file of this machine was removed from a folder that is still there."""
    try:
        return path.parent.is_dir() and not path.exists()
    except OSError:  # a name that is too long, a folder without rights
        return False
