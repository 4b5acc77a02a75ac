"""Libraries that store their files in a bucket, and their object stores."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb.library.bucket import copy_cache, object_store
from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import FILE, Catalog, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.report.store import create
from tests.support.page_reports import empty
from tests.support.s3 import S3

ONE, TWO, THREE = "aaaa000000000001", "bbbb000000000002", "cccc000000000003"
Machine = Callable[..., Library]


def open_in_bucket(folder: Path, catalog: Catalog, url: str, most_mb: float = 1000) -> Library:
    """Open a library in a bucket, with this folder for its local files."""
    return Library(BucketStorage(folder, catalog.object_index, url, most_mb), catalog)


def store_of(library: Library) -> ObjectStore:
    """Return the object store of a library."""
    assert isinstance(library.storage, BucketStorage)
    return library.storage.store


@pytest.fixture
def machine(s3: S3, tmp_path: Path) -> Machine:
    """Opens the library on another machine: with the same bucket and catalog, and a folder of its own."""
    url = s3.url()
    opened: list[Library] = []

    def open_(most_mb: float = 1000, folder: str = "") -> Library:
        place = tmp_path / (folder or f"machine{len(opened)}")
        opened.append(open_in_bucket(place, Catalog(tmp_path / FILE), url, most_mb))
        return opened[-1]

    return open_


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the catalog anew each time, and let the cache remove recently used files."""
    monkeypatch.setattr(object_store, "FRESH_S", 0.0)
    monkeypatch.setattr(object_store, "LISTED_S", 0.0)
    monkeypatch.setattr(object_store, "FAILED_S", 0.0)
    monkeypatch.setattr(copy_cache, "GRACE_S", 0.0)


def publish(library: Library, report_id: str, end: int = 10, filler: int = 0) -> Manifest:
    """Publish a report of one kernel that ends at ``end`` ns; ``filler`` bytes make its file larger."""
    library.work.mkdir(exist_ok=True)
    path = library.work / f"{report_id}-{end}.duckdb"
    with create(path, ready=empty()) as db:
        db.execute("INSERT INTO report (kind) VALUES ('nsys')")
        db.execute("INSERT INTO kernel_name VALUES (1, 'k<int>', 'k', '_Zk', 'other')")
        db.execute("INSERT INTO kernel (start_ns, end_ns, device_id, name_id) VALUES (0, ?, 0, 1)", [end])
    with path.open("ab") as file:  # DuckDB ignores what follows its own
        file.write(os.urandom(filler))
    manifest = Manifest(
        report_id, SCHEMA_VERSION, f"{report_id}.rep", "nsys", report_id * 4, 1, ingested_at="2026-01-01"
    )
    library.publish(path, manifest)
    return manifest


def total(library: Library, report_id: str) -> int:
    return int(analysis.run(library, report_id, "kernels")["total_ns"].sum())
