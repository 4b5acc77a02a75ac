"""A library of the samples of data-parallel training, and their exports by name."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import SAMPLES, Once, ingest_files

FOLDER = SAMPLES / "ddp"
NAMES = [path.stem for path in sorted(FOLDER.glob("*.sqlite"))]
needs_ddp = pytest.mark.skipif(not NAMES, reason="no samples of data-parallel training here")


@pytest.fixture(scope="session", name="ddp")
def make_ddp(once: Once) -> Library:
    """Return a library of the samples, with their sidecar files."""
    return Library(once("ddp_samples", fill) / "library")


def fill(folder: Path) -> None:
    ingest_files(folder, sorted(FOLDER.glob("*")))


def rows(name: str, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL on the raw export of a sample."""
    with closing(sqlite3.connect(f"{(FOLDER / name).with_suffix('.sqlite').as_uri()}?immutable=1", uri=True)) as db:
        return db.execute(sql).fetchall()
