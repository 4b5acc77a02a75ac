"""What the tests of Nsight Compute reports share."""

from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from profiledb import schema

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "ncu"
CORPUS = ROOT / ".." / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="reports that strangers published lie in ../shared/corpus"
)


def reports() -> list[Path]:
    """Every .ncu-rep at hand that is whole."""
    found = [*CORPUS.glob("*.ncu-rep"), *(ROOT / "sample_reports").glob("*.ncu-rep")]
    return sorted(path for path in found if path.name != "corrupt.ncu-rep")


def converted(module: ModuleType, source: Path, work: Path) -> duckdb.DuckDBPyConnection:
    """A database with what a format makes of a file."""
    db = duckdb.connect()
    schema.create(db)
    module.convert(source, db, work)
    return db


def metrics(db: duckdb.DuckDBPyConnection, launch_id: int = 0) -> dict[str, tuple[float | str | None, str]]:
    """Value (number or text) and unit of each metric of a launch."""
    rows = db.execute(
        "SELECT name, value, text, unit FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE launch_id = ?",
        [launch_id],
    ).fetchall()
    return {name: (text if value is None else value, unit) for name, value, text, unit in rows}
