"""Tell by content whether a dropped file is a report, an export that belongs to a report, or a sidecar."""

import os
from pathlib import Path

from ingest import formats
from ingest.conversion.messages import Request
from ingest.formats import nsys_report
from ingest.sidecars import files
from ingest.sidecars.files import Sidecar
from profiledb.report.file_names import NSYS_ENDINGS, NSYS_EXPORT
from profiledb.report.sidecar import Columns


def read_sidecar(request: Request) -> Sidecar | None:
    """Read a file whose name is a sidecar's; return None if its content is a report of its own.

    Raises:
        ColumnsNeededError: a table whose columns no user has named.
        ConversionError: neither a report nor a sidecar.
    """
    if any(one.matches(request.source) for one in formats.list_formats()):
        return None
    return files.read_sidecar(request.source, Columns(**request.columns) if request.columns else None)


def is_companion(path: Path) -> bool:
    """Return True if a file is the export of a report beside it, and so no report of its own."""
    if path.suffix != NSYS_EXPORT:
        return False
    reports = [path.with_suffix(suffix) for suffix in NSYS_ENDINGS]
    return any(nsys_report.find_export(report) == path for report in reports if os.path.isfile(report))  # noqa: PTH113 - as in export_beside
