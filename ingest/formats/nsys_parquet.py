"""Folders that ``nsys export -t parquetdir`` wrote."""

from pathlib import Path

import duckdb

from ingest import scrub
from ingest.formats.nsys_sqlite import is_export
from ingest.nsys import load, parquet
from profiledb.errors import ConversionError
from profiledb.report.store import Access

NAME = "nsys export (Parquet folder)"
KIND = "nsys"
RUNS_TOOLS = False


def matches(path: Path) -> bool:
    """A folder with a Parquet file for each table of an nsys export."""
    return path.is_dir() and is_export({file.stem for file in path.glob("*.parquet")})


def access(source: Path) -> Access:
    """What the load needs; see Format.access."""
    return parquet.access(source)


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Loads the export; see Format.convert."""
    try:
        load.load(db, parquet.export(db, source))
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise ConversionError(
            f"{source.name} has a damaged or incomplete Parquet file.",
            hint="Export it again with: nsys export -t parquetdir REPORT.nsys-rep",
            detail=scrub.database(error),
        ) from error
    db.execute("UPDATE report SET converter = 'Parquet export'")
