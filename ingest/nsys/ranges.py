"""Stage the NVTX ranges and marks of an export, and their names."""

import duckdb

from ingest.derive import paths
from ingest.nsys.source import LONGEST
from profiledb.report.schema import read_sql


def stage_ranges(db: duckdb.DuckDBPyConnection) -> None:
    """Insert the ranges of the export into ``staged_range``; needs ``payload`` (payload.py)."""
    db.execute(read_sql("load_nvtx.sql", "ingest.nsys"))
    db.execute(read_sql("stage_ranges.sql", "ingest.nsys"))


def write_range_names(db: duckdb.DuckDBPyConnection) -> None:
    """Fill ``range_name`` and ``mark``; needs ``string``."""
    _limit_texts(db, "longest_name", "nvtx_key JOIN string ON string_id = text_id")
    _limit_texts(db, "longest_json", 'nvtx JOIN string ON string_id = "jsonTextId"')
    db.execute(read_sql("load_names.sql", "ingest.nsys"))


def _limit_texts(db: duckdb.DuckDBPyConnection, variable: str, rows: str) -> None:
    """Set an SQL variable to the most characters of a text per row: fewer if rows repeat too many."""
    (total, count) = db.execute(f"SELECT coalesce(sum(strlen(value)), 0), count(*) FROM {rows}").fetchone() or (0, 0)
    longest = LONGEST if total <= paths.TEXT else max(paths.SHORTEST, paths.TEXT // count)
    db.execute(f"SET VARIABLE {variable} = {longest}")
