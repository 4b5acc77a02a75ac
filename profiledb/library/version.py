"""The version of a library: a program refuses a library of a later version and changes nothing in it.

Three places tell the version, so that the loss of one changes nothing: the number in the file ``library.version``
beside the reports (in a bucket an object), the catalog (SQLite: ``user_version``; PostgreSQL: Alembic's revision),
and the names of the report files, which carry the version of their schema. docs/design.md, Upgrades, lists what a
later program has to keep so that this one refuses its libraries.
"""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from profiledb.errors import NewerLibraryError
from profiledb.report.schema import SCHEMA_VERSION

VERSION = 1
"""Raise with SCHEMA_VERSION, and when anything else in a library changes so that earlier programs would harm it."""
OLDEST_SCHEMA = 2
"""The oldest schema whose reports are upgraded. Before it ranges were not nested and calls did not know their ranges,
which only the source can tell."""
NAME = "library.version"
"""Name of the file or object with the number."""
MOST_BYTES = 1_000
"""Size limit of a short text beside the reports."""
_HEADER = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_REPORT_FILE = re.compile(r"[0-9a-f]+\.v(\d{1,9})\.(?:duckdb|json)")


class TextStore(Protocol):
    """Short texts beside the reports of a library, such as ``library.version``."""

    def read_text(self, name: str) -> str:
        """Return a text; empty if there is none."""

    def write_text(self, name: str, text: str) -> None:
        """Write a text in place of an earlier one."""


def format_number() -> str:
    """Return the content of ``library.version`` in this version."""
    return json.dumps({"version": VERSION})


def require(folder: Path) -> None:
    """Refuse a folder with a library of a later version; opens no database and writes nothing.

    Raises:
        NewerLibraryError: the library is of a later version.
    """
    with suppress(FileNotFoundError, NotADirectoryError), (folder / NAME).open("rb") as file:
        require_text(file.read(MOST_BYTES).decode(errors="replace"))
    with suppress(FileNotFoundError, NotADirectoryError):
        require_names(path.name for path in (folder / "reports").iterdir())


def require_storage(storage: TextStore) -> None:
    """Refuse a later version by the text beside the reports, wherever the library is kept."""
    require_text(storage.read_text(NAME))


def require_text(text: str) -> None:
    """Refuse a later version by the content of ``library.version``; empty text passes, unreadable text does not."""
    if not text:
        return
    try:
        version = json.loads(text)["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if type(version) is not int:
        raise NewerLibraryError(
            f"This version of Warpdeck cannot read {NAME} of the library: a later one wrote it, or it is damaged.",
            hint="Use the latest version of Warpdeck. If that says the same, remove the file.",
        )
    require_number(version)


def require_number(version: int) -> None:
    """Refuse a later version by its number."""
    if version > VERSION:
        raise _make_newer_error(f"is of version {version}", f"{VERSION}")


def parse_schema(name: str) -> int | None:
    """Return the schema version in the name of a report's database or manifest; None for any other file."""
    match = _REPORT_FILE.fullmatch(name)
    return int(match[1]) if match else None


def find_outdated(names: Iterable[str]) -> str | None:
    """Return the name of the newest database that an earlier schema made."""
    by_schema = {schema: name for name in names if (schema := parse_schema(name)) and schema < SCHEMA_VERSION}
    return by_schema[max(by_schema)] if by_schema else None


def require_names(names: Iterable[str]) -> None:
    """Refuse a later version by the names of report files or objects."""
    for name in names:
        schema = parse_schema(name)
        if schema is not None and schema > SCHEMA_VERSION:
            raise _make_newer_error(
                f"holds a report of schema {schema} ({name})", f"{VERSION} with reports of schema {SCHEMA_VERSION}"
            )


def require_revision(revision: str | None, known: Iterable[str]) -> None:
    """Refuse a later version by the revision of a team's database; an unknown revision counts as later."""
    if revision and revision not in known:
        raise _make_newer_error(f"has a database of revision {revision[:40]}", f"{VERSION} with revision {max(known)}")


def require_catalog(file: Path) -> None:
    """Refuse a later version by the first bytes of a catalog: opening it with SQLite may change its log."""
    with suppress(FileNotFoundError), file.open("rb") as catalog:
        header = catalog.read(100)
        if header.startswith(_HEADER) and len(header) == 100:
            require_number(int.from_bytes(header[_USER_VERSION], "big"))


def require_open(db: sqlite3.Connection) -> None:
    """Refuse a later version by an open catalog, whose log counts, too."""
    ((version,),) = db.execute("PRAGMA user_version").fetchall()
    require_number(version)


def write_number(storage: TextStore) -> None:
    """Write the number of this version beside the reports, before anything else of this version."""
    if storage.read_text(NAME) != format_number():
        storage.write_text(NAME, format_number())


def _make_newer_error(state: str, known: str) -> NewerLibraryError:
    return NewerLibraryError(
        f"A later version of Warpdeck has changed this library: it {state}, and this program knows version {known}.",
        hint="Use that later version of Warpdeck, or restore a backup made before it.",
    )
