"""End everything that a conversion started, including processes that moved into their own session.

A process that outlives its parent passes to the nearest ancestor that adopts orphans (PR_SET_CHILD_SUBREAPER of
prctl(2), Linux). The worker and each conversion adopt them, so no process below can escape by a second fork or by
``setsid``. On other systems the kill of the process group has to do.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 100
"""Most searches for strays: a process that is left after so many forks faster than it can be killed."""
_adopts = False


def adopt() -> None:
    """Make this process the parent of all orphans below it; its own children remain its own to end."""
    global _adopts  # noqa: PLW0603 - a fact of the process, like the kernel's own flag
    if sys.platform == "linux":
        _adopts = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def is_adopting() -> bool:
    """Return True if orphans below this process become its children."""
    return _adopts


def end_group(pid: int) -> None:
    """Kill a process group: a converter may have outlived the process that started it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_adopted(keep: Collection[int] = ()) -> None:
    """Kill all processes below this one and wait for them. Do nothing if this process adopts no orphans.

    Args:
        keep: ids of children that survive, with all processes below them.
    """
    if not _adopts:
        return
    import psutil  # here: it takes 30 ms and is only needed after a conversion

    for _ in range(_PASSES):
        strays = [child for child in _list_children() if child.pid not in keep]
        if not strays:
            return
        for stray in strays:
            with contextlib.suppress(psutil.Error):
                stray.kill()
        psutil.wait_procs(strays, timeout=1)  # the next pass finds their children among ours


def _list_children() -> "list[psutil.Process]":
    """Return the children of this process.

    ``psutil.Process.children`` compares start times on the clock, and so leaves out young children of a young process
    if the system corrects its clock in between.
    """
    import psutil

    return [process for process in psutil.process_iter(["ppid"]) if process.info["ppid"] == os.getpid()]
