"""Where summaries of reports are kept: ``LIBRARY/derived/summaries.sqlite``, in WAL mode like the catalog.

Any number of processes read and write, a report at a time. SQLite was chosen by measurement (docs/trends.md): of
10,000 reports it answers all values of a measure in 6 ms and all of a series in 13 ms, and takes a new report in 2 ms.
A file that is damaged is set aside; one that is not there is made again by the worker.
"""

import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library import catalog_repair
from profiledb.library.catalog import upsert
from profiledb.library.catalog_file import version
from profiledb.library.database import Connection
from profiledb.library.derived_files import SUMMARIES

ASIDE = "summaries.damaged-*.sqlite"
"""What files are called that were damaged; the newest one is kept."""
VERSION = 1
"""Raised when a summary says something else of the same report."""
MOST_DETECTED = 20_000
"""Series whose changes are remembered; beyond, all are found anew."""
_ASKED = 500
"""Reports that one question names."""


@dataclass(frozen=True)
class Facts:
    """What is known of a report as a whole; see summaries.sql for the columns."""

    report_id: str
    name: str
    kind: str
    gpu: str | None
    gpus: int | None
    command: str | None
    captured_at: str
    driver: str | None
    tool: str | None
    machine: str | None
    capture: str
    basis: str
    meta: Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """A figure of a report, or of a part of it; see summaries.sql."""

    measure: str
    value: float
    name: str = ""
    low: float | None = None
    high: float | None = None
    title: str | None = None


_FACTS = ", ".join(f.name for f in fields(Facts))
_ROW = ", ".join(("report_id", *(f.name for f in fields(Row))))


class Summaries:
    """The summaries of a library; every call opens its own connection, so threads may share it."""

    def __init__(self, library: Path) -> None:
        self.path = library / SUMMARIES

    @property
    def exists(self) -> bool:
        """Whether there is a place for summaries."""
        return self.path.exists()

    def version(self) -> tuple[int, int]:
        """Changes whenever somebody has written."""
        return version(self.path)

    def stamps(self) -> dict[str, tuple[int, str]]:
        """Version and stamp of each summary, by report."""
        rows = self._read("SELECT report_id, version, stamp FROM summary")
        return {row["report_id"]: (row["version"], row["stamp"]) for row in rows}

    def facts(self) -> dict[str, Facts]:
        """The facts of all reports that have a summary of this version."""
        rows = self._read(f"SELECT {_FACTS} FROM summary WHERE version = ?", [VERSION])
        return {row["report_id"]: Facts(**{**dict(row), "meta": _texts(row["meta"])}) for row in rows}

    def values(self, measure: str) -> dict[str, Row]:
        """A measure of every report as a whole."""
        rows = self._read(
            "SELECT report_id, measure, value, low, high FROM measure WHERE measure = ? AND name = ''", [measure]
        )
        return {row["report_id"]: Row(row["measure"], row["value"], "", row["low"], row["high"]) for row in rows}

    def of(self, reports: Sequence[str], measure: str | None = None) -> dict[str, list[Row]]:
        """All figures of some reports, or one measure of all their parts."""
        found: dict[str, list[Row]] = {report_id: [] for report_id in reports}
        also = "" if measure is None else " AND measure = ?"
        for at in range(0, len(reports), _ASKED):
            part = list(reports[at : at + _ASKED])
            query = f"SELECT {_ROW} FROM measure WHERE report_id IN ({', '.join('?' * len(part))}){also}"
            for row in self._read(query, part + ([] if measure is None else [measure])):
                values = dict(row)
                found[values.pop("report_id")].append(Row(**values))
        return found

    def put(self, facts: Facts, stamp: str, rows: Iterable[Row]) -> None:
        """Writes the summary of a report, in place of the one that it had."""
        values = asdict(facts) | {"version": VERSION, "stamp": stamp, "meta": json.dumps(dict(facts.meta))}
        last = {(row.measure, row.name): row for row in rows}
        with self._writing() as db:
            db.execute(upsert("summary", list(values), "report_id"), values)
            db.execute("DELETE FROM measure WHERE report_id = ?", [facts.report_id])
            db.executemany(
                "INSERT INTO measure (report_id, measure, name, value, low, high, title) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(facts.report_id, r.measure, r.name, r.value, r.low, r.high, r.title) for r in last.values()],
            )

    def forget(self, reports: Iterable[str]) -> None:
        """Removes the summaries of reports that are gone."""
        with self._writing() as db:
            for report_id in reports:
                for table in ("summary", "measure"):
                    db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])

    def make(self) -> None:
        """Makes the file where it is not there."""
        with self._writing():
            pass

    def detected(self, keys: Sequence[str]) -> dict[str, str]:
        """What was found before of series of these keys."""
        found: dict[str, str] = {}
        for at in range(0, len(keys), _ASKED):
            part = list(keys[at : at + _ASKED])
            query = f"SELECT key, found FROM detected WHERE key IN ({', '.join('?' * len(part))})"
            found |= {row["key"]: row["found"] for row in self._read(query, part)}
        return found

    def remember(self, found: Mapping[str, str]) -> None:
        """Remembers what was found; it may be lost."""
        if not found or not self.exists:
            return
        with suppress(sqlite3.Error, OSError, CatalogError), self._writing() as db:
            self._remember(db, found)

    def _remember(self, db: Connection, found: Mapping[str, str]) -> None:
        ((count,),) = db.execute("SELECT count(*) FROM detected").fetchall()
        if count + len(found) > MOST_DETECTED:
            db.execute("DELETE FROM detected")
        rows = [{"key": key, "found": text} for key, text in found.items()]
        db.executemany(upsert("detected", ("key", "found"), "key"), rows)

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows; none where the file is not there, or was damaged and is set aside."""
        if not self.path.exists():
            return []
        try:
            with closing(_opened(self.path)) as db:
                return db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._set_aside(error)
            return []

    def _writing(self) -> AbstractContextManager[Connection]:
        return self._written()

    @contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        try:
            db = self._ready()
        except sqlite3.Error as error:
            self._set_aside(error)
            db = self._ready()
        try:
            with closing(db), db:
                db.execute("BEGIN IMMEDIATE")
                yield db
        except sqlite3.Error as error:
            self._set_aside(error)
            raise CatalogError(
                "The summaries of reports are damaged.", hint="They are made again; try again in a moment."
            ) from error

    def _ready(self) -> sqlite3.Connection:
        if not self.path.exists():
            with self._alone():  # nobody takes a file without its tables for a damaged one
                _made(self.path).close()
        return _made(self.path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _set_aside(self, error: sqlite3.Error) -> None:
        """Renames a damaged file, once for all processes; raises the error in words where it is no damage."""
        if not catalog_repair.is_damage(error):
            raise catalog_repair.told(error, self.path) from error
        with self._alone():
            if not self.path.exists() or _is_whole(self.path):
                return
            for old in self.path.parent.glob(f"{ASIDE}*"):  # its log, too
                old.unlink(missing_ok=True)
            catalog_repair.set_aside(self.path, ASIDE)


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=catalog_repair.PATIENCE_S)
    db.row_factory = sqlite3.Row
    return db


def _made(path: Path) -> sqlite3.Connection:
    """The file with its tables."""
    db = _opened(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is made again
        db.executescript(_schema())
    except BaseException:
        db.close()
        raise
    return db


def _is_whole(path: Path) -> bool:
    """Whether another process has put a file in order meanwhile."""
    wanted = {"summary", "measure", "detected"}
    try:
        with closing(_opened(path)) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for query in map("SELECT * FROM {} LIMIT 0".format, wanted & tables):
                db.execute(query)
            db.execute(f"SELECT {_FACTS}, version, stamp FROM summary LIMIT 0")
            return wanted <= tables and tuple(db.execute("PRAGMA quick_check(1)").fetchone()) == ("ok",)
    except sqlite3.Error:
        return False


def _texts(meta: str) -> dict[str, str]:
    try:
        told = json.loads(meta)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


@cache
def _schema() -> str:
    return resources.files(__package__).joinpath("summaries.sql").read_text(encoding="utf-8")
