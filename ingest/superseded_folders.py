"""Replace the report of a folder that was imported before all of its files had arrived."""

from profiledb.errors import ReportNotFoundError
from profiledb.library.catalog import Job, Manifest
from profiledb.library.library import Library


def replace_partial_report(library: Library, report: Manifest, known: Job | None) -> None:
    """Delete the folder's earlier report if it was a part of the new one; labels and links move to the new one.

    Args:
        library: library of both reports.
        report: the new report.
        known: earlier state of the folder in the catalog.
    """
    if known is None or known.state != "ready" or known.report_id in (None, report.id):
        return
    try:
        before = library.find(str(known.report_id))
    except ReportNotFoundError:
        return
    if _is_part(before, report):
        library.replace(before.id, report.id)


def _is_part(before: Manifest, report: Manifest) -> bool:
    """Return True if the new folder contains every earlier file, at least as long, and no sign of another capture."""
    if not before.parts or before.captured_at not in (None, report.captured_at):
        return False
    return all(report.parts.get(name, -1) >= size for name, size in before.parts.items())
