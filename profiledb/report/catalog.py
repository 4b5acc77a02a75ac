"""The catalog: which reports there are, what became of each file, and the labels, marks and links that people gave."""

import json
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from profiledb.config import Settings
from profiledb.report import database, linked, schema
from profiledb.report.audit import Audit
from profiledb.report.catalog_file import CatalogFile
from profiledb.report.database import Connect, Database, Shared
from profiledb.report.decided import Decided
from profiledb.report.linked import Linked
from profiledb.report.marks import Marks
from profiledb.report.sidecar import Columns
from profiledb.report.stored.index import Index
from profiledb.report.visitor import LOCAL, Visitor

FILE = "catalog.sqlite"
"""Its name in the folder of a library."""

OPEN_STATES = ("waiting", "converting", "loading")


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
_OF_A_REPORT = {
    "label": "label",
    "mark": "t_ns, note",
    "series_choice": "series",
    "change_note": "measure, state, note, changed_at",
}
"""What people said of a report, beside links: the tables, with their columns beside the report's id."""


def catalog_of(settings: Settings) -> "Catalog":
    """The catalog that the settings name: a file of the library's folder, or a database of many machines."""
    return Catalog(database.shared(settings.database) if settings.database else settings.library / FILE)


def upsert(table: str, columns: Sequence[str], key: str) -> str:
    """A statement that writes a row (``:name`` a column), in place of the one with the same key, if there is one."""
    rest = ", ".join(f"{name} = excluded.{name}" for name in columns if name != key)
    values = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) ON CONFLICT ({key}) DO UPDATE SET {rest}"


class Catalog:
    """The catalog of a library. Every call is a transaction of its own, so a Catalog may be shared by threads.

    Every method raises CatalogError where the catalog cannot be read or written.

    Args:
        place: a SQLite file, or a database of many machines.
    """

    def __init__(self, place: Path | Shared) -> None:
        database: Database = CatalogFile(place) if isinstance(place, Path) else place
        self._file = database if isinstance(database, CatalogFile) else None
        self.shared = None if isinstance(place, Path) else place
        self._connect: Connect = database.connect
        self.version = database.version
        self._asked_by(LOCAL)

    def _asked_by(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.audit = Audit(self._connect, visitor)
        self.marks = Marks(self._connect, self.audit)
        self.decided = Decided(self._connect, self.audit)
        self.links = Linked(self._connect, self.audit)
        self.stored = Index(self._connect)

    def asked_by(self, visitor: Visitor) -> "Catalog":
        """The same catalog as somebody else asks it: what they change stands in the audit under their name."""
        asked = copy(self)
        asked._asked_by(visitor)  # noqa: SLF001 (its own)
        return asked

    def mend(self) -> None:
        """Puts a damaged file in order (CatalogFile); a database of many machines is in the care of its own server."""
        if self._file:
            self._file.mend()

    def set_aside(self) -> list[Path]:
        """Damaged files that were set aside, the newest first."""
        return self._file.set_aside() if self._file else []

    def job_states(self) -> dict[str, int]:
        """How many files are in each state."""
        with self._connect() as db:
            return {
                row["state"]: row["files"]
                for row in db.execute("SELECT state, count(*) AS files FROM job GROUP BY state")
            }

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
        } | {"manifest": manifest.to_json()}
        with self._connect() as db:
            db.execute(upsert("report", list(row), "id"), row)
            self.audit.note(db, "took in", manifest.id, manifest.kind)

    def remove_report(self, report_id: str) -> None:
        """Forgets a report, its labels, marks and links; the files that it came from are remembered as deleted."""
        with self._connect() as db:
            self.audit.note(db, "deleted", report_id)
            db.execute("DELETE FROM report WHERE id = ?", [report_id])
            for table in _OF_A_REPORT:
                db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])
            linked.forget(db, report_id)
            db.execute("UPDATE job SET state = 'deleted', changed_at = ? WHERE report_id = ?", [now(), report_id])

    def hand_over(self, before: str, after: str) -> None:
        """Gives the labels, the marks and the links of one report to another one that takes its place."""
        with self._connect() as db:
            for table, columns in _OF_A_REPORT.items():
                db.execute(
                    f"INSERT INTO {table} (report_id, {columns}) SELECT ?, {columns} FROM {table} WHERE report_id = ?"
                    " ON CONFLICT DO NOTHING",
                    [after, before],
                )
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
        with self._connect() as db:
            statement = upsert("job", [f.name for f in fields(Job)], "path")
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
            db.executemany(
                "INSERT INTO label (report_id, label) VALUES (?, ?)", [(report_id, label) for label in cleaned]
            )
            self.audit.note(db, "labeled", report_id, ", ".join(cleaned) or "no labels")

    def columns(self, path: str) -> Columns | None:
        """What a reader said of the columns of a table beside a report."""
        with self._connect() as db:
            row = db.execute("SELECT columns FROM sidecar_columns WHERE path = ?", [path]).fetchone()
        return Columns(**json.loads(row["columns"])) if row else None

    def name_columns(self, path: str, columns: Columns) -> None:
        """Says what the columns of a table beside a report mean; the worker then reads it anew."""
        with self._connect() as db:
            row = {"path": path, "columns": json.dumps(asdict(columns))}
            db.execute(upsert("sidecar_columns", list(row), "path"), row)
            self.audit.note(db, "named columns", "", Path(path).name)


def _job(row: Any) -> Job:
    values: dict[str, Any] = dict(row)
    return Job(**values)
