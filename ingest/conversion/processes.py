"""Everything that a conversion started ends with it, also what has moved into a session of its own.

A process that outlives its parent is handed to the nearest ancestor that adopts orphans (PR_SET_CHILD_SUBREAPER of
prctl(2), Linux). The worker and each conversion do, so nothing that they started can get out of their reach by a second
fork or by ``setsid``. Elsewhere killing the process group has to do.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 100
"""So often all are looked for again: more can only be a race with what keeps on forking."""
_adopts = False


def adopt() -> None:
    """Makes this process the parent of whatever is orphaned below it; what it started itself is its own to end."""
    global _adopts  # noqa: PLW0603 - a fact of the process, as the kernel's own
    if sys.platform == "linux":
        _adopts = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def adopts() -> bool:
    """Whether what is orphaned below this process becomes its child."""
    return _adopts


def end_group(pid: int) -> None:
    """Kills a process group: a converter may have outlived the process that started it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_adopted(keep: Collection[int] = ()) -> None:
    """Kills all processes below this one and waits for them; nothing where this process adopts none.

    Args:
        keep: ids of children that go on, with all below them.
    """
    if not _adopts:
        return
    import psutil  # here: 30 ms, and only after a conversion

    me = psutil.Process()
    for _ in range(_PASSES):
        strays = [child for child in me.children() if child.pid not in keep]
        if not strays:
            return
        for stray in strays:
            with contextlib.suppress(psutil.Error):
                for below in (*stray.children(recursive=True), stray):
                    with contextlib.suppress(psutil.Error):
                        below.kill()
        psutil.wait_procs(strays, timeout=1)  # what they leave behind is ours by the next pass
