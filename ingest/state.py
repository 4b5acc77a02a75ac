"""What tells whether a file has been written to: its size and its time."""

import stat
from pathlib import Path


def look(path: Path) -> tuple[int, int] | None:
    """Bytes and latest time (ns) of a file, or of a folder's files; None for what is neither (a pipe) or is gone."""
    try:
        own = path.stat()
        files = [p.stat() for p in path.iterdir()] if stat.S_ISDIR(own.st_mode) else [own]
    except OSError:
        return None
    if not (stat.S_ISREG(own.st_mode) or stat.S_ISDIR(own.st_mode)):
        return None
    return sum(s.st_size for s in files), max(s.st_mtime_ns for s in (own, *files))
