"""What a dropped file is, by its content: a report, an export that belongs to a report, or a file beside one."""

import os
from pathlib import Path

from ingest.conversion.child import Request
from ingest.fingerprints import EXPORT_SUFFIX, NSYS_SUFFIXES
from ingest.formats import ncu_csv, nsys_report, torch_snapshot, torch_trace
from ingest.sidecars import files
from ingest.sidecars.files import Sidecar
from profiledb.report.sidecar import Columns


def sidecar(request: Request) -> Sidecar | None:
    """The text of a file that by its name lies beside a report; None for what is a report of its own.

    Raises:
        ColumnsNeededError: a table whose columns nobody has named.
        ConversionError: it is neither.
    """
    if any(one.matches(request.source) for one in (ncu_csv, torch_trace, torch_snapshot)):
        return None
    return files.read(request.source, Columns(**request.columns) if request.columns else None)


def is_companion(path: Path) -> bool:
    """Whether a file is the export of a report beside it, and so no report of its own."""
    if path.suffix != EXPORT_SUFFIX:
        return False
    reports = [path.with_suffix(suffix) for suffix in NSYS_SUFFIXES]
    return any(nsys_report.export_beside(report) == path for report in reports if os.path.isfile(report))  # noqa: PTH113 - as there
