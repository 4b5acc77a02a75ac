"""The catalog of one machine: a SQLite file in WAL mode. Several processes write a row at a time, any number read."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from profiledb.errors import CatalogError
from profiledb.library import catalog_repair, spaces
from profiledb.library import version as versions
from profiledb.library.database import CATALOG
from profiledb.report.schema import read_sql

_log = logging.getLogger("warpdeck")


class CatalogFile:
    """The file; every transaction opens its own connection, so threads may share it.

    Errors are CatalogError where the file is damaged, locked or cannot be written; the worker mends a damaged one.
    NewerLibraryError is raised where a later version of Warpdeck has changed it, also while this program runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        versions.require(path.parent)
        versions.require_catalog(path)
        self._is_prepared = False
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(CatalogError):  # whoever asks it something hears of that
            self._prepare()

    def _prepare(self) -> None:
        """Makes the tables that are not there yet; but none of those that every catalog had: they were lost."""
        with self._open() as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not set(catalog_repair.CORE) <= tables:
                return
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(
                f"BEGIN; {read_sql('catalog.sql', __package__)} COMMIT"
            )  # all of them, or on a full disk none
            if tables and "report_space" not in tables:  # of an earlier version, or lost
                told = spaces.read_from_manifests(db.execute("SELECT id, manifest FROM report").fetchall())
                db.executemany("INSERT OR IGNORE INTO report_space (report_id, space) VALUES (?, ?)", told)
            if db.execute("PRAGMA user_version").fetchone()[0] != versions.VERSION:
                db.execute(f"PRAGMA user_version = {versions.VERSION}")
        self._is_prepared = True

    @contextmanager
    def connect(self, _: str = CATALOG) -> Iterator[sqlite3.Connection]:
        """A transaction, whatever its topic; where the disk takes nothing it can only read."""
        if not self._is_prepared:
            try:
                self._prepare()
            except CatalogError:
                if not self._has_tables():
                    raise
        with self._open() as db:
            yield db

    def _has_tables(self) -> bool:
        with self._open() as db:
            return db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(catalog_repair.opened(self._path)) as db, db:
                db.row_factory = sqlite3.Row
                versions.require_open(db)
                yield db
        except sqlite3.Error as error:
            raise catalog_repair.told(error, self._path) from error

    def mend(self) -> None:
        """Sets a damaged catalog aside and begins a new one, with what people said as far as it can still be read.

        Only the worker that holds the library may call it, and then lists the reports anew.
        """
        if not catalog_repair.is_damaged(self._path):
            return
        aside = catalog_repair.set_aside(self._path)
        self._prepare()
        kept = catalog_repair.salvage(aside, self._path)
        _log.warning(
            "The catalog was damaged: %s. A new one is made; %d entries of the old one are in it.", aside, kept
        )

    def damaged_files(self) -> list[Path]:
        """Damaged catalogs that were set aside, the newest first."""
        return sorted(self._path.parent.glob(catalog_repair.ASIDE), reverse=True)

    def version(self, _: str = CATALOG) -> tuple[int, int]:
        """Changes whenever another process may have written: cheap enough to ask at every look at a page."""
        return version(self._path)


def version(file: Path) -> tuple[int, int]:
    """What changes whenever somebody writes to a SQLite file in WAL mode: the last time and the size, with its log."""
    latest, size = 0, 0
    for path in (file, Path(f"{file}-wal")):
        with suppress(FileNotFoundError):  # SQLite removes the log when its last reader leaves
            state = path.stat()
            latest, size = max(latest, state.st_mtime_ns), size + state.st_size
    return latest, size
