"""Which library a database of many machines speaks of: a number beside the reports, and the same in a row.

A worker whose folder is not mounted, or is another one, would take every report off the list and convert all again.
"""

import secrets
from typing import TYPE_CHECKING

from profiledb.errors import ConfigError

if TYPE_CHECKING:
    from profiledb.library.library import Library

NAME = "library.id"
"""The file, or the object, that has the number."""
MOST_BYTES = 1_000
_LOCK = 0x7761727066


def require(library: "Library") -> None:
    """Makes sure that the database of a team speaks of this library; the first of both gets its number here.

    Raises:
        ConfigError: it speaks of another one.
        CatalogError, StorageError, OSError: either cannot be read or written now.
    """
    shared = library.catalog.shared
    if shared is None:
        return  # the catalog lies in the folder
    with shared.connect("") as db:
        db.execute("SELECT pg_advisory_xact_lock(?)", [_LOCK])  # of several that begin at once, one makes the number
        row = db.execute("SELECT id FROM library").fetchone()
        here = library.mark(NAME)
        if row is None:
            known = here or secrets.token_hex(16)
            if not here:
                library.set_mark(NAME, known)
            db.execute("INSERT INTO library (id) VALUES (?)", [known])
            return
    if here != row["id"]:
        raise ConfigError(
            f"{library.place} is not the library that the database speaks of.",
            hint=f"Check WARPDECK_LIBRARY and WARPDECK_DATABASE. If this is the library's new place, write {row['id']}"
            f" into its file {NAME}.",
        )
