"""Code that derives names no tool, only tables and columns of reports and staged ones."""

import re
from pathlib import Path

import duckdb
import pytest

from ingest import derive
from ingest.derive import staging
from profiledb.report import store
from profiledb.report.schema import read_tables
from tests.conftest import ROOT
from tests.support.page_reports import empty

FILES = sorted(path for path in (ROOT / "ingest" / "derive").iterdir() if path.suffix in (".py", ".sql"))
OF_A_TOOL = re.compile(
    r"""
    \bsrc\. | CUPTI | \b(?:NVTX_EVENTS|OSRT_API|MPI_\w+_EVENTS|StringIds|ThreadNames|TARGET_INFO\w*|ENUM_\w+)\b
    | "?\b(?:global[TP]id|correlationId|nameId|textId|eventType|row_id)\b"? | ingest\.(?:nsys|ncu|formats)
    """,
    re.VERBOSE,
)
"""Names of an export of nsys, and modules that know a format."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_table_or_column_of_a_tool_is_named(path: Path) -> None:
    assert [found[0] for found in OF_A_TOOL.finditer(path.read_text(encoding="utf-8"))] == []


def test_what_is_staged_and_what_is_derived_are_the_columns_of_a_report(tmp_path: Path) -> None:
    for name, derived in staging.DERIVED.items():
        assert derived <= {column.name for column in read_tables()[name].columns}
    with store.create(tmp_path / "report.duckdb", ready=empty()) as db:
        derive.stage(db)
        rows = db.execute(
            "SELECT table_name FROM duckdb_tables() WHERE temporary AND starts_with(table_name, 'staged_')"
        )
        assert {name for (name,) in rows.fetchall()} == {f"staged_{name}" for name in staging.DERIVED}


def test_a_failure_leaves_nothing_and_the_next_attempt_succeeds(tmp_path: Path) -> None:
    """First with a view that fails while it is read, then with plain rows on the same connection."""
    with store.create(tmp_path / "report.duckdb", ready=empty()) as db:
        derive.stage(db)
        db.execute("INSERT INTO staged_thread BY NAME SELECT 7 AS global_tid, 'a' AS name")
        db.execute("DROP TABLE temp.staged_kernel")
        db.execute("""
            CREATE TEMP VIEW staged_kernel AS
            SELECT 1 AS kernel_id, error('torn') AS start_ns, 2 AS end_ns, 1 AS correlation_id, 7 AS global_pid
        """)
        with pytest.raises(duckdb.Error, match="torn"):
            derive.complete(db, names=lambda: _write(db, "INSERT INTO range_name (name_id) VALUES (1)"))
        assert db.execute("SELECT (SELECT count(*) FROM range_name), (SELECT count(*) FROM thread)").fetchone() == (
            0,
            0,
        )
        derive.stage(db)
        db.execute("INSERT INTO staged_kernel (kernel_id, start_ns, end_ns, device_id) VALUES (1, 3, 5, 0)")
        derive.complete(db)
        assert db.execute("FROM busy").fetchall() == [(0, 3, 5)]
        assert db.execute("SELECT 1 FROM duckdb_tables() WHERE starts_with(table_name, 'staged_')").fetchall() == []


def _write(db: duckdb.DuckDBPyConnection, statement: str) -> None:
    db.execute(statement)
