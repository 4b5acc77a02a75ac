"""Folders written by ``nsys export -t parquetdir``."""

from pathlib import Path

import duckdb

from ingest import scrub
from ingest.formats import Format
from ingest.formats.nsys_sqlite import is_export
from ingest.nsys import load, parquet
from profiledb.errors import ConversionError


def matches(path: Path) -> bool:
    """Return True for a folder with a Parquet file for each table of an nsys export."""
    return path.is_dir() and is_export({file.stem for file in path.glob("*.parquet")})


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    try:
        load.load_export(db, parquet.open_export(db, source))
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise ConversionError(
            f"{source.name} has a damaged or incomplete Parquet file.",
            hint="Export it again with: nsys export -t parquetdir REPORT.nsys-rep",
            detail=scrub.scrub_database_error(error),
        ) from error
    db.execute("UPDATE report SET converter = 'Parquet export'")


FORMAT = Format(
    name="Parquet folder of nsys (parquetdir)",
    kind="nsys",
    cost=0,
    matches=matches,
    access=parquet.get_access,
    convert=convert,
)
