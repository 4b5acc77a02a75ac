"""The catalog: which reports there are, what became of each file, and the labels, marks and links that people gave."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from profiledb.config import Settings
from profiledb.library import database, report_links, spaces
from profiledb.library.access_check import Sight
from profiledb.library.audit import Audit
from profiledb.library.bucket.object_index import Index
from profiledb.library.catalog_file import CatalogFile
from profiledb.library.database import FILES, LOGINS, Connect, Connection, Database, Shared
from profiledb.library.logins import Logins
from profiledb.library.marks import Marks
from profiledb.library.report_links import Linked
from profiledb.library.series_decisions import Decided
from profiledb.library.sharing_links import Shares
from profiledb.library.spaces import Spaces
from profiledb.library.token_uses import TokenUses
from profiledb.library.visitor import LOCAL, Visitor
from profiledb.report.manifest import LAUNCHES, TIMELINE, Manifest, Subject
from profiledb.report.sidecar import Columns

__all__ = ["LAUNCHES", "TIMELINE", "Catalog", "Job", "Manifest", "Subject"]

FILE = "catalog.sqlite"
"""Its name in the folder of a library."""
MOST_SIGHTS = 1_000
"""Kinds of visitors that a process remembers."""

OPEN_STATES = ("waiting", "converting", "loading")


def now() -> str:
    """This moment in UTC, ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    file_kind: str = "report"


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
    place = database.shared(settings.database) if settings.database else settings.library / FILE
    return Catalog(place, settings.inbox)


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
        inbox: where files are dropped: a space is named by a folder in it.
    """

    def __init__(self, place: Path | Shared, inbox: Path | None = None) -> None:
        self._inbox = inbox
        database: Database = CatalogFile(place) if isinstance(place, Path) else place
        self._file = database if isinstance(database, CatalogFile) else None
        self.shared = None if isinstance(place, Path) else place
        self._connect: Connect = database.connect
        self._connect_files: Connect = partial(database.connect, FILES)
        self._connect_quietly: Connect = partial(database.connect, "")
        self.version = database.version
        self.logins = Logins(partial(database.connect, LOGINS), partial(database.version, LOGINS))
        self.token_uses = TokenUses(self._connect_quietly)
        self._sights: dict[tuple[frozenset[str] | None, str], Sight] = {}
        self._asked_by(LOCAL)

    def _asked_by(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.sight = self._sight(visitor)
        self.audit = Audit(self._connect, visitor, self._connect_quietly)
        self.spaces = Spaces(self._connect, self.audit, self.sight)
        self.marks = Marks(self._connect, self.audit, self.sight)
        self.decided = Decided(self._connect, self.audit, self.sight)
        self.links = Linked(self._connect, self.audit, self.sight)
        self.shares = Shares(self._connect, self.audit, self.sight, visitor)
        self.stored = Index(self._connect)

    def _sight(self, visitor: Visitor) -> Sight:
        """One object for all who see the same."""
        key = (visitor.groups, visitor.only)
        if key not in self._sights and len(self._sights) >= MOST_SIGHTS:
            self._sights.clear()
        return self._sights.setdefault(key, Sight(self._connect, self.version, visitor, self._inbox))

    def asked_by(self, visitor: Visitor) -> "Catalog":
        """The same catalog as somebody else asks it: of reports that they do not see it knows nothing
        (access_check.py), and
        what they change stands in the audit under their name."""
        asked = copy(self)
        asked._asked_by(visitor)  # noqa: SLF001 (its own)
        return asked

    def version_of_files(self) -> tuple[int, ...]:
        """Changes with ``version``, and whenever a file of the inbox is in another state."""
        return (*self.version(), *(self.shared.version(FILES) if self.shared else ()))

    def transaction(self) -> AbstractContextManager[Connection]:
        """A transaction over the tables, for who carries all of them elsewhere (report/moving)."""
        return self._connect()

    def mend(self) -> None:
        """Puts a damaged file in order (CatalogFile); a database of many machines is in the care of its own server."""
        if self._file:
            self._file.mend()

    def set_aside(self) -> list[Path]:
        """Damaged files that were set aside, the newest first."""
        return self._file.set_aside() if self._file else []

    def job_states(self) -> dict[str, int]:
        """How many files are in each state."""
        self.sight.require_whole()
        with self._connect() as db:
            rows = db.execute("SELECT state, count(*) AS files FROM job GROUP BY state").fetchall()
        return {row["state"]: row["files"] for row in rows}

    def reports(self) -> list[Manifest]:
        """All reports, the newest first."""
        with self._connect() as db:
            rows = db.execute("SELECT id, manifest FROM report ORDER BY ingested_at DESC, name, id").fetchall()
        manifests = []
        for row in self.sight.those(rows, lambda row: row["id"]):
            with suppress(ValueError):  # it is listed again from its own manifest when the worker starts
                manifests.append(Manifest.from_json(row["manifest"]))
        return manifests

    def report_ids(self) -> list[str]:
        """The ids of all reports; a tenth of the time of ``reports``."""
        with self._connect() as db:
            return self.sight.those([row["id"] for row in db.execute("SELECT id FROM report")], str)

    def add_report(self, manifest: Manifest) -> None:
        """Adds a report, or replaces what is known of it; the spaces that it was in it stays in."""
        row = {
            f: getattr(manifest, f)
            for f in ("id", "name", "kind", "source_sha256", "captured_at", "ingested_at", "gpu")
        } | {"manifest": manifest.to_json()}
        known = upsert("report", list(row), "id")
        with self._connect() as db:  # one that is published while a worker starts is listed by both
            if db.execute(known.partition(" DO ")[0] + " DO NOTHING", row).rowcount:
                self.audit.note(db, "took in", manifest.id, manifest.kind)
            else:
                db.execute(known, row)
            spaces.put(db, manifest.id, manifest.space)

    def remove_report(self, report_id: str) -> None:
        """Forgets a report and what was said of it; the files that it came from are remembered as deleted."""
        self.sight.require(report_id)
        with self._connect() as db:
            self.audit.note(db, "deleted", report_id)
            db.execute("DELETE FROM report WHERE id = ?", [report_id])
            for table in (*_OF_A_REPORT, "report_space", "share"):
                db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])
            report_links.forget(db, report_id)
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
            report_links.hand_over(db, before, after)

    def unlist_report(self, report_id: str) -> None:
        """Takes a report off the list until its files are converted again; its labels and links stay."""
        with self._connect() as db:
            db.execute("DELETE FROM report WHERE id = ?", [report_id])

    def jobs(self) -> list[Job]:
        """All files that were ever taken up, the last change first."""
        with self._connect() as db:
            rows = [_job(row) for row in db.execute(f"SELECT {_JOB} FROM job ORDER BY changed_at DESC, path")]
        return [job for job in rows if self._sees(job)]

    def job(self, path: str) -> Job | None:
        """What became of one file."""
        with self._connect() as db:
            row = db.execute(f"SELECT {_JOB} FROM job WHERE path = ?", [path]).fetchone()
        job = _job(row) if row else None
        return job if job and self._sees(job) else None

    def _sees(self, job: Job) -> bool:
        return self.sight.sees_file(job.path) and (job.report_id is None or self.sight.sees(job.report_id))

    def put_job(self, *jobs: Job) -> None:
        """Writes the states of files, all at once; ``changed_at`` is set to now.

        The report of a file with the same content as another one is then in the spaces of both.
        """
        self._put_in_spaces(jobs)
        with self._connect_files() as db:
            statement = upsert("job", [f.name for f in fields(Job)], "path")
            db.executemany(statement, [asdict(job) | {"changed_at": now()} for job in jobs])

    def _put_in_spaces(self, jobs: Sequence[Job]) -> None:
        """Before the states, and as news of the reports: whoever comes between does it again."""
        found = [(job.report_id, job.path) for job in jobs if job.state == "duplicate" and job.report_id]
        if found:
            with self._connect() as db:
                for report_id, path in found:
                    spaces.put(db, report_id, spaces.space_of(path, self._inbox))

    def dismiss(self, path: str) -> None:
        """Has the failure of a file no longer shown; the file stays, and is read again when it changes."""
        self.sight.require_file(path)
        dismissed = "UPDATE job SET state = 'dismissed', changed_at = ? WHERE path = ?"
        with self._connect_files() as db:
            if db.execute(dismissed, [now(), path]).rowcount:
                self.audit.note(db, "dismissed", "", Path(path).name)

    def forget_job(self, path: str, *, asked: bool = False) -> None:
        """Removes the record of a file, so that the worker takes it up anew; ``asked``: because somebody wants that."""
        self.sight.require_file(path)
        with self._connect_files() as db:
            if db.execute("DELETE FROM job WHERE path = ?", [path]).rowcount and asked:
                self.audit.note(db, "tried again", "", Path(path).name)

    def labels(self) -> dict[str, list[str]]:
        """Labels by report id, sorted."""
        by_report: dict[str, list[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, label FROM label ORDER BY label"):
                by_report.setdefault(row["report_id"], []).append(row["label"])
        return self.sight.of(by_report)

    def set_labels(self, report_id: str, labels: list[str]) -> None:
        """Replaces the labels of a report; blanks and repetitions are dropped."""
        self.sight.require(report_id)
        cleaned = sorted({" ".join(label.split()) for label in labels} - {""})
        with self._connect() as db:
            db.execute("DELETE FROM label WHERE report_id = ?", [report_id])
            db.executemany(
                "INSERT INTO label (report_id, label) VALUES (?, ?)", [(report_id, label) for label in cleaned]
            )
            self.audit.note(db, "labeled", report_id, ", ".join(cleaned) or "no labels")

    def columns(self, path: str) -> Columns | None:
        """What a reader said of the columns of a table beside a report."""
        self.sight.require_file(path)
        with self._connect() as db:
            row = db.execute("SELECT columns FROM sidecar_columns WHERE path = ?", [path]).fetchone()
        return Columns(**json.loads(row["columns"])) if row else None

    def name_columns(self, path: str, columns: Columns) -> None:
        """Says what the columns of a table beside a report mean; the worker then reads it anew."""
        self.sight.require_file(path)
        with self._connect() as db:
            row = {"path": path, "columns": json.dumps(asdict(columns))}
            db.execute(upsert("sidecar_columns", list(row), "path"), row)
            self.audit.note(db, "named columns", "", Path(path).name)


def _job(row: Any) -> Job:
    return Job(**dict(row))
