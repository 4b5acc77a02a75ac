"""Run the worker as a long-lived process, and measure processes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from profiledb.library.library import Library
from tests.conftest import ROOT


def start_worker(
    inbox: Path,
    library: Library,
    *options: str,
    stdin: int | None = None,
    stderr: int | None = None,
    before: Sequence[str] = (),
    **environment: str,
) -> subprocess.Popen[bytes]:
    """Start the long-lived worker, which the caller stops. ``before`` is a prefix of its command."""
    argv = [*before, sys.executable, "-m", "ingest", "--inbox", str(inbox), "--library", str(library.folder), *options]
    return subprocess.Popen(
        argv, cwd=ROOT, env=os.environ | environment, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr
    )


def processes_in(folder: Path) -> list[str]:
    """Return the processes whose working directory is below this folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found += [str(link)] if folder in link.readlink().parents else []
    return found


def runs_below(process: subprocess.Popen[bytes], program: Path) -> bool:
    """Return True if a descendant of this process runs the program."""
    for one in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if str(program) in one.cmdline():
                return True
    return False


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU seconds that a process and its descendants have used."""
    whole = psutil.Process(process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in (whole, *whole.children(recursive=True)))


def without_privileges(argv: list[str]) -> list[str]:
    """Return a command that runs without the privilege to read every file, even if the tests run as root."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", *argv] if os.geteuid() == 0 else argv
