"""A library of the samples of data-parallel training, and their exports by name."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.studies.trends import summary_refresh
from tests.conftest import SAMPLES, Once, copy_data, ingest_files

FOLDER = SAMPLES / "ddp"
NAMES = [path.stem for path in sorted(FOLDER.glob("*.sqlite"))]
needs_ddp = pytest.mark.skipif(not NAMES, reason="no samples of data-parallel training here")


@pytest.fixture(scope="session", name="ddp")
def make_ddp(once: Once) -> Library:
    """Return a library of the samples, with their sidecar files."""
    return Library(once("ddp_samples", fill) / "library")


@pytest.fixture(scope="session")
def summarized_ddp(once: Once, ddp: Library) -> Path:
    """Return the folder of a library of the samples with their summaries, which take 13 s to make."""

    def summarize(folder: Path) -> None:
        copy_data(ddp.folder, folder / "library")
        summary_refresh.refresh(Library(folder / "library"))

    return once("ddp_summarized", summarize) / "library"


def fill(folder: Path) -> None:
    ingest_files(folder, sorted(FOLDER.glob("*")))


def rows(name: str, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL on the raw export of a sample."""
    with closing(sqlite3.connect(f"{(FOLDER / name).with_suffix('.sqlite').as_uri()}?immutable=1", uri=True)) as db:
        return db.execute(sql).fetchall()
