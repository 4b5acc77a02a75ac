"""Measure lists of series and the gate over 10,000 reports: `python -m bench.trends [REPORTS]`.

The reports are copies of made-up summaries without files; a converted sample is the new report of one of their series.
Each figure is processor seconds (user and system) of this process; the command's figures are those of its own process,
with its wall time.
"""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from app.views.trends import series_table
from profiledb import config
from profiledb.access.cli.check import WORSE
from profiledb.library import database
from profiledb.library.catalog import FILE as CATALOG
from profiledb.library.database import Connection
from profiledb.library.library import Library
from profiledb.library.report_list import Filters
from profiledb.report.derived_files import SUMMARIES
from profiledb.studies.trends import gate, printout, summary_refresh
from profiledb.studies.trends.budget import Budget
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.summary_store import Row
from profiledb.studies.trends.team_summary_store import TOPIC
from tests.support import series_summaries

SERIES, KERNELS, MADE = 100, 40, 500
"""Programs; kernels of each report; generated reports, of which the others are copies."""
NEW = config.ROOT / "sample_reports" / "idle_fixed.sqlite"
_AT_ONCE = 10_000
SUMMARY = "name, kind, gpu, gpus, command, captured_at, driver, tool, machine, capture, basis"


def time_cpu_s(action: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    action()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fill_catalog(library: Library, count: int) -> None:
    """List reports of 100 programs; each fifth program is slower in the second half."""
    random = np.random.default_rng(1)
    for number in range(1, MADE + 1):
        put_report(library, number, random)
    ids = []
    for n in range(MADE + 1, count + 1):
        factor = float((1.1 if n > count // 2 and n % SERIES % 5 == 0 else 1.0) * random.uniform(1, 1.01))
        ids.append(
            (f"{1 + (n - 1) % MADE:016x}", f"{n:016x}", summary_refresh.make_stamp(library, f"{n:016x}"), factor)
        )
    for at in range(0, len(ids), _AT_ONCE):
        with _open_transaction(library, CATALOG, database.CATALOG) as db:
            _set_names(db, ids[at : at + _AT_ONCE])
            db.execute(
                "INSERT INTO report SELECT new, name, kind, new, captured_at, ingested_at, gpu,"
                " replace(manifest, old, new) FROM report JOIN copy ON old = id"
            )
        library.catalog.complete_listing()
        with _open_transaction(library, SUMMARIES, TOPIC) as db:
            _set_names(db, ids[at : at + _AT_ONCE])
            db.execute(
                f"INSERT INTO summary (report_id, version, stamp, {SUMMARY}, meta)"
                f" SELECT new, version, copy.stamp, {SUMMARY}, meta FROM summary JOIN copy ON old = report_id"
            )
            db.execute(
                "INSERT INTO measure SELECT new, measure, name, value * factor, low, high, title"
                " FROM measure JOIN copy ON old = report_id"
            )


def put_report(library: Library, number: int, random: np.random.Generator | None = None) -> None:
    """List a report of one of the programs, with its summary."""
    scatter = random or np.random.default_rng(number)
    times = {f"kernel_{at}_of_a_long_name": float(1e5 * scatter.normal(1, 0.02)) for at in range(KERNELS)}
    facts = series_summaries.facts(number, meta={"workload": f"program {number % SERIES}", "versions.torch": "2.11.0"})
    series_summaries.put(library, facts, [*series_summaries.rows(5e6, times), Row("memory_bytes", 1e9)])


@contextmanager
def _open_transaction(library: Library, file: str, topic: str) -> Iterator[Connection]:
    """Open a transaction on the catalog, or on the summaries, wherever they are."""
    if library.catalog.shared:
        with library.catalog.shared.connect(topic) as db:
            yield db
    else:
        with closing(sqlite3.connect(library.folder / file)) as db, db:
            yield db


def _set_names(db: Connection, ids: Sequence[tuple[str, str, str, float]]) -> None:
    """Define which reports are copied, with their stamps and a factor of all figures, for one transaction."""
    db.execute("DROP TABLE IF EXISTS copy")
    db.execute("CREATE TEMPORARY TABLE copy (old TEXT, new TEXT, stamp TEXT, factor DOUBLE PRECISION)")
    db.executemany("INSERT INTO copy VALUES (?, ?, ?, ?)", ids)


def main(count: int) -> int:
    """Print the cost of each question."""
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder))
        new = _convert_sample(library)  # before the others: a worker drops reports without files
        fill_catalog(library, count)
        size = (library.folder / SUMMARIES).stat().st_size
        print(f"{count:,} reports, {size / 1e6:.0f} MB of summaries")
        reports = library.list()
        print(f"Library, list of reports: {time_cpu_s(library.list):.2f} s")
        listing, wanted = library.catalog.listing, Filters(text="train_77 h200")
        print(f"Library, a page: {time_cpu_s(lambda: (listing.page(), listing.count())):.3f} s")
        print(f"search: {time_cpu_s(lambda: (listing.page(wanted), listing.count(wanted))):.3f} s")
        never = time_cpu_s(lambda: series_table.build_frame(Board(library).listed))
        print(f"Trends, changes never looked for: {never:.2f} s")
        board = Board(library)
        print(f"Trends, first look of a process: {time_cpu_s(lambda: series_table.build_frame(board.listed)):.2f} s")
        print(f"Trends, again: {time_cpu_s(lambda: series_table.build_frame(board.listed)):.2f} s")
        one = board.find(board.listed[0].series)
        print(f"a series of {len(one.points)}: {time_cpu_s(lambda: (board.one(one), board.measures(one))):.2f} s")
        checked = time_cpu_s(
            lambda: printout.format_check(gate.check_report(library, reports[0], "series", Budget()), "md")
        )
        print(f"check of a new report: {checked:.2f} s")
        library.catalog.decisions.choose(new, one.name)
        for known in ("nothing of it known", "its summary known"):
            print(f"warpdeck check, {known}: {_measure_check(library, new)}")
    return 0


def _convert_sample(library: Library) -> str:
    """Convert a sample into the library and return its id; no analysis has run on it yet."""
    with tempfile.TemporaryDirectory() as inbox:
        shutil.copy(NEW, inbox)
        subprocess.run(
            [sys.executable, "-m", "ingest", "--once", "--strict", "--inbox", inbox, "--library", library.folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return library.find(NEW.name).id


def _measure_check(library: Library, report_id: str) -> str:
    """Measure `warpdeck check` of a report against its own series."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    arguments = ["check", report_id, "--against", "series", "--anywhere", "--library", str(library.folder)]
    done = subprocess.run([sys.executable, "-m", "profiledb", *arguments], check=False, capture_output=True, text=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, WORSE):
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{cpu:.2f} s of processor, {wall:.2f} s on the clock"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
