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


@pytest.fixture(scope="session")
def summarized_pair(once: Once) -> Path:
    """Return the folder of a library of a run of two ranks and of one GPU alone, with their summaries."""

    def summarize(folder: Path) -> None:
        ingest_files(folder, list_files("ddp_1", "ddp_strong_2_rank0", "ddp_strong_2_rank1"))
        summary_refresh.refresh(Library(folder / "library"))

    return once("ddp_summarized_pair", summarize) / "library"


def list_files(*names: str) -> list[Path]:
    """Return the files of these samples, with their sidecar files."""
    return [path for path in sorted(FOLDER.glob("*")) if path.name.partition(".")[0] in names]


def fill(folder: Path) -> None:
    ingest_files(folder, sorted(FOLDER.glob("*")))


def rows(name: str, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL on the raw export of a sample."""
    with closing(sqlite3.connect(f"{(FOLDER / name).with_suffix('.sqlite').as_uri()}?immutable=1", uri=True)) as db:
        return db.execute(sql).fetchall()
