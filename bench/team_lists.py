"""Measure the cost of many reports in a team whose members see different ones.

Run it with `python -m bench.team_lists --database URL [--reports N] [--rows-only]`.

A library in a bucket has a converted sample, and rows of many other reports without objects: two files each, a file of
the inbox, and a summary. Each figure is processor and wall seconds of the working process. The database is empty, or
its tables may be removed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import psycopg

from app.views.trends import series_table
from bench.load import measure_cpu_s, open_session
from bench.pages import run_server
from bench.trends import NEW, SERIES, SUMMARY, fill_catalog, put_report, time_cpu_s
from ingest import fingerprints
from ingest.queue import Queue
from ingest.report_upgrades import ReportUpgrades
from ingest.team_worker import TeamWorker
from ingest.watch import Watch
from profiledb import config
from profiledb.config import Settings
from profiledb.library import migrations
from profiledb.library.bucket.object_index import StoredFile
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.database import Shared
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox, open_library
from profiledb.library.report_list import PAGE, Filters
from profiledb.library.team_database import open_database
from profiledb.library.workers import WorkerInfo
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies import prefetch
from profiledb.studies.trends import change_points, gate
from profiledb.studies.trends.budget import Budget
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_lines import RECENT
from profiledb.studies.trends.team_summary_store import open_summaries
from tests.support import series_summaries
from tests.support.s3 import S3

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("/kernels?report={id}", "/library", "/trends")
LOOKS = 5
_MANIFEST_OF = "replace(replace(manifest, id, lpad(to_hex(n), 16, '0')), name, 'train_' || n || '.nsys-rep')"
LISTED = (
    "sample, schema_version, kind, gpu, captured_at, duration_ns, kernels, bytes, timeline, launches, operators, words"
)
"""Columns of ``listing`` that made-up rows copy or vary."""


def format_cost(name: str, action: Callable[[], object]) -> str:
    """Return the cost of a call as a line."""
    began = time.monotonic()
    cpu = time_cpu_s(action)
    return f"{name}: {cpu:.3f} s of processor, {time.monotonic() - began:.3f} s on the clock"


def list_made_up_reports(library: Library, inbox: Path, objects: Path, count: int) -> None:
    """List made-up reports with their summaries, empty objects in the bucket, and files of the inbox."""
    fill_catalog(library, count)
    inbox.mkdir(exist_ok=True)
    jobs = []
    for number in range(1, count + 1):
        path = inbox / f"{number:05}.nsys-rep"
        path.touch()
        jobs.append(
            Job(
                str(path),
                path.name,
                fingerprints.make_fingerprint(FolderInbox(inbox), path) or "",
                "ready",
                f"{number:016x}",
            )
        )
    library.catalog.put_job(*jobs)
    files = [
        StoredFile(f"{n:016x}", f"{n:016x}.{name}", 0, f"{n:064x}", 1000 * n)
        for n in range(1, count + 1)
        for name in (f"v{SCHEMA_VERSION}.duckdb", "timeline.v1.duckdb")
    ]
    with get_database(library).connect() as db:
        db.executemany(
            "INSERT INTO stored_file VALUES (:report_id, :name, :bytes, :sha256, :time_ns, 0)", map(vars, files)
        )
    for file in files:
        for key in (file.key, file.key_of(f"{file.report_id}.v{SCHEMA_VERSION}.json")):
            (objects / key).parent.mkdir(parents=True, exist_ok=True)
            (objects / key).touch()


def measure_rows(folder: Path, url: str, count: int) -> Iterator[str]:
    """Measure questions of the list of reports to rows alone: there is nothing else of these reports."""
    migrations.move(url)
    catalog = Catalog(open_database(url))
    row = Manifest("0" * 16, SCHEMA_VERSION, "train_0.nsys-rep", "nsys", "0" * 64, 10**6, gpu="NVIDIA H200",
                   ingested_at="2026-01-01T00:00:00+00:00", captured_at="2026-01-01T00:00:00+00:00",
                   command="python train.py", rows={"kernel": 1000})  # fmt: skip
    catalog.add_report(row)
    with catalog.transaction() as db:
        for table, key, names in (
            ("report", "id", "kind, source_sha256, captured_at, gpu, manifest"),
            ("listing", "report_id", LISTED),
        ):
            copied = names.replace("manifest", _MANIFEST_OF)
            copied = copied.replace("words", "'train_' || n || chr(10) || lpad(to_hex(n), 16, '0') || chr(10) || gpu")
            copied = copied.replace("bytes", "bytes + n % 9973").replace("gpu,", "gpu || n % 7,", 1)
            moment = "to_char(timestamp '2026-01-01' + n * interval '1.7 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS+00:00')"
            db.execute(
                f"INSERT INTO {table} ({key}, name, ingested_at, {names})"
                f" SELECT lpad(to_hex(n), 16, '0'), 'train_' || n || '.nsys-rep', {moment}, {copied}"
                f" FROM {table}, generate_series(1, ?) AS n",
                [count - 1],
            )
    library = Library(folder, catalog)
    put_series_rows(library, count)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")  # as autovacuum does sooner or later
    numbers = itertools.count(count)
    listing = catalog.listing
    yield f"{count:,} rows"
    ways: tuple[tuple[str, Callable[[], object]], ...] = (
        ("page and count", lambda: (listing.page(), listing.count())),
        ("page 1,000", lambda: listing.page(first=min(100_000, count - PAGE))),
        ("largest first", lambda: listing.page(order="size")),
        ("search that finds one, and its count", lambda: [f(Filters(text=f"train_{count - 2}")) for f in
                                                          (listing.page, listing.count)]),
        ("one GPU of seven, and its count", lambda: [f(Filters(gpus=("NVIDIA H2003",))) for f in
                                                     (listing.page, listing.count)]),
        ("choices of kind, GPU and label", lambda: (listing.kinds(), listing.gpus(), listing.labels())),
        ("switcher: 300 newest", lambda: listing.page(most=300)),
        ("find by id", lambda: listing.find(f"{count // 2:016x}")),
        ("find by name", lambda: listing.find(f"train_{count // 2}.nsys-rep")),
        ("Trends, first look of a process", lambda: Board(library).listed),
        ("a new report, and Trends", lambda: (put_report_of_series(library, next(numbers)), Board(library).listed)),
    )  # fmt: skip
    for name, ask in ways:
        ask()
        yield format_cost(name, ask)


def put_report_of_series(library: Library, number: int) -> Manifest:
    """List a report of the first series with its summary."""
    return series_summaries.put(
        library, series_summaries.facts(number), series_summaries.rows(9e6 + number % 97, {"gemm": 5e6})
    )


def put_series_rows(library: Library, count: int) -> None:
    """Put made-up reports into series of 500, each with the line of the first one."""
    store = open_summaries(library)
    for number in range(RECENT):
        store.put(series_summaries.facts(number), "", series_summaries.rows(9e6 + number, {"gemm": 5e6}))
    assert Board(library).listed
    name = f"'program ' || n / {change_points.MOST} || ' · nsys · NVIDIA H200'"
    added = f"FROM {{}}, generate_series({RECENT}, {count - 1}) AS n WHERE report_id = '{0:016x}'"
    tables = {
        "summary": f"version, stamp, {SUMMARY}, meta",
        "measure": "measure, name, value + n % 97, low, high, title",
        "series_member": f"{name}, hint, at, captured_at",
    }
    with store.open_for_cache() as db:
        for table, columns in tables.items():
            db.execute(f"INSERT INTO {table} SELECT lpad(to_hex(n), 16, '0'), {columns} {added.format(table)}")
        db.execute(
            f"INSERT INTO series_line SELECT {name}, turn, {change_points.MOST}, lines FROM series_line,"
            f" generate_series({RECENT}, {count - 1}, {change_points.MOST}) AS n"
        )


def get_database(library: Library) -> Shared:
    """Return the shared database of a library."""
    assert library.catalog.shared
    return library.catalog.shared


def measure_worker(library: Library, settings: Settings) -> Iterator[str]:
    """Measure the work of the watching worker at each look if nothing is new."""
    inbox = open_inbox(settings)
    files = Queue(settings, get_database(library), inbox)
    worker = TeamWorker(library, settings, inbox, lambda _: None, me=WorkerInfo("bench", "bench", "", ""), queue=files)
    watch = Watch(inbox, patience_s=0)
    watch.finished()

    def look() -> None:
        assert not worker.look(watch, [])

    yield format_cost("worker, a sweep of the inbox", look)
    yield format_cost("worker, a further look", look)
    upgrades = ReportUpgrades(library, settings, inbox, worker.runner)
    yield format_cost("leading worker, search for reports to upgrade", upgrades.upgrade_next)
    shutil.copy(NEW, inbox.root / "one-more.sqlite")
    watch.sweeps.make_due()
    yield format_cost("worker, a sweep with a file more", lambda: worker.look(watch, []))
    files.close()


def measure_pages(library: Library, env: Mapping[str, str]) -> Iterator[str]:
    """Measure views of a real server's pages: without a write since the last view, and after progress of a file."""
    report, job = library.find(NEW.name), library.catalog.jobs()[0]
    numbers = itertools.count(10 * len(library.catalog.report_ids()))
    ways: tuple[tuple[str, Callable[[], None]], ...] = (
        ("nothing changed", lambda: None),
        ("a file went on", lambda: library.catalog.put_job(job)),
        ("a report more", lambda: put_report(library, next(numbers))),
    )
    with run_server(env, {"address": "127.0.0.1"}) as running, open_session(running.address) as one:
        for page in PAGES:
            path = page.format(id=report.id)
            for name, before in ways:
                one.look(path)
                costs = []
                for _ in range(LOOKS):
                    time.sleep(1.1)  # the server caches the database's answers for a second
                    before()
                    spent_s = measure_cpu_s(running.pid)
                    one.look(path)
                    costs.append(measure_cpu_s(running.pid) - spent_s)
                cost, sent = sorted(costs)[LOOKS // 2], one.sent_bytes / 1000
                yield f"{page.partition('?')[0]}, {name}: {cost:.2f} s of processor, {sent:.0f} kB sent"


def measure(root: Path, url: str, count: int) -> Iterator[str]:
    """Yield lines of results."""
    bucket = S3(root)
    bucket.start()
    migrations.move(url)
    env = bucket.environment | {
        "WARPDECK_DATABASE": url, "WARPDECK_LIBRARY": bucket.url(), "WARPDECK_CACHE": str(root / "cache"),
        "WARPDECK_INBOX": str(root / "inbox"), "WARPDECK_DATA": str(root),
        "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off", "WARPDECK_NCU": "off",
    }  # fmt: skip
    try:
        with patch.dict(os.environ, env):
            settings = config.load()
            settings.inbox.mkdir()
            shutil.copy(NEW, settings.inbox)
            subprocess.run([sys.executable, "-m", "ingest", "--once", "--strict"], cwd=ROOT, check=True)
            library = open_library(settings)
            assert isinstance(library.storage, BucketStorage)
            list_made_up_reports(
                library, settings.inbox, bucket.objects / settings.library_url.rpartition("/")[2], count
            )
            yield f"{count:,} reports"
            yield format_cost("list of reports", library.list)
            yield format_cost("list of files", library.catalog.jobs)
            yield format_cost("times of all files, for a sweep of the summaries", library.file_times)
            yield format_cost(
                "Trends, changes never looked for", lambda: series_table.build_frame(Board(library).listed)
            )
            yield format_cost(
                "Trends, first look of a process", lambda: series_table.build_frame(Board(library).listed)
            )
            numbers = range(count + 1, count + 1 + SERIES * (gate.MOST + 1), SERIES)  # of one series
            for number in numbers:
                put_report(library, number)
            yield format_cost("Trends, new reports of a series, whoever looks first", lambda: Board(library).listed)
            put_report(library, numbers[-1] + SERIES)
            lists = partial(prefetch.do_lists, library, sweep=False)
            yield format_cost("lists of a preparing process, a report more", lists)
            newest = library.find(f"{numbers[-1]:016x}")
            check = partial(gate.check_report, library, newest, "series", Budget())
            yield format_cost("gate, a report against its series", check)
            yield format_cost("gate, again", check)
            yield from measure_worker(library, settings)
            yield from measure_pages(library, env)
            bucket.stop()
            bucket.start()  # it remembers folders for minutes, without the objects that were made beside it
            yield format_cost("worker, start", library.recover)
    finally:
        bucket.stop()


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_lists", description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--rows-only", action="store_true", help="rows of the list of reports and nothing else")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="warpdeck-lists-") as root:
        run = measure_rows if given.rows_only else measure
        for line in run(Path(root), given.database, given.reports):
            print(line, flush=True)


if __name__ == "__main__":
    main()
