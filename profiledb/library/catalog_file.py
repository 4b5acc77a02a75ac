"""The catalog of one machine: a SQLite file in WAL mode, with one writer at a time and any number of readers."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from profiledb.errors import CatalogError
from profiledb.library import catalog_repair, report_list, spaces
from profiledb.library import version as versions
from profiledb.library.database import CATALOG
from profiledb.report.schema import read_sql

_log = logging.getLogger("warpdeck")


class CatalogFile:
    """The file; every transaction opens its own connection, so threads may share it.

    Raises CatalogError if the file is damaged, locked or read-only; the worker mends a damaged one. Raises
    NewerLibraryError if a later version of Warpdeck has changed it, also while this program runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        versions.require(path.parent)
        versions.require_catalog(path)
        self._is_prepared = False
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(CatalogError):  # the first transaction reports it
            self._prepare_tables()

    def _prepare_tables(self) -> None:
        """Create missing tables, except those of the first version: a catalog without them has lost data."""
        with self._open_database() as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not set(catalog_repair.CORE) <= tables:
                return
            db.execute("PRAGMA journal_mode = WAL")
            _add_file_kind(db)
            db.executescript(
                f"BEGIN; {read_sql('catalog.sql', __package__)} COMMIT"
            )  # in one transaction: on a full disk none of them is created
            if tables and "report_space" not in tables:  # an earlier version made the catalog, or the table is lost
                report_spaces = spaces.read_from_manifests(db.execute("SELECT id, manifest FROM report").fetchall())
                db.executemany("INSERT OR IGNORE INTO report_space (report_id, space) VALUES (?, ?)", report_spaces)
            if tables and "listing" not in tables:
                report_list.fill(db)
            if db.execute("PRAGMA user_version").fetchone()[0] != versions.VERSION:
                db.execute(f"PRAGMA user_version = {versions.VERSION}")
        self._is_prepared = True

    @contextmanager
    def connect(self, _: str = CATALOG) -> Iterator[sqlite3.Connection]:
        """Open a transaction of any topic; if the disk is full or read-only, it can only read."""
        if not self._is_prepared:
            try:
                self._prepare_tables()
            except CatalogError:
                if not self._has_tables():
                    raise
        with self._open_database() as db:
            yield db

    def _has_tables(self) -> bool:
        with self._open_database() as db:
            return db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None

    @contextmanager
    def _open_database(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(catalog_repair.connect(self._path)) as db, db:
                db.row_factory = sqlite3.Row
                versions.require_open(db)
                yield db
        except sqlite3.Error as error:
            raise catalog_repair.explain_error(error, self._path) from error

    def mend(self) -> None:
        """Set a damaged catalog aside and start a new one with all entries of people that are still readable.

        Only the worker that holds the library may call it; it then lists the reports again.
        """
        if not catalog_repair.is_damaged(self._path):
            return
        aside = catalog_repair.set_aside(self._path)
        self._prepare_tables()
        salvaged = catalog_repair.salvage_entries(aside, self._path)
        _log.warning(
            "The catalog was damaged: %s. A new one is made; %d entries of the old one are in it.", aside, salvaged
        )

    def damaged_files(self) -> list[Path]:
        """Return the damaged catalogs that were set aside, newest first."""
        return sorted(self._path.parent.glob(catalog_repair.ASIDE), reverse=True)

    def version(self, _: str = CATALOG) -> tuple[int, int]:
        """Return a value that changes when another process may have written; cheap enough for every page view."""
        return read_version(self._path)


def _add_file_kind(db: sqlite3.Connection) -> None:
    """Add the column ``file_kind`` to the jobs of an earlier version, which had a sign in a sidecar's fingerprint."""
    db.execute("BEGIN IMMEDIATE")  # two processes may open the catalog at once
    columns = {name for (name,) in db.execute("SELECT name FROM pragma_table_info('job')")}
    if columns and "file_kind" not in columns:
        db.execute("ALTER TABLE job ADD COLUMN file_kind TEXT NOT NULL DEFAULT 'report'")
        db.execute("UPDATE job SET file_kind = 'sidecar' WHERE fingerprint LIKE '%@%'")
    db.commit()


def read_version(file: Path) -> tuple[int, int]:
    """Return a value that changes with every write to a SQLite file in WAL mode: last time and size, log included."""
    latest, size = 0, 0
    for path in (file, Path(f"{file}-wal")):
        with suppress(FileNotFoundError):  # SQLite removes the log when its last reader leaves
            state = path.stat()
            latest, size = max(latest, state.st_mtime_ns), size + state.st_size
    return latest, size
