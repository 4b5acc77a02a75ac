"""How a process that reads a file can end: the sentence for each, and whether the file is tried again."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from profiledb.errors import ConversionError

TRIES = 3
"""Attempts at a file whose conversion ends by a signal, or takes its worker with it."""
_MB = "raise WARPDECK_CONVERT_MEMORY_MB and WARPDECK_MEMORY_LIMIT."


@dataclass(frozen=True)
class Ending:
    """One way to end.

    Args:
        message: the sentence, with ``{who}`` (the conversion, or nsys or ncu) and what else ``ended`` is given.
        hint: what to do.
        again: whether the file is tried again.
    """

    message: str
    hint: str
    again: bool = False


ENDINGS = {
    "killed": Ending(
        "{who} was killed ({how}).",
        "Something outside Warpdeck ended it: see the system's log, then try the file again.",
        again=True,
    ),
    "oom": Ending(
        "{who} was killed because the machine or its container ran out of memory.",
        "Give it more memory, or capture a shorter window; then try the file again.",
        again=True,
    ),
    "crashed": Ending(
        "{who} crashed ({how}).",
        "Try the file again with a newer nsys or ncu, or capture again.",
        again=True,
    ),
    "worker": Ending(
        "The worker was killed while it read {name}.",
        "See the worker's and the system's log, then try the file again.",
        again=True,
    ),
    "memory": Ending("{who} needs more memory than a conversion may use.", f"Capture a shorter window, or {_MB}"),
    "time": Ending(
        "{who} used up the processor time that a file of its size may take{limit}.",
        "Capture a shorter window, or raise WARPDECK_CONVERT_TIMEOUT_S.",
    ),
    "hang": Ending(
        "{who} hung: it did nothing for {limit}.",
        "Check that the disk of the inbox answers, then try the file again.",
    ),
    "wall": Ending("{who} did not finish within {limit}.", "Capture a shorter window, or use a faster machine."),
    "ended": Ending("{who} ended without a result ({how}).", "See the worker's log, then try the file again."),
}
"""By cause, the word under which failures are counted."""
CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS")
_OUT_OF_MEMORY = re.compile(r"bad_alloc|\bMemoryError\b|[Oo]ut of memory|[Cc]annot allocate memory")
_EVENTS = Path("/sys/fs/cgroup")


class EndedError(ConversionError):
    """A program that reads a file did not end by itself.

    Args:
        cause: one of ``ENDINGS``.
        who: what ended, the first words of the sentence.
        detail: what it printed.
        values: of what stands in braces in the sentence.
    """

    def __init__(self, cause: str, who: str, detail: str = "", **values: str) -> None:
        ending = ENDINGS[cause]
        filled = {"how": "", "limit": "", "name": ""} | values
        super().__init__(ending.message.format(who=who, **filled), hint=ending.hint, detail=detail)
        self.cause = cause


def of(who: str, status: int, words: str, ooms: int | None = None, detail: str = "") -> EndedError | None:
    """The end of a program by something else than itself; None where it ended by itself.

    Args:
        who: the first words of the sentence.
        status: its exit status; negative is the number of a signal, and so is what a shell makes of one.
        words: what it printed: a program that aborts says there that it got no memory.
        ooms: ``oom_kills`` before it started.
        detail: what is kept of its words.
    """
    number = -status if status < 0 else status - 128
    name = signal.Signals(number).name if number in _SIGNALS else ""
    if status and _OUT_OF_MEMORY.search(words) and name in ("", "SIGABRT"):
        return EndedError("memory", who, detail)
    if status >= 0 and name not in (*CRASHES, "SIGKILL", "SIGXCPU"):
        return None
    if name == "SIGXCPU":
        return EndedError("time", who, detail)
    if name == "SIGKILL" and ooms is not None and oom_kills() > ooms:
        return EndedError("oom", who, detail)
    return EndedError("crashed" if name in CRASHES else "killed", who, detail, how=name or f"signal {number}")


_SIGNALS = {int(one) for one in signal.Signals}


def oom_kills() -> int:
    """Processes that the kernel has killed for want of memory: of this process's control group, else of the machine."""
    for path in (_group() / "memory.events", Path("/proc/vmstat")):
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeError):
            continue
        for line in lines:
            key, _, value = line.partition(" ")
            if key == "oom_kill" and value.isdecimal():
                return int(value)
    return 0


def _group() -> Path:
    """The folder of this process's control group (version 2), as its container sees it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return _EVENTS
    return next((_EVENTS / line[3:].lstrip("/") for line in lines if line.startswith("0::")), _EVENTS)
