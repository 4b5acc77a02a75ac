"""Start the processes that read dropped files: forked by a server that has everything imported, or from scratch.

The server (fork_server.py) runs on Linux while this process adopts orphans (processes.py), so that the processes it
forks become children of this one. A command that ends after its files forks the server from itself, which saves a
second import of the same modules. If the server dies, a new one starts with the next file; if that fails as well, each
file gets a process that imports everything by itself.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from ingest.conversion import fork_server, processes
from ingest.conversion.messages import ARRAYS, PLAIN, PREPARE, ROOT

CONVERSION = (sys.executable, "-m", "ingest.conversion.job")
SERVER = (sys.executable, "-m", "ingest.conversion.fork_server")
QUIET = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Environment that keeps numpy and pyarrow from starting threads in the server when they are imported."""
ANSWER_TIMEOUT_S = 60.0
"""Seconds that the server may take to import everything and to fork once."""


class _Forked:
    """A server that this process forked, to be ended like one that it started."""

    returncode: int | None = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        with suppress(ChildProcessError):  # it ended, and this process has waited for everything that ended
            os.waitpid(self.pid, 0)
        self.returncode = 0
        return 0


@dataclass
class Process:
    """A process that reads files, with the worker's ends of its standard input, output and errors."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Wait for the process to end and return its exit status; a negative one is the number of a signal."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


class ForkClient:
    """Starts processes that read files, each in its own session. Threads may share it.

    A lock keeps ``start`` and ``_end_strays`` apart, so that a new process never counts as a stray.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | _Forked | None = None
        self._socket: socket.socket | None = None
        self._running: set[int] = set()
        self._helpers: list[subprocess.Popen[bytes]] = []
        self._prepares = False

    def warm(self, *, prepare: bool = False) -> None:
        """Start the server ahead of the first file; return at once.

        Args:
            prepare: also prepare files that each conversion needs, which pays off for more than one.
        """
        with self._lock, suppress(OSError):
            if (connection := self._socket or self._connect_server()) and prepare and not self._prepares:
                self._prepares = True
                connection.send(PREPARE)

    def fork_server(self) -> None:
        """Fork the server from this process, which must have done nothing but import modules; return at once.

        A server that dies is started, not forked, the next time: this process has threads by then.
        """
        with self._lock, suppress(OSError, RuntimeError):
            if not self._socket:
                self._connect_server(lambda connection: _Forked(fork_server.fork_from_here(connection, QUIET)))

    def running_pids(self) -> list[int]:
        """Return the ids of the running processes without taking the lock, so that signal handlers may call it."""
        return list(self._running)

    def start(self, *, arrays: bool = False) -> Process:
        """Start a process that reads files (ingest.conversion.job).

        Args:
            arrays: the process will need numpy and pyarrow.

        Raises:
            OSError: the process cannot be started.
        """
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        its_ends, our_ends = (stdin[0], stdout[1], stderr[1]), (stdin[1], stdout[0], stderr[0])
        try:
            with self._lock:
                pid = self._fork_process(ARRAYS if arrays else PLAIN, its_ends) or _spawn_process(its_ends)
                self._running.add(pid)
        except BaseException:
            for descriptor in our_ends:
                os.close(descriptor)
            raise
        finally:
            for descriptor in its_ends:
                os.close(descriptor)
        return Process(pid, *(os.fdopen(end, mode) for end, mode in zip(our_ends, ("wb", "rb", "rb"), strict=True)))

    def start_helper(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Start a process that keeps running while files are read; the caller reads its answers and waits for its end.

        The process ends by itself when its standard input closes, which also happens if this process dies.
        """
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        with self._lock:
            process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=quiet, cwd=ROOT, start_new_session=True)
            self._helpers = [one for one in (*self._helpers, process) if one.returncode is None]
        return process

    def end(self, process: Process) -> int:
        """End a process with its children and return its exit status."""
        processes.end_group(process.pid)
        status = process.wait()
        with self._lock:
            self._running.discard(process.pid)
            self._end_strays()
        return status

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._end_server()

    def _fork_process(self, order: bytes, files: tuple[int, ...]) -> int | None:
        """Have the server fork a process and return its id; None if that fails."""
        for _ in range(2):  # a dead server is restarted once
            try:
                if (connection := self._socket or self._connect_server()) is None:
                    return None
                socket.send_fds(connection, [order], list(files))
                if answer := connection.recv(32):
                    return int(answer) or None
            except (OSError, ValueError):
                pass
            self._end_server()
        return None

    def _connect_server(
        self, start: "Callable[[socket.socket], subprocess.Popen[bytes] | _Forked] | None" = None
    ) -> socket.socket | None:
        if not processes.is_adopting():
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_TIMEOUT_S)
        with theirs:
            self._server = (start or _start_server)(theirs)
        self._socket = ours
        if self._prepares:
            ours.send(PREPARE)
        return ours

    def _end_server(self) -> None:
        """End the server and any process that it forked without reporting it."""
        if self._socket:
            self._socket.close()
        if self._server:
            self._server.kill()
            self._server.wait()
            self._socket = self._server = None
            self._end_strays()

    def _end_strays(self) -> None:
        helpers = (*self._helpers, *([self._server] if self._server else []))
        processes.end_adopted({*self._running, *(one.pid for one in helpers if one.returncode is None)})


def _start_server(connection: socket.socket) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        SERVER,
        stdin=connection.fileno(),
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ | QUIET,
        start_new_session=True,
    )


def _spawn_process(files: tuple[int, ...]) -> int:
    """Start a process that imports everything by itself and return its id."""
    stdin, stdout, stderr = files
    process = subprocess.Popen(CONVERSION, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, cwd=ROOT)
    process.returncode = 0  # Process.wait reaps it by its id; this object must not
    return process.pid
