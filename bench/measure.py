"""Run a command and measure its wall time and the peak memory of its process tree (Linux, from /proc)."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.03


@dataclass(frozen=True)
class Measured:
    """A finished command: seconds, peak resident bytes summed over its processes, exit code, output."""

    seconds: float
    peak_bytes: int
    returncode: int
    stdout: str
    stderr: str


class TreeMemory:
    """Samples the resident memory of a process and its descendants, including those that left its session."""

    def __init__(self, pid: int) -> None:
        self._pids = {pid}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def kill(self) -> None:
        """Kill the process and its descendants."""
        for pid in self._pids | _find_descendants(self._pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _watch(self) -> None:
        while True:
            self._pids |= _find_descendants(self._pids)
            self.peak_bytes = max(self.peak_bytes, sum(map(_read_resident_bytes, self._pids)))
            if self._done.wait(_SAMPLE_S):
                return


def _find_descendants(known: set[int]) -> set[int]:
    """Return the processes with a known parent; the next sample finds a grandchild at the latest."""
    result = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and _read_parent(int(entry.name)) in known:
            result.add(int(entry.name))
    return result


def _read_parent(pid: int) -> int:
    try:
        # The name, in parentheses, may hold anything; state and parent follow the last parenthesis.
        return int(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        )
    except (OSError, IndexError, ValueError):
        return -1


def _read_resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def run(
    command: Sequence[str | Path],
    env: Mapping[str, str] | None = None,
    timeout_s: float = 1200,
    output: Path | None = None,
) -> Measured:
    """Run `command` to its end, with `env` added to the environment; never raise for a bad exit code.

    Python may write bytecode, as an installed product has it: without, each process compiles its modules anew.
    The output goes to the file `output` if given. After `timeout_s` the command is killed and subprocess.TimeoutExpired
    raised.
    """
    with ExitStack() as stack:
        target = stack.enter_context(output.open("wb")) if output else subprocess.PIPE
        began = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | dict(env or {}),
        )
        with TreeMemory(process.pid) as memory:
            try:
                stdout, stderr = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                memory.kill()
                process.communicate()
                raise
            seconds = time.monotonic() - began
    return Measured(seconds, memory.peak_bytes, process.returncode, stdout or "", stderr)
