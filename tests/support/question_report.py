"""A small report for SQL questions."""

from pathlib import Path

from profiledb import config
from profiledb.console import question_limits
from profiledb.console.question_limits import Bounds
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.page_reports import empty


def small(folder: Path) -> tuple[Library, Manifest]:
    """Create a library with one report of three kernels, and return both."""
    library = Library(folder / "library")
    path = folder / "small.duckdb"
    with store.create(path, ready=empty()) as db:
        db.execute(
            "INSERT INTO kernel_name (name_id, demangled, short, class) VALUES (1, 'void add<int>()', 'add', 'x')"
        )
        db.execute(
            "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, name_id)"
            " VALUES (1, 0, 10, 0, 1), (2, 20, 50, 0, 1), (3, 60, 65, 0, 1)"
        )
    report = Manifest("ab" * 8, SCHEMA_VERSION, "small.nsys-rep", "nsys", "ab" * 32, 1, rows={"kernel": 3})
    library.publish(path, report)
    return library, report


def limits(rows: int = 100, seconds: float = 20.0, most_bytes: int = 1 << 20) -> Bounds:
    """Return the limits of a page, or narrower ones."""
    usual = question_limits.read_page_limits(config.load())
    return Bounds(seconds, 1024, usual.threads, rows, most_bytes)
