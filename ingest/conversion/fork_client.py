"""Starts the processes that read dropped files: forked by a server that has everything imported, or from nothing.

The server (fork_server.py) is there on Linux and as long as this process adopts orphans (processes.py): a process
that it
forks is then a child of this one, as one started from nothing is. Where it is gone, a new one is started for the next
file; where that fails, too, files are read all the same, each by a process that imports everything for itself.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ingest.conversion import processes
from ingest.conversion.fork_server import ARRAYS, PLAIN, PREPARE, QUIET

ROOT = Path(__file__).resolve().parents[2]
CONVERSION = (sys.executable, "-m", "ingest.conversion.job")
SERVER = (sys.executable, "-m", "ingest.conversion.fork_server")
PATIENCE_S = 60.0
"""Seconds for the server to import everything and to fork once: a limit for when it hangs."""
_OF_ARRAYS = (".ncu-rep", ".ncu-repz", ".trace.json", ".json.gz", ".zip")


@dataclass
class Process:
    """A process that reads files: the worker's ends of its standard input, output and errors."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Waits for its end and returns the exit status; negative is the number of a signal."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


class Forks:
    """Starts processes that read files, each in a session of its own; may be shared by threads.

    ``start`` and ``end_strays`` exclude each other, so that no process is taken for a stray before it is known.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._running: set[int] = set()
        self._beside: list[subprocess.Popen[bytes]] = []
        self._prepares = False

    def warm(self, *, prepare: bool = False) -> None:
        """Starts the server, so that it is there when a file is; returns at once.

        Args:
            prepare: also what the first conversion would do for itself; worth it for more than one.
        """
        with self._lock, suppress(OSError):
            if (line := self._line or self._connect()) and prepare and not self._prepares:
                self._prepares = True
                line.send(PREPARE)

    def running(self) -> list[int]:
        """Ids of the processes that read files; for handlers of signals, which wait for no lock."""
        return list(self._running)

    def start(self, name: str) -> Process:
        """Starts a process that reads files (ingest.conversion.job) and returns its ends.

        Args:
            name: of the first file: by it the server knows what to import.

        Raises:
            OSError: no process can be started.
        """
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        theirs, ours = (stdin[0], stdout[1], stderr[1]), (stdin[1], stdout[0], stderr[0])
        try:
            with self._lock:
                pid = self._forked(name, theirs) or _started(theirs)
                self._running.add(pid)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return Process(pid, *(os.fdopen(end, mode) for end, mode in zip(ours, ("wb", "rb", "rb"), strict=True)))

    def beside(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Starts a process that goes on while files are read; whoever asked for it waits for its end.

        It ends by itself when its standard input is closed, as that of a process is that has died.
        """
        quiet = subprocess.DEVNULL
        with self._lock:
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd=ROOT, start_new_session=True
            )
            self._beside = [one for one in (*self._beside, process) if one.returncode is None]
        return process

    def ended(self, process: Process) -> int:
        """Ends a process with all that it started, and returns its exit status."""
        processes.end_group(process.pid)
        status = process.wait()
        with self._lock:
            self._running.discard(process.pid)
            self._end_strays()
        return status

    def close(self) -> None:
        """Ends the server."""
        with self._lock:
            self._forget()

    def _forked(self, name: str, files: tuple[int, ...]) -> int | None:
        """The id of a process that the server forked; None where it cannot."""
        order = ARRAYS if name.lower().endswith(_OF_ARRAYS) else PLAIN
        for _ in range(2):  # a server that is gone is started anew, once
            try:
                if (line := self._line or self._connect()) is None:
                    return None
                socket.send_fds(line, [order], list(files))
                if answer := line.recv(32):
                    return int(answer) or None
            except (OSError, ValueError):
                pass
            self._forget()
        return None

    def _connect(self) -> socket.socket | None:
        if not processes.adopts():
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(PATIENCE_S)
        with theirs:
            self._server = subprocess.Popen(
                SERVER,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                env=os.environ | QUIET,
                start_new_session=True,
            )
        self._line = ours
        if self._prepares:
            ours.send(PREPARE)
        return ours

    def _forget(self) -> None:
        """Ends the server, if it has not ended by itself, and what it forked without telling."""
        if self._line:
            self._line.close()
        if self._server:
            self._server.kill()
            self._server.wait()
            self._line = self._server = None
            self._end_strays()

    def _end_strays(self) -> None:
        others = (*self._beside, *([self._server] if self._server else []))
        processes.end_adopted({*self._running, *(one.pid for one in others if one.returncode is None)})


def _started(files: tuple[int, ...]) -> int:
    """The id of a process that imports everything for itself."""
    stdin, stdout, stderr = files
    process = subprocess.Popen(CONVERSION, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, cwd=ROOT)
    process.returncode = 0  # it is waited for by its id (Process): this object must not do so first
    return process.pid
