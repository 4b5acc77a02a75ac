"""The state of a file, which tells a change without reading the content."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class State(NamedTuple):
    """Size and latest time (ns since 1970) of a file, or of a folder's files, and a tag for further changes.

    Its text begins the fingerprint of a file (ingest/fingerprints.py).
    """

    bytes: int
    time_ns: int
    tag: str = ""

    def __str__(self) -> str:
        """Return the state as text that is compared and stored."""
        return f"{self.bytes}:{self.time_ns}{self.tag}"


def read_state(path: Path) -> State | None:
    """Return the state of a file or folder of this machine, tagged if it may not be read; None for anything else."""
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
    """Return True if a file of this machine was removed from a folder that still exists."""
    try:
        return path.parent.is_dir() and not path.exists()
    except OSError:  # a name that is too long, a folder without permission
        return False
