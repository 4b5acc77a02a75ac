"""The store of summaries: ``LIBRARY/derived/summaries.sqlite``, in WAL mode like the catalog.

Any number of processes read and write, one report at a time. SQLite was chosen by measurement (docs/trends.md): with
10,000 reports it returns all values of a measure in 6 ms and all of a series in 13 ms, and takes a new report in 2 ms.
A damaged file is set aside; the worker makes a missing one again.
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
from typing import Any, Literal

from profiledb.errors import CatalogError
from profiledb.library import catalog_repair
from profiledb.library.catalog import TIMELINE, Catalog, upsert_sql
from profiledb.library.catalog_file import read_version
from profiledb.library.database import Connection, cut_values, make_marks
from profiledb.library.report_list import Filters
from profiledb.report.derived_files import SUMMARIES
from profiledb.studies.runs.rank_summary import TABLES, RankSummary

ASIDE = "summaries.damaged-*.sqlite"
"""Pattern of the names of damaged files; the newest is kept."""
VERSION = 4
"""Raise when the summary of the same report changes."""
MOST_DETECTED = 20_000
"""Number of series whose changes are cached; beyond that, all are computed again."""
_MOST_CHANGES = 20_000
"""Changes that are remembered; a reader that has not looked for longer reads everything."""


@dataclass(frozen=True)
class Facts:
    """Facts about a whole report; summaries.sql explains the columns."""

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
_RANK = tuple(f.name for f in fields(RankSummary) if f.name != "tables")
_OF_REPORT = ("summary", "measure", "rank")
"""Tables with rows of a report."""
_ADDED = ("summary_change", "series_member", "series_line", "series_state")
"""Tables that files of earlier versions lack; a file without one of the others is damaged."""


class Summaries:
    """The summaries of a library; every call opens its own connection, so threads may share it."""

    def __init__(self, library: Path) -> None:
        self.path = library / SUMMARIES

    @property
    def exists(self) -> bool:
        """Return True if there is a store."""
        return self.path.exists()

    def version(self) -> tuple[int, int]:
        """Return a value that changes with every write."""
        return read_version(self.path)

    def stamps(self, reports: Sequence[str] | None = None) -> dict[str, tuple[int, str]]:
        """Return version and stamp of the summaries of these reports, or of all, by report."""
        rows = self._read_summaries("report_id, version, stamp", reports)
        return {row["report_id"]: (row["version"], row["stamp"]) for row in rows}

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the ids of the listed reports with a timeline that have no summary of this version."""
        known = {
            row["report_id"] for row in self.read_rows("SELECT report_id FROM summary WHERE version = ?", [VERSION])
        }
        return [report_id for report_id in catalog.listing.ids(Filters(subject=TIMELINE)) if report_id not in known]

    def unlisted(self, catalog: Catalog) -> dict[str, str]:
        """Return the series of reports that are in one and that the visitor does not see, or that are deleted."""
        seen = {*catalog.report_ids(), *catalog.removals.retired()}
        rows = self.read_rows("SELECT report_id, series FROM series_member")
        return {row["report_id"]: row["series"] for row in rows if row["report_id"] not in seen}

    def facts(self, reports: Sequence[str] | None = None) -> dict[str, Facts]:
        """Return the facts of these reports, or of all, that have a summary of this version."""
        rows = (row for row in self._read_summaries(f"{_FACTS}, version", reports) if row["version"] == VERSION)
        return {row["report_id"]: _make_facts(row) for row in rows}

    def _read_summaries(self, columns: str, reports: Sequence[str] | None) -> list[Any]:
        """Return columns of the summaries of these reports, or of all."""
        if reports is None:
            return self.read_rows(f"SELECT {columns} FROM summary")
        return [
            row
            for part in cut_values(reports)
            for row in self.read_rows(f"SELECT {columns} FROM summary WHERE report_id IN ({make_marks(part)})", part)
        ]

    def values(self, measure: str) -> dict[str, Row]:
        """Return a measure of every whole report."""
        rows = self.read_rows(
            "SELECT report_id, measure, value, low, high FROM measure WHERE measure = ? AND name = ''", [measure]
        )
        return {row["report_id"]: Row(row["measure"], row["value"], "", row["low"], row["high"]) for row in rows}

    def of(self, reports: Sequence[str], measure: str | None = None, *, whole: bool = False) -> dict[str, list[Row]]:
        """Return all figures of some reports, or one measure of all their parts; ``whole`` leaves the parts out."""
        rows: dict[str, list[Row]] = {report_id: [] for report_id in reports}
        also = ("" if measure is None else " AND measure = ?") + " AND name = ''" * whole
        for part in cut_values(reports):
            query = f"SELECT {_ROW} FROM measure WHERE report_id IN ({make_marks(part)}){also}"
            for row in self.read_rows(query, part + ([] if measure is None else [measure])):
                values = dict(row)
                rows[values.pop("report_id")].append(Row(**values))
        return rows

    def ranks(self, column: Literal["", "report_id", "run_id", "run"] = "", value: str = "") -> list[RankSummary]:
        """Return the ranks of all reports, of one, or of all with the same name, or that of the launcher."""
        also, values = (f" AND rank.{column} = ?", [value]) if column else ("", [])
        rows = self.read_rows(
            f"SELECT {', '.join(f'rank.{name}' for name in _RANK)} FROM rank JOIN summary USING (report_id)"
            f" WHERE version = ?{also} ORDER BY report_id, lane",
            [VERSION, *values],
        )
        return [RankSummary(**{**dict(row), "is_named": bool(row["is_named"])}) for row in rows]

    def rank_tables(self, reports: Sequence[str]) -> dict[tuple[str, int], dict[str, bytes]]:
        """Return the tables of the ranks of some reports, by report and lane."""
        tables: dict[tuple[str, int], dict[str, bytes]] = {}
        for part in cut_values(reports):
            query = f"SELECT report_id, lane, {', '.join(TABLES)} FROM rank WHERE report_id IN ({make_marks(part)})"
            for row in self.read_rows(query, part):
                tables[row["report_id"], row["lane"]] = {name: bytes(row[name]) for name in TABLES}
        return tables

    def put(self, facts: Facts, stamp: str, rows: Iterable[Row], ranks: Iterable[RankSummary] = ()) -> None:
        """Write the summary of a report in place of an earlier one."""
        values = asdict(facts) | {"version": VERSION, "stamp": stamp, "meta": json.dumps(dict(facts.meta))}
        last = {(row.measure, row.name): row for row in rows}
        with self.open_for_writing() as db:
            db.execute(upsert_sql("summary", list(values), "report_id"), values)
            _note_changes(db, [facts.report_id])
            db.execute("DELETE FROM measure WHERE report_id = ?", [facts.report_id])
            db.executemany(
                "INSERT INTO measure (report_id, measure, name, value, low, high, title) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(facts.report_id, r.measure, r.name, r.value, r.low, r.high, r.title) for r in last.values()],
            )
            db.execute("DELETE FROM rank WHERE report_id = ?", [facts.report_id])
            db.executemany(
                f"INSERT INTO rank ({', '.join((*_RANK, *TABLES))}) VALUES ({make_marks((*_RANK, *TABLES))})",
                [(*_list_values(one), *(one.tables[name] for name in TABLES)) for one in ranks],
            )

    def forget(self, reports: Iterable[str]) -> None:
        """Remove the summaries of deleted reports."""
        with self.open_for_writing() as db:
            reports = list(reports)
            _note_changes(db, reports)
            for report_id in reports:
                for table in _OF_REPORT:
                    db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])

    def make(self) -> None:
        """Create the file if it is missing."""
        with self.open_for_writing():
            pass

    def detected(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached changes of series by these keys."""
        cached: dict[str, str] = {}
        for part in cut_values(keys):
            query = f"SELECT key, found FROM detected WHERE key IN ({make_marks(part)})"
            cached |= {row["key"]: row["found"] for row in self.read_rows(query, part)}
        return cached

    def remember(self, changes: Mapping[str, str]) -> None:
        """Cache changes of series; they may be lost."""
        if not changes or not self.exists:
            return
        with suppress(sqlite3.Error, OSError, CatalogError), self.open_for_cache() as db:
            ((count,),) = db.execute("SELECT count(*) FROM detected").fetchall()
            if count + len(changes) > MOST_DETECTED:
                db.execute("DELETE FROM detected")
            rows = [{"key": key, "found": text} for key, text in changes.items()]
            db.executemany(upsert_sql("detected", ("key", "found"), "key"), rows)

    def open_for_cache(self) -> AbstractContextManager[Connection]:
        """Open a transaction whose writes may be lost, and after which no page refreshes."""
        return self.open_for_writing()

    def read_rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return rows; none if the file is missing, or was damaged and is set aside."""
        if not self.path.exists():
            return []
        try:
            return self._query(query, values)
        except sqlite3.Error as error:
            self._set_aside(error)
            return []

    def _query(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return rows; a file of an earlier version gets its new tables first."""
        with closing(_open_database(self.path)) as db:
            try:
                return db.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if str(error).removeprefix("no such table: ") not in _ADDED:
                    raise
                self.make()
                return db.execute(query, values).fetchall()

    def open_for_writing(self) -> AbstractContextManager[Connection]:
        """Open a transaction; writers come one after another."""
        return self._open_locked()

    @contextmanager
    def _open_locked(self) -> Iterator[sqlite3.Connection]:
        try:
            db = self._open_ready()
        except sqlite3.Error as error:
            self._set_aside(error)
            db = self._open_ready()
        try:
            with closing(db), db:
                db.execute("BEGIN IMMEDIATE")
                yield db
        except sqlite3.Error as error:
            self._set_aside(error)
            raise CatalogError(
                "The summaries of reports are damaged.", hint="They are made again; try again in a moment."
            ) from error

    def _open_ready(self) -> sqlite3.Connection:
        if not self.path.exists():
            with self._lock_alone():  # so that nobody mistakes a file without its tables for a damaged one
                _open_with_tables(self.path).close()
        return _open_with_tables(self.path)

    @contextmanager
    def _lock_alone(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _set_aside(self, error: sqlite3.Error) -> None:
        """Rename a damaged file, once for all processes; raise the explained error if it is not damaged."""
        if not catalog_repair.is_damage(error):
            raise catalog_repair.explain_error(error, self.path) from error
        with self._lock_alone():
            if not self.path.exists() or _is_whole(self.path):
                return
            for old in self.path.parent.glob(f"{ASIDE}*"):  # with its log
                old.unlink(missing_ok=True)
            catalog_repair.set_aside(self.path, ASIDE)


def _note_changes(db: Connection, reports: Iterable[str]) -> None:
    db.executemany("INSERT INTO summary_change (report_id) VALUES (?)", [(report_id,) for report_id in reports])
    db.execute(
        "DELETE FROM summary_change WHERE number <= (SELECT max(number) FROM summary_change) - ?", [_MOST_CHANGES]
    )


def _list_values(rank: RankSummary) -> Iterator[Any]:
    return (int(value) if isinstance(value := getattr(rank, name), bool) else value for name in _RANK)


def _open_database(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=catalog_repair.PATIENCE_S)
    db.row_factory = sqlite3.Row
    return db


def _open_with_tables(path: Path) -> sqlite3.Connection:
    """Open the file with its tables."""
    db = _open_database(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # a summary lost in a power cut is made again
        db.executescript(_read_schema())
    except BaseException:
        db.close()
        raise
    return db


def _is_whole(path: Path) -> bool:
    """Return True if another process has repaired a file meanwhile."""
    wanted = {*_OF_REPORT, "detected"}
    try:
        with closing(_open_database(path)) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for query in map("SELECT * FROM {} LIMIT 0".format, wanted & tables):
                db.execute(query)
            db.execute(f"SELECT {_FACTS}, version, stamp FROM summary LIMIT 0")
            return wanted <= tables and tuple(db.execute("PRAGMA quick_check(1)").fetchone()) == ("ok",)
    except sqlite3.Error:
        return False


def _make_facts(row: Any) -> Facts:
    values = dict(row)
    del values["version"]
    return Facts(**(values | {"meta": _read_texts(row["meta"])}))


def _read_texts(meta: str) -> dict[str, str]:
    try:
        content = json.loads(meta)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in content.items()} if isinstance(content, dict) else {}


@cache
def _read_schema() -> str:
    return resources.files(__package__).joinpath("summaries.sql").read_text(encoding="utf-8")
