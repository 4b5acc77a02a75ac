"""The number that tells which library a team's database belongs to: beside the reports, and in a row of the database.

A worker whose folder is not mounted, or is another one, would otherwise unlist every report and convert all again.
"""

import secrets

from profiledb.errors import ConfigError
from profiledb.library.database import Shared
from profiledb.library.storage import Storage

NAME = "library.id"
"""Name of the file or object with the number."""
_LOCK = 0x7761727066


def require(storage: Storage, database: Shared | None) -> None:
    """Refuse a team's database of another library; the first worker of a new library gives both the number.

    Args:
        storage: the files of the library.
        database: of the team; None if the catalog lies in the library's folder, which needs no number.

    Raises:
        ConfigError: the database is another library's.
        CatalogError, StorageError, OSError: either cannot be read or written now.
    """
    if database is None:
        return
    with database.connect("") as db:
        db.execute("SELECT pg_advisory_xact_lock(?)", [_LOCK])  # if several start at once, one makes the number
        row = db.execute("SELECT id FROM library").fetchone()
        number = storage.read_text(NAME)
        if row is None:
            new = number or secrets.token_hex(16)
            if not number:
                storage.write_text(NAME, new)
            db.execute("INSERT INTO library (id) VALUES (?)", [new])
            return
    if number != row["id"]:
        raise ConfigError(
            f"{storage.place} is not the library of this database.",
            hint=f"Check WARPDECK_LIBRARY and WARPDECK_DATABASE. If this is the library's new place, write {row['id']}"
            f" into its file {NAME}.",
        )
