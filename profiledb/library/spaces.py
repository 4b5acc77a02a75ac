"""The space of a file or report: a file below a folder ``@NAME`` of the inbox is in the space NAME.

A report is in the spaces of all files with its content, and everyone who sees one of these spaces sees it. A file below
no such folder belongs to everybody. Groups decide who sees a space (space_registry.py).
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from profiledb.library.database import Connection
from profiledb.report import file_names
from profiledb.report.manifest import Manifest

EVERYBODY = ""
"""The space of files in no space."""
UNKNOWN = "?"
"""The space of a report whose origin is lost; no other space can have this name."""
SIGN = file_names.SPACE_SIGN


def find_space(path: str, inbox: PurePath | None = None) -> str:
    """Return the space of a file, by the innermost ``@`` folder above it; ``path`` may be a URL.

    Folders above the inbox do not count.
    """
    file = PurePath(path)
    below = file.relative_to(inbox) if inbox and file.is_relative_to(inbox) else file
    folders = below.parts[:-1]
    return next((one.removeprefix(SIGN) for one in reversed(folders) if len(one) > 1 and one[0] == SIGN), EVERYBODY)


def get_folder(space: str) -> str:
    """Return the folder of a space in the inbox; empty for ``EVERYBODY``."""
    return f"{SIGN}{space}" if space else ""


def read_groups(db: Connection) -> dict[str, tuple[str, ...]]:
    """Return the groups that see each registered space."""
    return {row["name"]: tuple(json.loads(row["seen_by"])) for row in db.execute("SELECT name, seen_by FROM space")}


def add_report(db: Connection, report_id: str, space: str) -> None:
    """Write that a report is in a space, in addition to those that it is in."""
    values = [report_id, space]
    db.execute("INSERT INTO report_space (report_id, space) VALUES (?, ?) ON CONFLICT DO NOTHING", values)


def read_from_manifests(reports: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Return (report id, space) of reports given as (id, manifest), for a catalog without the table of spaces.

    A report whose manifest cannot be read is for admins alone, until it is listed from its own file.
    """
    return [(report_id, _read_space(manifest)) for report_id, manifest in reports]


def _read_space(manifest: str) -> str:
    try:
        return Manifest.from_json(manifest).space
    except ValueError:
        return UNKNOWN
