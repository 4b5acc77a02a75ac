"""The catalog: which reports there are, what became of each file, and the labels, marks and links that people gave."""

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from profiledb.errors import CatalogError
from profiledb.report import catalog_repair, linked, schema
from profiledb.report.decided import Decided
from profiledb.report.linked import Linked
from profiledb.report.marks import Marks
from profiledb.report.schema import read_sql
from profiledb.report.sidecar import Columns

FILE = "catalog.sqlite"
"""Its name in the folder of a library."""

OPEN_STATES = ("waiting", "converting", "loading")

_log = logging.getLogger("warpdeck")


def now() -> str:
    """This moment in UTC, ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


Subject = Literal["timeline", "launches"]
TIMELINE: Subject = "timeline"
"""What happened when: kernels, copies, calls, ranges."""
LAUNCHES: Subject = "launches"
"""What hardware counters say of single launches."""


@dataclass(frozen=True)
class Manifest:
    """What is known of a report without opening it; stored beside it as JSON.

    ``kind`` names the tool family that wrote it, for people and file names; what can be asked of it is ``subjects``.
    ``captured_at`` and ``ingested_at`` are ISO 8601 in UTC, ``duration_ns`` is the capture's length, ``rows`` counts
    the rows of each table that has any, ``sample`` marks the reports that come with the product, ``parts`` has the
    bytes of the files of a source that is a folder.
    """

    id: str
    schema_version: int
    name: str
    kind: str
    source_sha256: str
    source_bytes: int
    tool: str | None = None
    tool_version: str | None = None
    converter: str | None = None
    gpu: str | None = None
    captured_at: str | None = None
    ingested_at: str = ""
    duration_ns: int | None = None
    command: str | None = None
    seconds: float = 0.0
    sample: bool = False
    rows: dict[str, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Reads a manifest; fields that a later version added are ignored.

        Raises:
            ValueError: it is none.
        """
        try:
            manifest = cls(**{key: value for key, value in json.loads(text).items() if key in _MANIFEST})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"not a manifest: {error}") from error
        texts = (manifest.id, manifest.name, manifest.kind, manifest.source_sha256, manifest.ingested_at)
        if not (all(isinstance(value, str) for value in texts) and isinstance(manifest.rows, dict)):
            raise ValueError("a manifest with values of other types")
        return manifest

    @property
    def subjects(self) -> frozenset[Subject]:
        """What can be asked of the report, by the tables that have rows; one that lacks all of them is a timeline."""
        launches: set[Subject] = {LAUNCHES} if self.rows.get("ncu_launch") else set()
        timeline: set[Subject] = {TIMELINE} if not launches or any(map(self.rows.get, schema.events())) else set()
        return frozenset(timeline | launches)

    def to_json(self) -> str:
        """The manifest as text."""
        return json.dumps(asdict(self), indent=1)


_MANIFEST = frozenset(f.name for f in fields(Manifest))


@dataclass(frozen=True)
class Job:
    """A file on its way to a report, or one that did not become one; see catalog.sql for the columns."""

    path: str
    name: str
    fingerprint: str
    state: str
    report_id: str | None = None
    message: str = ""
    hint: str = ""
    detail: str = ""
    tools: str = ""
    changed_at: str = ""
    seconds: float | None = None


_JOB = ", ".join(f.name for f in fields(Job))


class Catalog:
    """One SQLite file in WAL mode: several processes write a row at a time, any number read.

    Every call opens its own connection, so a Catalog may be shared by threads. Every method raises CatalogError where
    the file is damaged, locked or cannot be written; the worker mends a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.marks = Marks(self._connect)
        self.decided = Decided(self._connect)
        self.links = Linked(self._connect)
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(CatalogError):  # whoever asks it something hears of that
            self._prepare()

    def _prepare(self) -> None:
        """Makes the tables that are not there yet; but none of those that every catalog had: they were lost."""
        with self._connect() as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not set(catalog_repair.CORE) <= tables:
                return
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(read_sql("catalog.sql"))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=catalog_repair.PATIENCE_S)) as db, db:
                db.row_factory = sqlite3.Row
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

    def set_aside(self) -> list[Path]:
        """Damaged catalogs that were set aside, the newest first."""
        return sorted(self._path.parent.glob(catalog_repair.ASIDE), reverse=True)

    def version(self) -> tuple[int, int]:
        """Changes whenever another process may have written: cheap enough to ask at every look at a page."""
        latest, size = 0, 0
        for path in (self._path, Path(f"{self._path}-wal")):
            with suppress(FileNotFoundError):  # SQLite removes the log when its last reader leaves
                state = path.stat()
                latest, size = max(latest, state.st_mtime_ns), size + state.st_size
        return latest, size

    def reports(self) -> list[Manifest]:
        """All reports, the newest first."""
        with self._connect() as db:
            rows = db.execute("SELECT manifest FROM report ORDER BY ingested_at DESC, name, id").fetchall()
        manifests = []
        for row in rows:
            with suppress(ValueError):  # it is listed again from its own manifest when the worker starts
                manifests.append(Manifest.from_json(row["manifest"]))
        return manifests

    def report_ids(self) -> list[str]:
        """The ids of all reports; a tenth of the time of ``reports``."""
        with self._connect() as db:
            return [row["id"] for row in db.execute("SELECT id FROM report")]

    def add_report(self, manifest: Manifest) -> None:
        """Adds a report, or replaces what is known of it."""
        row = {
            f: getattr(manifest, f)
            for f in ("id", "name", "kind", "source_sha256", "captured_at", "ingested_at", "gpu")
        }
        with self._connect() as db:
            db.execute(
                "INSERT OR REPLACE INTO report (id, name, kind, source_sha256, captured_at, ingested_at, gpu, manifest)"
                " VALUES (:id, :name, :kind, :source_sha256, :captured_at, :ingested_at, :gpu, :manifest)",
                row | {"manifest": manifest.to_json()},
            )

    def remove_report(self, report_id: str) -> None:
        """Forgets a report, its labels, marks and links; the files that it came from are remembered as deleted."""
        with self._connect() as db:
            db.execute("DELETE FROM report WHERE id = ?", [report_id])
            for table in ("label", "mark", "series_choice", "change_note"):
                db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])
            linked.forget(db, report_id)
            db.execute("UPDATE job SET state = 'deleted', changed_at = ? WHERE report_id = ?", [now(), report_id])

    def hand_over(self, before: str, after: str) -> None:
        """Gives the labels, the marks and the links of one report to another one that takes its place."""
        with self._connect() as db:
            db.execute("INSERT OR IGNORE INTO label SELECT ?, label FROM label WHERE report_id = ?", [after, before])
            for table in ("mark", "series_choice", "change_note"):
                db.execute(f"UPDATE OR IGNORE {table} SET report_id = ? WHERE report_id = ?", [after, before])
            linked.hand_over(db, before, after)

    def unlist_report(self, report_id: str) -> None:
        """Takes a report off the list until its files are converted again; its labels and links stay."""
        with self._connect() as db:
            db.execute("DELETE FROM report WHERE id = ?", [report_id])

    def jobs(self) -> list[Job]:
        """All files that were ever taken up, the last change first."""
        with self._connect() as db:
            return [_job(row) for row in db.execute(f"SELECT {_JOB} FROM job ORDER BY changed_at DESC, path")]

    def job(self, path: str) -> Job | None:
        """What became of one file."""
        with self._connect() as db:
            row = db.execute(f"SELECT {_JOB} FROM job WHERE path = ?", [path]).fetchone()
        return _job(row) if row else None

    def put_job(self, *jobs: Job) -> None:
        """Writes the states of files, all at once; ``changed_at`` is set to now."""
        names = [f.name for f in fields(Job)]
        statement = f"INSERT OR REPLACE INTO job ({', '.join(names)}) VALUES ({', '.join(':' + n for n in names)})"
        with self._connect() as db:
            db.executemany(statement, [asdict(job) | {"changed_at": now()} for job in jobs])

    def set_state(self, path: str, state: str) -> None:
        """Moves a file to another state and leaves the rest as it is."""
        with self._connect() as db:
            db.execute("UPDATE job SET state = ?, changed_at = ? WHERE path = ?", [state, now(), path])

    def forget_job(self, path: str) -> None:
        """Removes the record of a file, so that the worker takes it up anew."""
        with self._connect() as db:
            db.execute("DELETE FROM job WHERE path = ?", [path])

    def labels(self) -> dict[str, list[str]]:
        """Labels by report id, sorted."""
        by_report: dict[str, list[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, label FROM label ORDER BY label"):
                by_report.setdefault(row["report_id"], []).append(row["label"])
        return by_report

    def set_labels(self, report_id: str, labels: list[str]) -> None:
        """Replaces the labels of a report; blanks and repetitions are dropped."""
        cleaned = sorted({" ".join(label.split()) for label in labels} - {""})
        with self._connect() as db:
            db.execute("DELETE FROM label WHERE report_id = ?", [report_id])
            db.executemany("INSERT INTO label VALUES (?, ?)", [(report_id, label) for label in cleaned])

    def columns(self, path: str) -> Columns | None:
        """What a reader said of the columns of a table beside a report."""
        with self._connect() as db:
            row = db.execute("SELECT columns FROM sidecar_columns WHERE path = ?", [path]).fetchone()
        return Columns(**json.loads(row["columns"])) if row else None

    def name_columns(self, path: str, columns: Columns) -> None:
        """Says what the columns of a table beside a report mean; the worker then reads it anew."""
        with self._connect() as db:
            db.execute("INSERT OR REPLACE INTO sidecar_columns VALUES (?, ?)", [path, json.dumps(asdict(columns))])


def _job(row: sqlite3.Row) -> Job:
    values: dict[str, Any] = dict(row)
    return Job(**values)
