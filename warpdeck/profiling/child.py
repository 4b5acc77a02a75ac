"""Run a profiler and its program as a shell runs a job: signals reach them, and nothing of them is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

_PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 10.0
"""Seconds that a program has to end after SIGTERM."""
_ENOUGH = 2
"""Signals that a profiler gets; the next one kills it."""
_LOOK_S = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Ended:
    """How a profiler ended.

    Args:
        status: its exit status, which is that of the program; 128 and the number of a signal that ended it.
        interrupted: whether a signal asked for the end.
        running: process of the program if it runs on without the profiler; 0 if it does not.
    """

    status: int
    interrupted: bool
    running: int = 0


@dataclass
class Child:
    """A job: a command that may leave its program running.

    Args:
        command: command line.
        environment: its environment.
        messages: file for what the command itself prints; None leaves it where ours goes.
        kept: further file descriptors, which it gets and which are closed here.
        terminal: whether it stands in the foreground of our terminal.
        is_profiler: whether its program may outlive it.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    messages: Path | None = None
    kept: tuple[int, ...] = ()
    terminal: bool = True
    is_profiler: bool = True
    _process: subprocess.Popen[bytes] | None = None
    _signals: list[int] = field(default_factory=list)
    _group: int = 0

    def run(self) -> Ended:
        """Run the command to its end.

        Raises:
            OSError: it cannot be started.
        """
        _adopt_orphans()
        with self._handling_signals():
            self._process = self._start()
            self._group = self._process.pid
            self._give_terminal()
            status = self._wait(self._process.pid)
            self._process.returncode = status
            running = 0
            if self.is_profiler:
                running = next(iter(_list_children(self._process.pid, profiler=False)), 0)
                if running and self._signals:
                    self._end_program(running)
                    running = 0
                if len(self._signals) > _ENOUGH:
                    _kill(_list_children(self._process.pid, profiler=True))
        return Ended(status, bool(self._signals), running)

    def _start(self) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as stack:
            for number in self.kept:
                stack.callback(os.close, number)
            messages = stack.enter_context(self.messages.open("wb")) if self.messages else None
            return subprocess.Popen(
                list(self.command),
                env=dict(self.environment),
                stdout=messages,
                stderr=messages,
                pass_fds=self.kept,
                process_group=0,
            )

    def wait_for(self, program: int) -> int:
        """Wait until a program that ran on ends, and return its exit status; signals reach it."""
        with self._handling_signals(program):
            self._give_terminal()
            return self._wait(program)

    def _wait(self, pid: int) -> int:
        """Wait for a process as a shell does: stop with it, and go on with it."""
        while True:
            try:
                _, told = os.waitpid(pid, os.WUNTRACED)
            except ChildProcessError:
                return 0
            if not os.WIFSTOPPED(told):
                code = os.waitstatus_to_exitcode(told)
                return code if code >= 0 else 128 - code
            _take_terminal()
            os.kill(os.getpid(), signal.SIGSTOP)
            self._give_terminal()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGCONT)

    def _give_terminal(self) -> None:
        terminal = _terminal() if self.terminal else None
        with contextlib.suppress(OSError):
            if terminal is not None and os.tcgetpgrp(terminal) == os.getpgrp():
                _ignoring_output_stop(lambda: os.tcsetpgrp(terminal, self._group))
                os.killpg(self._group, signal.SIGCONT)  # it may have read too early

    def _end_program(self, program: int) -> None:
        """Let the program end, which has had the signal; then end it."""
        for number, seconds in ((0, GRACE_S), (signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, number)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit:
                if _is_reaped(program):
                    return
                time.sleep(_LOOK_S)  # between two looks; its end decides

    @contextlib.contextmanager
    def _handling_signals(self, target: int = 0) -> Iterator[None]:
        """Pass signals on; the third one kills."""

        def handle(number: int, _: FrameType | None) -> None:
            self._signals.append(number)
            pid = target or (self._process.pid if self._process else 0)
            with contextlib.suppress(ProcessLookupError):
                if len(self._signals) > _ENOUGH:
                    os.killpg(self._group, signal.SIGKILL)
                elif pid:
                    os.kill(pid, number)

        before = {number: signal.signal(number, handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self.terminal:
                _take_terminal()


def with_own_output(program: Sequence[str], output: int, errors: int) -> list[str]:
    """Return a command whose output goes to two file descriptors, whatever a profiler does with its own.

    So the program sees the terminal, and the report does not store what it prints.
    """
    closed = "".join(f" {number}>&-" for number in (output, errors) if number < 10)  # a shell closes no others
    return ["sh", "-c", f'exec "$@" >&{output} 2>&{errors}{closed}', "sh", *program]


def _adopt_orphans() -> None:
    """Become the parent of what the profiler leaves, so that its end and its exit status are seen."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _list_children(besides: int, *, profiler: bool) -> list[int]:
    """Return our living children, oldest first: parts of a profiler, or all others."""
    found: list[tuple[int, int]] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = path.read_text(errors="replace")
            name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            is_part = name.startswith(("nsys", "ncu", "QdstrmImporter"))
            if int(fields[1]) == os.getpid() and fields[0] not in "ZX" and is_part == profiler:
                found.append((int(fields[19]), int(path.parent.name)))
    return [pid for _, pid in sorted(found) if pid != besides]


def _kill(processes: Sequence[int]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _terminal() -> int | None:
    """Return the file descriptor of the terminal if this process stands in its foreground."""
    try:
        return sys.__stdin__.fileno() if sys.__stdin__ and os.isatty(sys.__stdin__.fileno()) else None
    except (OSError, ValueError):
        return None


def _take_terminal() -> None:
    terminal = _terminal()
    with contextlib.suppress(OSError):
        if terminal is not None and os.tcgetpgrp(terminal) != os.getpgrp():
            _ignoring_output_stop(lambda: os.tcsetpgrp(terminal, os.getpgrp()))


def _ignoring_output_stop(action: Callable[[], None]) -> None:
    """Run an action that would stop a process in the background."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        action()
    finally:
        signal.signal(signal.SIGTTOU, before)
