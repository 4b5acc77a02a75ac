"""A preview of a report and the complete report, made of the same generated export."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from bench.generate import Options, generate
from ingest.derive import classes, preview
from ingest.formats import nsys_parquet
from profiledb.library import manifest_rebuild
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.manifest import Manifest

_NAMED = f"UPDATE report SET name = 'run', source_sha256 = '{'ab' * 32}', source_bytes = 1"


def publish_both(folder: Path, kernels: int = 3_000) -> tuple[Library, Library]:
    """Return a library with the preview of a report, and one with the complete report."""
    folder.mkdir(parents=True, exist_ok=True)
    export, work = folder / "export", folder / "work"
    generate(Options(kernels), export, "parquetdir")
    work.mkdir()
    previews: list[Manifest | None] = []

    def publish(db: duckdb.DuckDBPyConnection) -> Callable[[], None] | None:
        db.execute(_NAMED)
        previews.append(manifest_rebuild.read_preview(db))
        return None

    with (
        pytest.MonkeyPatch.context() as patch,
        store.create(work / "complete.duckdb", access=nsys_parquet.FORMAT.access(export)) as db,
    ):
        patch.setattr(preview, "LEAST", 1)
        with preview.offer(preview.Offer(work / "preview.duckdb", publish)):
            nsys_parquet.convert(export, db, work)
        classes.classify_kernels(db)
        db.execute(_NAMED)
        complete = manifest_rebuild.read_manifest(db)
    return _publish(work / "preview.duckdb", previews[0]), _publish(work / "complete.duckdb", complete)


def _publish(file: Path, manifest: Manifest | None) -> Library:
    assert manifest
    library = Library(file.parent.parent / f"library of {file.stem}")
    library.publish(file, replace(manifest, ingested_at="2026-01-01T00:00:00+00:00"))
    return library
