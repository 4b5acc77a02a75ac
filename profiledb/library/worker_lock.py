"""The lock of the only worker that writes to a library."""

import fcntl
from pathlib import Path

LOCK = "worker.lock"


def is_library_locked(library: Path) -> bool:
    """Return True if some process holds the worker's lock of a library.

    The check takes a shared lock for a moment. A worker that starts just then exits; the next check starts it again.
    """
    try:
        with (library / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
