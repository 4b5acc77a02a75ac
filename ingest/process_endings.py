"""Ways in which a process that reads a file can end, with a sentence for each."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from profiledb.errors import ConversionError

TRIES = 3
"""Attempts at a file whose conversion ends by a signal or takes its worker with it."""
_MB = "raise WARPDECK_CONVERT_MEMORY_MB and WARPDECK_MEMORY_LIMIT."


@dataclass(frozen=True)
class Ending:
    """One way to end.

    Args:
        message: sentence with ``{subject}`` (the conversion, nsys or ncu) and further placeholders.
        hint: remedy.
        again: whether the file is tried again.
    """

    message: str
    hint: str
    again: bool = False


ENDINGS = {
    "killed": Ending(
        "{subject} was killed ({how}).",
        "Something outside Warpdeck ended it: see the system's log, then try the file again.",
        again=True,
    ),
    "oom": Ending(
        "{subject} was killed because the machine or its container ran out of memory.",
        "Give it more memory, or capture a shorter window; then try the file again.",
        again=True,
    ),
    "crashed": Ending(
        "{subject} crashed ({how}).",
        "Try the file again with a newer nsys or ncu, or capture again.",
        again=True,
    ),
    "worker": Ending(
        "The worker was killed while it read {name}.",
        "See the worker's and the system's log, then try the file again.",
        again=True,
    ),
    "memory": Ending("{subject} needs more memory than a conversion may use.", f"Capture a shorter window, or {_MB}"),
    "time": Ending(
        "{subject} used up the processor time that a file of its size may take{limit}.",
        "Capture a shorter window, or raise WARPDECK_CONVERT_TIMEOUT_S.",
    ),
    "hang": Ending(
        "{subject} hung: it did nothing for {limit}.",
        "Check that the disk of the inbox answers, then try the file again.",
    ),
    "wall": Ending("{subject} did not finish within {limit}.", "Capture a shorter window, or use a faster machine."),
    "ended": Ending("{subject} ended without a result ({how}).", "See the worker's log, then try the file again."),
}
"""Endings by cause, the label under which failures are counted."""
CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS")
_OUT_OF_MEMORY = re.compile(r"bad_alloc|\bMemoryError\b|[Oo]ut of memory|[Cc]annot allocate memory")
_EVENTS = Path("/sys/fs/cgroup")


class EndedError(ConversionError):
    """Something other than itself ended a program that reads a file.

    Args:
        cause: one of ``ENDINGS``.
        subject: first words of the sentence.
        detail: output of the program.
        values: values of the sentence's placeholders.
    """

    def __init__(self, cause: str, subject: str, detail: str = "", **values: str) -> None:
        ending = ENDINGS[cause]
        filled = {"how": "", "limit": "", "name": ""} | values
        super().__init__(ending.message.format(subject=subject, **filled), hint=ending.hint, detail=detail)
        self.cause = cause


def find_ending(
    subject: str, status: int, output: str, oom_kills_before: int | None = None, detail: str = ""
) -> EndedError | None:
    """Return the ending of a program that was ended; None if it ended by itself.

    Args:
        subject: first words of the sentence.
        status: exit status; a negative one is the number of a signal, as is 128 and more from a shell.
        output: output of the program, which may say that it got no memory before it aborts.
        oom_kills_before: ``count_oom_kills`` before the program started.
        detail: output to show.
    """
    number = -status if status < 0 else status - 128
    name = signal.Signals(number).name if number in _SIGNALS else ""
    if status and _OUT_OF_MEMORY.search(output) and name in ("", "SIGABRT"):
        return EndedError("memory", subject, detail)
    if status >= 0 and name not in (*CRASHES, "SIGKILL", "SIGXCPU"):
        return None
    if name == "SIGXCPU":
        return EndedError("time", subject, detail)
    if name == "SIGKILL" and oom_kills_before is not None and count_oom_kills() > oom_kills_before:
        return EndedError("oom", subject, detail)
    return EndedError("crashed" if name in CRASHES else "killed", subject, detail, how=name or f"signal {number}")


_SIGNALS = {int(one) for one in signal.Signals}


def count_oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory in this control group, else on the machine."""
    for path in (_find_cgroup() / "memory.events", Path("/proc/vmstat")):
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeError):
            continue
        for line in lines:
            key, _, value = line.partition(" ")
            if key == "oom_kill" and value.isdecimal():
                return int(value)
    return 0


def _find_cgroup() -> Path:
    """Return the folder of this process's control group (version 2), as its container sees it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return _EVENTS
    return next((_EVENTS / line[3:].lstrip("/") for line in lines if line.startswith("0::")), _EVENTS)
