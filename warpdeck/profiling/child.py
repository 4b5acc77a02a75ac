"""Run a profiler and its program as a shell runs a job: signals reach them, and nothing of them is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 10.0
"""Seconds that a program has to end after SIGTERM."""
_ENOUGH = 2
"""Signals that a profiler gets; the next one kills it."""
_LOOK_S = 0.05
_LAST_OF_SH = 9
"""Largest file descriptor that any shell can name; bash names all."""
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
        messages: file for the command's own output; None leaves it where ours goes.
        descriptors: further file descriptors, which it gets and which are closed here.
        terminal: whether it stands in the foreground of our terminal.
        is_profiler: whether its program may outlive it.
        status: file in which the program leaves its exit status (``wrap_program``).
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    messages: Path | None = None
    descriptors: tuple[int, ...] = ()
    terminal: bool = True
    is_profiler: bool = True
    status: Path | None = None
    _process: subprocess.Popen[bytes] | None = None
    _signals: list[int] = field(default_factory=list)
    _group: int = 0
    _others: frozenset[int] = frozenset()

    def run(self) -> Ended:
        """Run the command to its end.

        Raises:
            OSError: it cannot be started.
        """
        _adopt_orphans()
        with self._handle_signals():
            self._others = frozenset(_list_children())
            self._process = self._start_program()
            self._group = self._process.pid
            self._give_terminal()
            status = self._wait_for_process(self._process.pid)
            self._process.returncode = status
            running = 0
            if self.is_profiler:
                running = self._find_running(self._process.pid)
                if running and self._signals:
                    self._end_program(running)
                    running = 0
                if not running or len(self._signals) > _ENOUGH:  # an agent of an nsys that failed waits forever
                    _kill_processes(self._list_left(self._process.pid, profiler=True))
        return Ended(status if running else self._read_status(status), bool(self._signals), running)

    def settle(self, seconds: float, has_all: Callable[[], bool]) -> None:
        """Wait for profilers that a launcher left behind until they have written all, then end them.

        Args:
            seconds: how long at most.
            has_all: tells whether all reports are complete.
        """
        limit = time.monotonic() + seconds
        while left := self._list_left(0, profiler=True):
            if has_all() or time.monotonic() > limit:
                _kill_processes(left)
                return
            for pid in left:
                _is_reaped(pid)
            time.sleep(_LOOK_S)  # between two looks; their end decides

    def _find_running(self, profiler: int) -> int:
        """Return the program that runs on, or the process that the profiler left around it; 0 if it has ended."""
        if self.status is None:
            return next(iter(self._list_left(profiler, profiler=False)), 0)
        if self.status.exists():
            return 0
        left = self._list_left(profiler, profiler=False) or self._list_left(profiler, profiler=True)
        return left[0] if left else 0

    def _list_left(self, besides: int, *, profiler: bool) -> list[int]:
        """Return parts of a profiler, or all others, among our children that the job left, oldest first."""
        return [pid for pid in _list_children(profiler) if pid != besides and pid not in self._others]

    def _read_status(self, otherwise: int) -> int:
        """Return the exit status that the program left, else another one."""
        with contextlib.suppress(OSError, ValueError):
            return int(self.status.read_text()) if self.status else otherwise
        return otherwise

    def _start_program(self) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as stack:
            for number in self.descriptors:
                stack.callback(os.close, number)
            messages = stack.enter_context(self.messages.open("wb")) if self.messages else None
            return subprocess.Popen(
                list(self.command),
                env=dict(self.environment),
                stdout=messages,
                stderr=messages,
                pass_fds=self.descriptors,
                process_group=0,
            )

    def wait_for(self, program: int) -> int:
        """Wait until a program that ran on ends, and return its exit status; signals reach it."""
        with self._handle_signals(program):
            self._give_terminal()
            status = self._wait_for_process(program)
            while self.status and not self.status.exists() and (left := self._find_running(0)):
                status = self._wait_for_process(left)
            return self._read_status(status)

    def _wait_for_process(self, pid: int) -> int:
        """Wait for a process as a shell does: stop with it, and go on with it."""
        while True:
            try:
                _, wait_status = os.waitpid(pid, os.WUNTRACED)
            except ChildProcessError:
                return 0
            if not os.WIFSTOPPED(wait_status):
                code = os.waitstatus_to_exitcode(wait_status)
                return code if code >= 0 else 128 - code
            _take_terminal()
            os.kill(os.getpid(), signal.SIGSTOP)
            self._give_terminal()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGCONT)

    def _give_terminal(self) -> None:
        terminal = _find_terminal() if self.terminal else None
        with contextlib.suppress(OSError):
            if terminal is not None and os.tcgetpgrp(terminal) == os.getpgrp():
                _run_ignoring_stop(lambda: os.tcsetpgrp(terminal, self._group))
                os.killpg(self._group, signal.SIGCONT)  # it may have read too early

    def _end_program(self, program: int) -> None:
        """Let the program end, which has had the signal; then end it."""
        for number, seconds in ((0, GRACE_S), (signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            _signal_group(program, number)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit:
                if _is_reaped(program):
                    return
                time.sleep(_LOOK_S)  # between two looks; its end decides

    @contextlib.contextmanager
    def _handle_signals(self, target: int = 0) -> Iterator[None]:
        """Pass signals on; the third one kills."""

        def handle(number: int, _: FrameType | None) -> None:
            self._signals.append(number)
            if len(self._signals) > _ENOUGH:
                _signal_group(target or self._group, signal.SIGKILL)
            elif target:
                _signal_group(target, number)
            elif self._process:
                self._pass_on(number)

        before = {number: signal.signal(number, handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self.terminal:
                _take_terminal()

    def _pass_on(self, number: int) -> None:
        """Signal the program alone by the first Ctrl-C: a profiler that ends first loses its unsaved data."""
        assert self._process is not None
        first = self.is_profiler and number == signal.SIGINT and len(self._signals) == 1
        program = _list_program(self._process.pid) if first else []
        for pid in program or [self._process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def can_name(numbers: Sequence[int]) -> bool:
    """Return True if a shell of this machine can name these file descriptors."""
    return max(numbers) <= _LAST_OF_SH or shutil.which("bash") is not None


def wrap_program(program: Sequence[str], standard: tuple[int, ...] = (), status: Path | None = None) -> list[str]:
    """Return a shell command that runs a program under a profiler with other outputs, and stores its exit status.

    Args:
        program: its command line.
        standard: file descriptors that become its output and errors, whatever the profiler does with its own: so it
            sees the terminal, and the report does not store what it prints. Nothing leaves them as they are.
        status: file that gets its exit status, for a profiler that ends before it.
    """
    shell = "sh" if max(standard, default=0) <= _LAST_OF_SH else "bash"
    closed = "".join(f" {number}>&-" for number in standard)
    redirected = f">&{standard[0]} 2>&{standard[1]}{closed}" if standard else ""
    if status is None:
        return [shell, "-c", f'exec "$@" {redirected}', shell, *program] if standard else list(program)
    # The profiler signals the whole group, so the shell itself must go on.
    script = f'trap : INT TERM HUP; "$@" {redirected}; s=$?; echo $s > "$0"; exit $s'
    return [shell, "-c", script, str(status), *program]


def _adopt_orphans() -> None:
    """Become the parent of processes that the profiler leaves, to see their end and exit status."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _signal_group(pid: int, number: int) -> None:
    """Signal a process and all of its group, unless that is ours."""
    with contextlib.suppress(ProcessLookupError):
        group = os.getpgid(pid)
        if group == os.getpgrp():
            os.kill(pid, number)
        else:
            os.killpg(group, number)


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _list_children(is_profiler: bool | None = None) -> list[int]:
    """Return our living children, oldest first: parts of a profiler, or those that are none, or both."""
    children = sorted(one for one in _list_processes() if one.parent == os.getpid())
    return [one.pid for one in children if is_profiler in (None, one.is_profiler)]


def _list_program(profiler: int) -> list[int]:
    """Return the living processes that a profiler started and that are no parts of it, oldest first.

    Those whose parent has ended are our children (``_adopt_orphans``).
    """
    below: set[int] = set()
    pids = []
    for one in sorted(_list_processes()):
        if one.pid == profiler:
            below = {profiler, os.getpid()}
        elif one.parent in below:
            below.add(one.pid)
            pids += [] if one.is_profiler else [one.pid]
    return pids


class _Process(NamedTuple):
    started: int
    pid: int
    parent: int
    is_profiler: bool


def _list_processes() -> Iterator[_Process]:
    """Yield the living processes of this machine that can be seen."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = path.read_text(errors="replace")
            name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            if fields[0] not in "ZX":
                is_profiler = name.startswith(("nsys", "ncu", "QdstrmImporter"))
                yield _Process(int(fields[19]), int(path.parent.name), int(fields[1]), is_profiler)


def _kill_processes(processes: Sequence[int]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _find_terminal() -> int | None:
    """Return the file descriptor of the terminal if this process stands in its foreground."""
    try:
        return sys.__stdin__.fileno() if sys.__stdin__ and os.isatty(sys.__stdin__.fileno()) else None
    except (OSError, ValueError):
        return None


def _take_terminal() -> None:
    terminal = _find_terminal()
    with contextlib.suppress(OSError):
        if terminal is not None and os.tcgetpgrp(terminal) != os.getpgrp():
            _run_ignoring_stop(lambda: os.tcsetpgrp(terminal, os.getpgrp()))


def _run_ignoring_stop(action: Callable[[], None]) -> None:
    """Run an action that would stop a process in the background."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        action()
    finally:
        signal.signal(signal.SIGTTOU, before)
