"""The version of a library: a program refuses one of a later version, and then changes nothing in it.

Three places tell it, so that the loss of any of them changes nothing: the number in the file ``library.version`` beside
the reports (in a bucket an object), the catalog (SQLite: ``user_version``; PostgreSQL: Alembic's revision), and the
names of the report files, which carry the version of their schema. docs/design.md, Upgrades, says what a later program
has to keep, so that this one refuses its libraries.
"""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb.errors import NewerLibraryError
from profiledb.report.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from profiledb.library.report_files import Files

VERSION = 1
"""Raised with SCHEMA_VERSION, and when anything else in a library changes so that earlier programs would harm it."""
OLDEST_SCHEMA = 2
"""The first one whose reports are upgraded. Before, ranges were not nested and calls did not know theirs, which nothing
but the source tells."""
NAME = "library.version"
"""The file, or the object, that has the number."""
MOST_BYTES = 1_000
_HEADER = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_OF_REPORT = re.compile(r"[0-9a-f]+\.v(\d{1,9})\.(?:duckdb|json)")


def text() -> str:
    """What ``library.version`` says from this version on."""
    return json.dumps({"version": VERSION})


def require(folder: Path) -> None:
    """Makes sure that a folder holds no library of a later version; opens no database and writes nothing.

    Raises:
        NewerLibraryError: it does.
    """
    with suppress(FileNotFoundError, NotADirectoryError), (folder / NAME).open("rb") as file:
        require_mark(file.read(MOST_BYTES).decode(errors="replace"))
    with suppress(FileNotFoundError, NotADirectoryError):
        require_names(path.name for path in (folder / "reports").iterdir())


def require_library(library: "Files") -> None:
    """The same of a library wherever it is kept, by the mark beside its reports."""
    require_mark(library.mark(NAME))


def require_mark(mark: str) -> None:
    """The same of what ``library.version`` holds; empty where there is none. What cannot be read counts as later."""
    if not mark:
        return
    try:
        version = json.loads(mark)["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if type(version) is not int:
        raise NewerLibraryError(
            f"This version of Warpdeck cannot read {NAME} of the library: a later one wrote it, or it is damaged.",
            hint="Use the latest version of Warpdeck. If that says the same, remove the file.",
        )
    require_number(version)


def require_number(version: int) -> None:
    """The same of a number."""
    if version > VERSION:
        raise _newer(f"is of version {version}", f"{VERSION}")


def of_report(name: str) -> int | None:
    """The version of the schema in the name of a report's database or manifest; None in that of another file."""
    found = _OF_REPORT.fullmatch(name)
    return int(found[1]) if found else None


def require_names(names: Iterable[str]) -> None:
    """The same of the names of files or objects of reports."""
    for name in names:
        schema = of_report(name)
        if schema is not None and schema > SCHEMA_VERSION:
            raise _newer(
                f"holds a report of schema {schema} ({name})", f"{VERSION} with reports of schema {SCHEMA_VERSION}"
            )


def require_revision(revision: str | None, known: Iterable[str]) -> None:
    """The same of the revision of a team's database; one that is not known counts as later."""
    if revision and revision not in known:
        raise _newer(f"has a database of revision {revision[:40]}", f"{VERSION} with revision {max(known)}")


def require_catalog(file: Path) -> None:
    """The same of a catalog's file, by its first bytes: to open one with SQLite may change its log."""
    with suppress(FileNotFoundError), file.open("rb") as catalog:
        header = catalog.read(100)
        if header.startswith(_HEADER) and len(header) == 100:
            require_number(int.from_bytes(header[_USER_VERSION], "big"))


def require_open(db: sqlite3.Connection) -> None:
    """The same of a catalog that is open: what stands in its log counts, too."""
    ((version,),) = db.execute("PRAGMA user_version").fetchall()
    require_number(version)


def stamp(library: "Files") -> None:
    """Writes the number of this version beside the reports, before anything of this version is."""
    if library.mark(NAME) != text():
        library.set_mark(NAME, text())


def _newer(found: str, known: str) -> NewerLibraryError:
    return NewerLibraryError(
        f"A later version of Warpdeck has changed this library: it {found}, and this program knows version {known}.",
        hint="Use that later version of Warpdeck, or restore a backup made before it.",
    )
