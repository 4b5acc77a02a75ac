"""The views and macros of all reports in a database file, so that a process that opens a report creates none.

Attaching ``LIBRARY/derived/views/<version>.duckdb`` takes a fiftieth of the time that DuckDB needs to bind the views
one by one. Preparing stores the file; until then, each process creates the views that it needs.
"""

import hashlib
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

import duckdb

from profiledb.report.schema import SCHEMA_VERSION, quote

CATALOG = "stored_views"
"""The name in SQL of the file, or of an empty database without one."""


@cache
def read_texts() -> Mapping[str, str]:
    """Return the text of each view file (query/views.py) by name, sorted."""
    package = resources.files("profiledb")
    files = {
        "selection": package.joinpath("selection", "selected.sql"),
        "sidecar": package.joinpath("report", "sidecar.sql"),
    }
    for topic in (*package.joinpath("analyses").iterdir(), package.joinpath("rules", "findings")):
        folder = topic.joinpath("views")
        files |= {file.name[:-4]: file for file in (folder.iterdir() if folder.is_dir() else ())}
    return {name: file.read_text(encoding="utf-8") for name, file in sorted(files.items())}


@cache
def _compute_version() -> str:
    """Return a hash of all that the views of a file depend on: their SQL, the tables that they read, and DuckDB."""
    return hashlib.sha256(repr((SCHEMA_VERSION, duckdb.__version__, read_texts())).encode()).hexdigest()[:16]


def attach(db: duckdb.DuckDBPyConnection, folder: Path | None) -> frozenset[str]:
    """Attach the file of a folder as ``CATALOG`` and return the names of its view files, none if there is no file."""
    if folder is not None and (file := get_path(folder)).exists():
        with suppress(duckdb.Error):  # damaged, or removed by another version: the views are created in memory
            db.execute(f"ATTACH {quote(str(file))} AS {CATALOG} (READ_ONLY)")
            return frozenset(read_texts())
    db.execute(f"ATTACH ':memory:' AS {CATALOG}")
    return frozenset()


def store(folder: Path, report: Path, sql: str) -> None:
    """Make the file of a folder unless it is there, and remove those of other versions.

    Args:
        folder: the folder of these files.
        report: a report, whose tables the views are bound to; those of all reports are alike.
        sql: statements that create all views.
    """
    file = get_path(folder)
    if file.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{uuid.uuid4().hex}.making"
    try:
        with duckdb.connect() as db:
            db.execute(f"ATTACH {quote(str(made))} AS {CATALOG}; ATTACH {quote(str(report))} AS report (READ_ONLY)")
            db.execute(f"SET search_path = '{CATALOG},report'")
            db.execute(sql)
            db.execute(f"SET search_path = 'memory'; DETACH {CATALOG}")
        made.replace(file)
    finally:
        made.unlink(missing_ok=True)
        Path(f"{made}.wal").unlink(missing_ok=True)
    for other in folder.glob("*.duckdb"):
        if other != file:
            other.unlink(missing_ok=True)


def get_path(folder: Path) -> Path:
    """Return the path of this version's file in a folder."""
    return folder / f"{_compute_version()}.duckdb"
