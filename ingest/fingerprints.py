"""What identifies the state of a dropped file, told from names, sizes and times alone."""

import os
from pathlib import Path

from ingest.state import look

NSYS_SUFFIXES = (".nsys-rep", ".qdrep")
EXPORT_SUFFIX = ".sqlite"


def of(path: Path) -> str | None:
    """Changes with a file, with the right to read it, and with what appears beside it: its export, or its report."""
    state = look(path)
    if state is None:
        return None
    states = [f"+{beside[0]}:{beside[1]}" for partner in _partners(path) if (beside := look(partner))]
    readable = "" if os.access(path, os.R_OK) else "!"
    return f"{state[0]}:{state[1]}{readable}{''.join(states)}"


def has_report_beside(path: Path) -> bool:
    """Whether a file may be the export of a report that lies beside it under the same name."""
    return path.suffix == EXPORT_SUFFIX and any(look(partner) for partner in _partners(path))


def _partners(path: Path) -> list[Path]:
    """What may be the same capture in another form."""
    if path.suffix in NSYS_SUFFIXES:
        return [path.with_suffix(EXPORT_SUFFIX)]
    return [path.with_suffix(suffix) for suffix in NSYS_SUFFIXES] if path.suffix == EXPORT_SUFFIX else []
