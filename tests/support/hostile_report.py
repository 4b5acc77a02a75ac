"""A report in which every name is an injection attempt."""

from pathlib import Path

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION, quote
from tests.support.page_reports import empty

HOSTILE = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>](javascript:hit) `|\"&'"


def hostile(folder: Path) -> tuple[Library, Manifest]:
    """Publish a report in which every name is an injection attempt."""
    library, path = Library(folder / "library"), folder / "hostile.duckdb"
    with store.create(path, ready=empty()) as db:
        name = quote(HOSTILE)
        db.execute(f"INSERT INTO kernel_name (name_id, demangled, short, class) VALUES (1, {name}, {name}, 'x')")
        db.execute("INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, name_id) VALUES (1, 0, 10, 0, 1)")
        db.execute("INSERT INTO busy (device_id, start_ns, end_ns) VALUES (0, 0, 10)")
        db.execute("INSERT INTO report (start_ns, stop_ns, duration_ns) VALUES (0, 20, 20)")
    report = Manifest(
        "cd" * 8, SCHEMA_VERSION, HOSTILE, "nsys", "cd" * 32, 1, gpu=HOSTILE, rows={"kernel": 1, "busy": 1}
    )
    library.publish(path, report)
    return library, report
