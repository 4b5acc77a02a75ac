"""Identify the state of a dropped file by names, sizes and times alone."""

from pathlib import Path

from profiledb.library.inbox import Inbox
from profiledb.report.file_names import NSYS_ENDINGS, NSYS_EXPORT


def make_fingerprint(inbox: Inbox, path: Path) -> str | None:
    """Return a text that changes with a file, with the right to read it, and with its export or report beside it;
    None if the file is gone."""
    state = inbox.look(path)
    if state is None:
        return None
    return f"{state}{''.join(f'+{beside}' for partner in list_partners(path) if (beside := inbox.look(partner)))}"


def has_report_beside(inbox: Inbox, path: Path) -> bool:
    """Return True if a file may be the export of a report beside it with the same stem."""
    return path.suffix == NSYS_EXPORT and any(inbox.look(partner) for partner in list_partners(path))


def list_partners(path: Path) -> list[Path]:
    """Return the paths at which the same capture may lie in another form."""
    if path.suffix in NSYS_ENDINGS:
        return [path.with_suffix(NSYS_EXPORT)]
    return [path.with_suffix(suffix) for suffix in NSYS_ENDINGS] if path.suffix == NSYS_EXPORT else []
