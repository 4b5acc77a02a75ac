"""A server with a few samples, shared by all timeline tests."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page

from bench.pages import run_dashboard
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import SAMPLES, ingest_files
from tests.e2e.timeline.timeline_page import HOSTILE, LEVELS, NOTHING, RANKS, TimelinePage, at

NAMES = ("transformer_training.sqlite", "streams_overlapped.sqlite")
BESIDE = ("idle_host_bound.sqlite", "idle_host_bound.nvml.csv", "idle_host_bound.meta.json")

NESTED = """
    WITH RECURSIVE level (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM level WHERE n + 1 < :levels),
    last AS (SELECT max("end") + 1000 AS t, max(globalTid) AS tid FROM NVTX_EVENTS)
    INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid)
    SELECT t + n, t + 1000000 - n, 59, 'level_' || n, tid FROM level CROSS JOIN last
"""
"""SQL that adds nested ranges after all other ranges of a report."""


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Samples, one with markup as the name of its longest-running kernel, plus two ranks and an empty report."""
    folder = tmp_path_factory.mktemp("timeline")
    changed = folder / "changed"
    changed.mkdir()
    for name in BESIDE:
        shutil.copy(SAMPLES / name, changed)
    with closing(sqlite3.connect(changed / BESIDE[0])) as db, db:
        top = "SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY sum(end - start) DESC LIMIT 1"
        db.execute("UPDATE StringIds SET value = ? WHERE id = ?", (HOSTILE, db.execute(top).fetchone()[0]))
    deep = shutil.copy(SAMPLES / "streams_overlapped.sqlite", changed / "deep.sqlite")
    with closing(sqlite3.connect(deep)) as db, db:
        db.execute(NESTED, {"levels": LEVELS})
    ranks = [path for rank in RANKS for path in SAMPLES.glob(f"ddp/{rank}.*")]
    ingest_files(folder, [*changed.iterdir(), *(SAMPLES / name for name in NAMES), *ranks])
    library = Library(folder / "library")
    with store.create(folder / "library" / "nothing.duckdb") as made:
        made.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 1000, 1000)")
    library.publish(
        folder / "library" / "nothing.duckdb", Manifest(NOTHING, SCHEMA_VERSION, "nothing", "nsys", NOTHING, 1)
    )
    return library


@pytest.fixture(scope="package")
def address(library: Library) -> Iterator[str]:
    settings = {"WARPDECK_DATA": str(library.folder.parent), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with run_dashboard(settings) as running:
        yield running


@pytest.fixture
def training(page: Page, address: str, library: Library) -> TimelinePage:
    return at(page, address, library, "transformer_training")
