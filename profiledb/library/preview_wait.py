"""Reports whose files are still being converted: recognize them, and have a command wait for them."""

import time
from collections.abc import Callable
from pathlib import Path

from profiledb.errors import PreparingError
from profiledb.library.worker_lock import is_library_locked
from profiledb.report.manifest import Manifest

HINT = "Its kernels and copies can be read; calls, ranges and findings follow in a moment."
_STOPPED = "Nothing imports files now. Start Warpdeck, and it is converted again."
_LOOK_S = 0.5


def make_error(name: str, hint: str = HINT) -> PreparingError:
    """Return the error for a question that needs tables which the conversion has yet to write."""
    return PreparingError(f"{name} is being prepared.", hint=hint)


def wait(library: Path, find: Callable[[str], Manifest], name: str) -> Manifest:
    """Return a report once it is complete.

    Raises:
        PreparingError: no worker prepares it.
        ReportNotFoundError: none has the name, or its file turned out to be no report.
    """
    report = find(name)
    while report.preparing:
        if not is_library_locked(library) and find(report.id).preparing:
            raise make_error(report.name, _STOPPED)
        time.sleep(_LOOK_S)
        report = find(report.id)
    return report
