"""Measure when an export that moves into the inbox of a running worker is listed, answers its kernels, and is complete.

``python -m bench.listed EXPORT`` uses a library of its own and prints seconds from the move.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from profiledb.library.library import Library
from profiledb.query import analysis

Found = TypeVar("Found")
_LIMIT_S = 3600


def measure(export: Path, folder: Path) -> list[tuple[str, float]]:
    """Return what was reached, with the seconds since the export was moved."""
    inbox, library = folder / "inbox", Library(folder / "library")
    inbox.mkdir()
    moved = folder / export.name
    shutil.copytree(export, moved) if export.is_dir() else shutil.copyfile(export, moved)
    command = [sys.executable, "-m", "ingest", "--inbox", str(inbox), "--library", str(library.folder)]
    worker = subprocess.Popen(command, env=os.environ | {"WARPDECK_SAMPLES": "off"}, stdout=subprocess.DEVNULL)
    try:
        _wait((library.folder / "worker.lock").exists)
        time.sleep(2)  # its first look, at an empty inbox
        began = time.monotonic()
        moved.rename(inbox / export.name)
        reached = []

        def note(what: str) -> None:
            reached.append((what, time.monotonic() - began))

        report_id = _wait(library.list)[0].id
        note("listed")
        analysis.run(library, report_id, "kernels")
        note("kernels answered")
        _wait(lambda: [job for job in library.catalog.jobs() if job.state == "ready"])
        note("complete")
        return reached
    finally:
        worker.terminate()
        worker.wait()


def _wait(find: Callable[[], Found]) -> Found:
    """Return the first result that is true."""
    limit = time.monotonic() + _LIMIT_S
    while not (found := find()):
        if time.monotonic() > limit:
            raise TimeoutError
        time.sleep(0.05)
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.listed", description=__doc__)
    parser.add_argument("export", type=Path)
    with TemporaryDirectory() as folder:
        for what, seconds in measure(parser.parse_args().export, Path(folder)):
            print(f"{what}: {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
