"""What many reports cost a team, whoever looks at which: `python -m bench.team_lists --database URL [--reports N]`.

A library in a bucket has a sample that is converted, and rows of so many others that have no objects: two files each, a
file of the inbox, and a summary. Each figure is seconds of processor of the process that works, and of the clock. The
database is an empty one, or one of which the tables may be removed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from app.views.trends import series_table
from bench.load import cpu_s, session
from bench.pages import server
from bench.trends import NEW, fill, spent
from ingest import fingerprints
from ingest.queue import Queue
from ingest.team_worker import TeamWorker
from ingest.watch import Watch
from profiledb import config
from profiledb.config import Settings
from profiledb.library import migrations
from profiledb.library.bucket.object_index import StoredFile
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import Job
from profiledb.library.database import Shared
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox, open_library
from profiledb.library.workers import WorkerInfo
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies.trends.series_board import Board
from tests.support.s3 import S3

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("/kernels?report={id}", "/library", "/trends")
LOOKS = 5


def told(name: str, action: Callable[[], object]) -> str:
    """What a call takes, as a line."""
    began = time.monotonic()
    cpu = spent(action)
    return f"{name}: {cpu:.2f} s of processor, {time.monotonic() - began:.2f} s on the clock"


def listed(library: Library, inbox: Path, objects: Path, count: int) -> None:
    """Lists so many made-up reports with their summaries, empty objects in the bucket, and files of the inbox."""
    fill(library, count)
    inbox.mkdir(exist_ok=True)
    jobs = []
    for number in range(1, count + 1):
        path = inbox / f"{number:05}.nsys-rep"
        path.touch()
        jobs.append(
            Job(str(path), path.name, fingerprints.of(FolderInbox(inbox), path) or "", "ready", f"{number:016x}")
        )
    library.catalog.put_job(*jobs)
    files = [
        StoredFile(f"{n:016x}", f"{n:016x}.{name}", 0, f"{n:064x}", 1000 * n)
        for n in range(1, count + 1)
        for name in (f"v{SCHEMA_VERSION}.duckdb", "timeline.v1.duckdb")
    ]
    with shared_of(library).connect() as db:
        db.executemany(
            "INSERT INTO stored_file VALUES (:report_id, :name, :bytes, :sha256, :time_ns, 0)", map(vars, files)
        )
    for file in files:
        for key in (file.key, file.key_of(f"{file.report_id}.v{SCHEMA_VERSION}.json")):
            (objects / key).parent.mkdir(parents=True, exist_ok=True)
            (objects / key).touch()


def shared_of(library: Library) -> Shared:
    """Its database."""
    assert library.catalog.shared
    return library.catalog.shared


def of_worker(library: Library, settings: Settings) -> Iterator[str]:
    """What the worker that watches the inbox does at each look, where nothing is new."""
    inbox = open_inbox(settings)
    files = Queue(settings, shared_of(library), inbox)
    worker = TeamWorker(library, settings, inbox, lambda _: None, me=WorkerInfo("bench", "bench", "", ""), queue=files)
    watch = Watch(inbox, patience_s=0)
    watch.finished()

    def look() -> None:
        assert not worker.take(watch.finished())
        worker.forget_removed()

    yield told("worker, first look at the inbox", look)
    yield told("worker, a further look", look)
    files.close()


def of_pages(library: Library, env: Mapping[str, str]) -> Iterator[str]:
    """A look at pages of a real server: where nothing was written since the look before, and where a file went on."""
    report, job = library.find(NEW.name), library.catalog.jobs()[0]
    ways: tuple[tuple[str, Callable[[], None]], ...] = (
        ("nothing changed", lambda: None),
        ("a file went on", lambda: library.catalog.put_job(job)),
        ("a report more", lambda: library.catalog.add_report(report)),
    )
    with server(env, {"address": "127.0.0.1"}) as running, session(running.address) as one:
        for page in PAGES:
            path = page.format(id=report.id)
            for name, before in ways:
                one.look(path)
                costs = []
                for _ in range(LOOKS):
                    time.sleep(1.1)  # what the server has asked of the database counts for a second
                    before()
                    spent_s = cpu_s(running.pid)
                    one.look(path)
                    costs.append(cpu_s(running.pid) - spent_s)
                cost, sent = sorted(costs)[LOOKS // 2], one.sent_bytes / 1000
                yield f"{page.partition('?')[0]}, {name}: {cost:.2f} s of processor, {sent:.0f} kB sent"


def measure(root: Path, url: str, count: int) -> Iterator[str]:
    """Lines of what was measured."""
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
            listed(library, settings.inbox, bucket.objects / settings.library_url.rpartition("/")[2], count)
            yield f"{count:,} reports"
            yield told("list of reports", library.list)
            yield told("list of files", library.catalog.jobs)
            yield told("list of objects", library.storage.store.index.all_files)
            yield told("Trends, changes never looked for", lambda: series_table.frame(Board(library).listed))
            yield told("Trends, first look of a process", lambda: series_table.frame(Board(library).listed))
            yield from of_worker(library, settings)
            yield from of_pages(library, env)
            yield told("worker, start", library.recover)
    finally:
        bucket.stop()


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_lists", description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--reports", type=int, default=10_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="warpdeck-lists-") as root:
        for line in measure(Path(root), given.database, given.reports):
            print(line, flush=True)


if __name__ == "__main__":
    main()
