"""Priority of background work on a busy machine, below that of pages."""

import os
import time
from contextlib import suppress
from pathlib import Path

CONVERSION = 10
"""Niceness of a conversion: somebody waits for it, but less than for a page, beside which it gets a tenth of a core."""
LATER = 19
"""Niceness of work that nobody waits for."""
_TURN_S = 1.0
_POLL_S = 0.02


def step_back(nice: int) -> None:
    """Lower the priority of this process and of all that it starts.

    Linux may share processors by session first, and by niceness only within a session (autogroups, sched(7)). So a
    process that leads a session lowers that of the session, too; the session of a terminal stays as it is.
    """
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel without autogroups, or a machine whose other processes never stop asking
            _set_session_niceness(nice)


def _set_session_niceness(nice: int) -> None:
    """Set the niceness of the session; unprivileged users retry, because Linux admits one change per tenth of a second.

    Source: ``proc_sched_autogroup_set_nice`` in kernel/sched/autogroup.c.
    """
    until = time.monotonic() + _TURN_S
    while True:
        try:
            Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_S)


def use_idle_only() -> None:
    """Run only on idle processors."""
    step_back(LATER)
    with suppress(AttributeError, OSError):  # Linux
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
