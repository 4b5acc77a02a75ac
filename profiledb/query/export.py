"""Export every analysis of a report to a folder of CSV files with an index."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profiledb import spreadsheet
from profiledb.errors import AnalysisError, NotCapturedError, NotLinkedError, WarpdeckError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import header, output
from profiledb.query.header import Analysis

INDEX = "index.csv"


def write_all(
    library: Library, report: Manifest, folder: Path, params: Mapping[str, Any]
) -> list[tuple[str, str, str, str]]:
    """Write ``NAME.csv`` for every analysis that has data, and ``index.csv``, replacing existing files.

    Each analysis receives only the parameters that it accepts.

    Returns:
        The rows of the index: analysis, title, number of rows, and the reason if there is no data.

    Raises:
        AnalysisError: no analysis accepts a parameter, or one rejects its value.
        WarpdeckError: the folder cannot be written.
    """
    _check_parameters(params)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index = [_write_analysis(library, report, one, folder, params) for one in header.list_analyses().values()]
        text = spreadsheet.format_csv_lines([("analysis", "title", "rows", "why"), *index])
        (folder / INDEX).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise WarpdeckError(
            f"The folder {folder} cannot be written: {error.strerror}.", hint="Name another one."
        ) from error
    return index


def _check_parameters(params: Mapping[str, Any]) -> None:
    known = frozenset[str]().union(*(one.takes for one in header.list_analyses().values()))
    if unknown := sorted(set(params) - known):
        raise AnalysisError(f"No analysis has a parameter {unknown[0]!r}.", hint="warpdeck analyses lists them.")


def _write_analysis(
    library: Library, report: Manifest, one: Analysis, folder: Path, params: Mapping[str, Any]
) -> tuple[str, str, str, str]:
    """Write one CSV file and return its index row. Delete the file of an earlier export if there is no data."""
    path, part = folder / f"{one.name}.csv", folder / f".{one.name}.csv.part"
    try:
        with part.open("wb") as out:
            rows = output.write_csv(library, report, one.name, one.taken(params), out)
        part.replace(path)
    except (NotCapturedError, NotLinkedError) as error:
        path.unlink(missing_ok=True)
        return one.name, one.title, "", f"{error.message} {error.hint}".strip()
    finally:
        part.unlink(missing_ok=True)
    return one.name, one.title, str(rows), ""
