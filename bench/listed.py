"""Measure when an export that moves into the inbox of a running worker is listed, answers its kernels, and is complete.

``python -m bench.listed EXPORT`` uses a library of its own and prints seconds from the move. With ``--conversion`` it
converts a Parquet folder in this process, without a preview and with one, and prints the processor time of both: on a
busy machine that tells more.
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

import duckdb

from bench.day import drop_report
from ingest.derive import classes, preview
from ingest.formats import nsys_parquet
from profiledb.library import manifest_rebuild
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store

Found = TypeVar("Found")
_LIMIT_S = 3600


def measure(export: Path, folder: Path) -> list[tuple[str, float]]:
    """Return each stage with the seconds from the move of the export until the worker reached it."""
    inbox, library = folder / "inbox", Library(folder / "library")
    inbox.mkdir()
    moved = folder / export.name
    shutil.copytree(export, moved) if export.is_dir() else shutil.copyfile(export, moved)
    command = [sys.executable, "-m", "ingest", "--inbox", str(inbox), "--library", str(library.folder)]
    worker = subprocess.Popen(command, env=os.environ | {"WARPDECK_SAMPLES": "off"}, stdout=subprocess.DEVNULL)
    try:
        drop_report(inbox, 0)
        first = _wait(library.list)[0].id  # the worker watches, and its conversions are warm
        began = time.monotonic()
        moved.rename(inbox / export.name)
        reached: list[tuple[str, float]] = []

        def note(what: str) -> None:
            reached.append((what, time.monotonic() - began))

        report_id = _wait(lambda: [one.id for one in library.list() if one.id != first])[0]
        note("listed")
        analysis.run(library, report_id, "kernels")
        note("kernels answered")
        _wait(lambda: len([job for job in library.catalog.jobs() if job.state == "ready"]) == 2)
        note("complete")
        return reached
    finally:
        worker.terminate()
        worker.wait()


def convert(export: Path, folder: Path, *, with_preview: bool) -> list[tuple[str, float]]:
    """Convert a Parquet folder and return each stage with the processor seconds until this process reached it."""
    began = time.process_time()
    reached: list[tuple[str, float]] = []

    def publish(db: duckdb.DuckDBPyConnection) -> Callable[[], None]:
        db.execute(f"UPDATE report SET name = 'run', source_sha256 = '{'ab' * 32}', source_bytes = 1")
        manifest_rebuild.read_preview(db)
        return lambda: reached.append(("preview", time.process_time() - began))

    wanted = preview.Offer(folder / "preview.duckdb", publish) if with_preview else None
    with store.create(folder / "report.duckdb", access=nsys_parquet.FORMAT.access(export)) as db, preview.offer(wanted):
        nsys_parquet.convert(export, db, folder)
        classes.classify_kernels(db)
    return [*reached, ("report", time.process_time() - began)]


def _wait(find: Callable[[], Found]) -> Found:
    """Return the first result that is true."""
    limit = time.monotonic() + _LIMIT_S
    while not (result := find()):
        if time.monotonic() > limit:
            raise TimeoutError
        time.sleep(0.05)
    return result


def _print_reached(reached: list[tuple[str, float]]) -> None:
    for what, seconds in reached:
        print(f"{what}: {seconds:.1f} s", flush=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.listed", description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--conversion", action="store_true", help="processor time of the conversion alone")
    chosen = parser.parse_args()
    if not chosen.conversion:
        with TemporaryDirectory() as folder:
            _print_reached(measure(chosen.export, Path(folder)))
        return 0
    for with_preview in (False, True):
        with TemporaryDirectory() as folder:
            print("With a preview" if with_preview else "Without a preview")
            _print_reached(convert(chosen.export, Path(folder), with_preview=with_preview))
    return 0


if __name__ == "__main__":
    sys.exit(main())
