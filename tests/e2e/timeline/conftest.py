"""A server of some samples, which all tests of the timeline share."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page

from bench.pages import dashboard
from profiledb.report import store
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import ROOT, SAMPLES
from tests.e2e.timeline.timeline_page import HOSTILE, LEVELS, NOTHING, RANKS, TimelinePage, at

NAMES = ("transformer_training.sqlite", "idle_host_bound.sqlite", "idle_host_bound.nvml.csv",
         "idle_host_bound.meta.json", "streams_overlapped.sqlite")  # fmt: skip

NESTED = """
    WITH RECURSIVE level (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM level WHERE n + 1 < :levels),
    last AS (SELECT max("end") + 1000 AS t, max(globalTid) AS tid FROM NVTX_EVENTS)
    INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid)
    SELECT t + n, t + 1000000 - n, 59, 'level_' || n, tid FROM level CROSS JOIN last
"""
"""Ranges in ranges, after all others of a report."""


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Samples, in one of which the kernel that takes most has markup as its name, two ranks, a report of nothing."""
    folder = tmp_path_factory.mktemp("timeline")
    inbox = folder / "inbox"
    inbox.mkdir()
    for name in NAMES:
        shutil.copy(SAMPLES / name, inbox)
    for rank in RANKS:
        shutil.copy(SAMPLES / "ddp" / f"{rank}.sqlite", inbox)
    with closing(sqlite3.connect(inbox / "idle_host_bound.sqlite")) as db, db:
        top = "SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY sum(end - start) DESC LIMIT 1"
        db.execute("UPDATE StringIds SET value = ? WHERE id = ?", (HOSTILE, db.execute(top).fetchone()[0]))
    with closing(sqlite3.connect(shutil.copy(SAMPLES / "streams_overlapped.sqlite", inbox / "deep.sqlite"))) as db, db:
        db.execute(NESTED, {"levels": LEVELS})
    environment = os.environ | {"WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off"}
    subprocess.run([sys.executable, "-m", "ingest", "--once"], cwd=ROOT, env=environment, check=True, timeout=250)
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
    with dashboard(settings) as running:
        yield running


@pytest.fixture
def training(page: Page, address: str, library: Library) -> TimelinePage:
    return at(page, address, library, "transformer_training")
