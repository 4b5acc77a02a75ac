"""What identifies the state of a dropped file, told from names, sizes and times alone."""

from pathlib import Path

from profiledb.library.inbox import Inbox

NSYS_SUFFIXES = (".nsys-rep", ".qdrep")
EXPORT_SUFFIX = ".sqlite"


def of(inbox: Inbox, path: Path) -> str | None:
    """Changes with a file, with the right to read it, and with what appears beside it: its export, or its report."""
    state = inbox.look(path)
    if state is None:
        return None
    return f"{state}{''.join(f'+{beside}' for partner in partners(path) if (beside := inbox.look(partner)))}"


def has_report_beside(inbox: Inbox, path: Path) -> bool:
    """Whether a file may be the export of a report that lies beside it under the same name."""
    return path.suffix == EXPORT_SUFFIX and any(inbox.look(partner) for partner in partners(path))


def partners(path: Path) -> list[Path]:
    """What may be the same capture in another form."""
    if path.suffix in NSYS_SUFFIXES:
        return [path.with_suffix(EXPORT_SUFFIX)]
    return [path.with_suffix(suffix) for suffix in NSYS_SUFFIXES] if path.suffix == EXPORT_SUFFIX else []
