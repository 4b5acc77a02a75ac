"""How much of a busy machine work in the background gets: who looks at a page goes first."""

import os
import time
from contextlib import suppress
from pathlib import Path

CONVERSION = 10
"""Somebody waits for it, but less than for a page: next to one it gets a tenth of a core."""
LATER = 19
"""What nobody waits for."""
_TURN_S = 1.0
_POLL_S = 0.02


def step_back(nice: int) -> None:
    """Lowers the priority of this process and of all that it starts.

    Linux may share processors by sessions first, and only within one by niceness (autogroups, sched(7)). So the session
    of a process that leads one steps back with it; that of somebody's terminal stays as it is.
    """
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel without autogroups, or a machine whose others never stop asking
            _session(nice)


def _session(nice: int) -> None:
    """Of all users but root, Linux lets one session in a tenth of a second change its niceness; the others ask again.

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


def only_idle() -> None:
    """Leaves this process what no other one wants."""
    step_back(LATER)
    with suppress(AttributeError, OSError):  # Linux
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
