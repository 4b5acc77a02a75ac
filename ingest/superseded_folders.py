"""A folder that was taken in before all of it was there: the report of the part gives way to that of the whole."""

from profiledb.errors import ReportNotFoundError
from profiledb.library.catalog import Job, Manifest
from profiledb.library.library import Library


def partial(library: Library, made: Manifest, known: Job | None) -> None:
    """Deletes the report that the same folder was before, where that was a part of it; its labels and links go on.

    Args:
        library: that has both.
        made: the new report.
        known: what the catalog knew of the folder before.
    """
    if known is None or known.state != "ready" or known.report_id in (None, made.id):
        return
    try:
        before = library.find(str(known.report_id))
    except ReportNotFoundError:
        return
    if _is_part(before, made):
        library.replace(before.id, made.id)


def _is_part(before: Manifest, made: Manifest) -> bool:
    """Whether every file of the one is in the other, whole or longer, and nothing says that it is another capture."""
    if not before.parts or before.captured_at not in (None, made.captured_at):
        return False
    return all(made.parts.get(name, -1) >= size for name, size in before.parts.items())
