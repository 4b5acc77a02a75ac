"""The catalog: the reports, the state of each dropped file, and the labels, marks and links that people gave."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from profiledb.config import Settings
from profiledb.errors import AnalysisError
from profiledb.library import removals, report_links, report_list, spaces, team_database
from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.bucket.object_index import ObjectIndex
from profiledb.library.catalog_file import CatalogFile
from profiledb.library.database import FILES, LOGINS, Connect, Connection, Database, Shared, make_marks
from profiledb.library.logins import Logins
from profiledb.library.marks import Marks
from profiledb.library.removals import Removals
from profiledb.library.report_links import ReportLinks
from profiledb.library.report_list import ReportList
from profiledb.library.series_decisions import SeriesDecisions
from profiledb.library.sharing_links import SharingLinks
from profiledb.library.space_registry import SpaceRegistry
from profiledb.library.token_uses import TokenUses
from profiledb.library.visitor import LOCAL, Visitor
from profiledb.report.manifest import FIRST_SAMPLE, LAUNCHES, TIMELINE, Manifest, Subject
from profiledb.report.sidecar import Columns, get_stem
from profiledb.words import visible

__all__ = ["FIRST_SAMPLE", "LAUNCHES", "LONGEST_TITLE", "TIMELINE", "Catalog", "Job", "Manifest", "Subject"]

FILE = "catalog.sqlite"
"""Name of the catalog in the folder of a library."""
LONGEST_TITLE = 200
"""Length limit of a report's name, in characters."""
MOST_VISIBILITIES = 1_000
"""Kinds of visitors that a process remembers."""

OPEN_STATES = ("waiting", "converting", "loading")
_RANGES = 50
MOST_JOBS = 100
"""Files of a state that a page reads."""


def read_clock() -> str:
    """Return the present time in UTC, ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Job:
    """A dropped file and its state; catalog.sql explains the columns."""

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
_COLUMNS_ABOUT_REPORTS = {
    "label": "label",
    "report_title": "title",
    "mark": "t_ns, note",
    "series_choice": "series",
    "change_note": "measure, state, note, changed_at",
}
"""Columns, besides the report's id, of the tables that hold what people said of a report; links are apart."""
_STAY = ("report_space", "series_choice", "change_note")
"""Tables with rows of a retired report: who sees it, and what its series go by."""


def open_catalog(settings: Settings) -> "Catalog":
    """Open the catalog that the settings name: a file in the library's folder, or the database of a team."""
    place = team_database.open_database(settings.database) if settings.database else settings.library / FILE
    return Catalog(place, settings.inbox)


def upsert_sql(table: str, columns: Sequence[str], key: str) -> str:
    """Return a statement that writes a row, with ``:name`` for a column, in place of the row with the same key."""
    rest = ", ".join(f"{name} = excluded.{name}" for name in columns if name != key)
    values = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) ON CONFLICT ({key}) DO UPDATE SET {rest}"


class Catalog:
    """The catalog of a library, as one visitor sees it (``asked_by``). Every call is a transaction of its own.

    Methods about a report or a file of the inbox first ask ``visibility``. May be shared by threads.

    Every method raises CatalogError if the catalog cannot be read or written.

    Args:
        place: a SQLite file, or the database of a team.
        inbox: the folder that people drop files into; folders in it name spaces.
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
        self.object_index = ObjectIndex(self._connect)
        self._visibilities: dict[tuple[frozenset[str] | None, str], Visibility] = {}
        self._set_visitor(LOCAL)

    def _set_visitor(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.visibility = self._find_visibility(visitor)
        self.audit = Audit(self._connect, visitor, self._connect_quietly)
        self.spaces = SpaceRegistry(self._connect, self.audit, self.visibility)
        self.marks = Marks(self._connect, self.audit, self.visibility)
        self.decisions = SeriesDecisions(self._connect, self.audit, self.visibility)
        self.links = ReportLinks(self._connect, self.audit, self.visibility)
        self.listing = ReportList(self._connect, self.visibility)
        self.removals = Removals(self._connect, self.visibility)
        self.sharing_links = SharingLinks(self._connect, self.audit, self.visibility, visitor)

    def _find_visibility(self, visitor: Visitor) -> Visibility:
        """Return one object for all visitors who see the same."""
        key = (visitor.groups, visitor.only)
        if key not in self._visibilities and len(self._visibilities) >= MOST_VISIBILITIES:
            self._visibilities.clear()
        return self._visibilities.setdefault(key, Visibility(self._connect, self.version, visitor, self._inbox))

    def asked_by(self, visitor: Visitor) -> "Catalog":
        """Return this catalog for another visitor: without hidden reports, and with their name in the audit."""
        asked = copy(self)
        asked._set_visitor(visitor)  # noqa: SLF001 (its own)
        return asked

    def version_of_files(self) -> tuple[int, ...]:
        """Return a value that changes with ``version``, and whenever a file of the inbox changes its state."""
        return (*self.version(), *(self.shared.version(FILES) if self.shared else ()))

    def transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction over all tables, to copy them (library/move)."""
        self.visibility.require_all()
        return self._connect()

    def mend(self) -> None:
        """Replace a damaged catalog file by a new one (CatalogFile); a team's database is left to its own server."""
        if self._file:
            self._file.mend()

    def damaged_files(self) -> list[Path]:
        """Return the damaged catalog files that were set aside, newest first."""
        return self._file.damaged_files() if self._file else []

    def job_states(self) -> dict[str, int]:
        """Return the number of files in each state."""
        self.visibility.require_all()
        with self._connect() as db:
            rows = db.execute("SELECT state, count(*) AS files FROM job GROUP BY state").fetchall()
        return {row["state"]: row["files"] for row in rows}

    def reports(self) -> list[Manifest]:
        """Return all visible reports, newest first; pages ask ``listing`` for those that they show."""
        with self._connect() as db:
            rows = db.execute(
                "SELECT id, manifest, title FROM report LEFT JOIN report_title ON report_id = id"
                " ORDER BY ingested_at DESC, name, id"
            ).fetchall()
        manifests = []
        for row in self.visibility.filter_items(rows, lambda row: row["id"]):
            with suppress(ValueError):  # the worker lists it again from its own manifest when it starts
                manifests.append(report_list.read_manifest(row))
        return manifests

    def report_ids(self) -> list[str]:
        """Return the ids of all visible reports, in a tenth of the time of ``reports``."""
        with self._connect() as db:
            ids = [row[0] for row in db.execute("SELECT id FROM report")]
        return self.visibility.filter_ids(ids)

    def add_report(self, manifest: Manifest) -> None:
        """Add a report, or replace its manifest; it stays in the spaces that it was in.

        Only who sees all reports may add one: a new report is visible to nobody yet.
        """
        self.visibility.require_all()
        row = {
            f: getattr(manifest, f)
            for f in ("id", "name", "kind", "source_sha256", "captured_at", "ingested_at", "gpu")
        } | {"manifest": manifest.to_json()}
        statement = upsert_sql("report", list(row), "id")
        with self._connect() as db:  # a report published while a worker starts is added by both
            if db.execute(statement.partition(" DO ")[0] + " DO NOTHING", row).rowcount:
                self.audit.note(db, "took in", manifest.id, manifest.kind)
            else:
                db.execute(statement, row)
            report_list.write_row(db, manifest.id)
            removals.unretire(db, manifest.id)
            spaces.add_report(db, manifest.id, manifest.space)

    def complete_listing(self) -> None:
        """Write the rows of ``listing`` that a stopped or earlier program has left out."""
        self.visibility.require_all()
        with self._connect() as db:
            report_list.fill(db)

    def remove_report(self, report_id: str, summary: str = "") -> None:
        """Remove a report with its labels, marks and links; the files that it came from are remembered as deleted.

        With a summary it is retired: this stays, with its place among spaces and series.
        """
        self.visibility.require_reports(report_id)
        with self._connect() as db:
            self.audit.note(db, "deleted", report_id, "retention; its figures stay" if summary else "")
            db.execute("DELETE FROM report WHERE id = ?", [report_id])
            stay = _STAY if summary else ()
            removals.unretire(db, report_id)
            if summary:
                removals.retire(db, report_id, read_clock(), summary)
            for table in {*_COLUMNS_ABOUT_REPORTS, "report_space", "share", "listing", "finding"} - {*stay}:
                db.execute(f"DELETE FROM {table} WHERE report_id = ?", [report_id])
            report_links.forget(db, report_id)
            db.execute(
                "UPDATE job SET state = 'deleted', changed_at = ? WHERE report_id = ?", [read_clock(), report_id]
            )

    def hand_over(self, before: str, after: str) -> None:
        """Copy the labels, marks and links of one report to the report that takes its place."""
        self.visibility.require_reports(before, after)
        with self._connect() as db:
            for table, columns in _COLUMNS_ABOUT_REPORTS.items():
                db.execute(
                    f"INSERT INTO {table} (report_id, {columns}) SELECT ?, {columns} FROM {table} WHERE report_id = ?"
                    " ON CONFLICT DO NOTHING",
                    [after, before],
                )
            report_links.hand_over(db, before, after)
            report_list.write_row(db, after)

    def unlist_report(self, report_id: str) -> None:
        """Take a report off the list until its files are converted again; its labels and links stay."""
        self.visibility.require_reports(report_id)
        with self._connect() as db:
            for table, key in (("report", "id"), ("listing", "report_id")):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", [report_id])

    def jobs(self) -> list[Job]:
        """Return all visible files that were ever taken up, last change first; pages ask ``jobs_in``."""
        return self._read_jobs("1 = 1")

    def jobs_in(self, *states: str, most: int = MOST_JOBS) -> list[Job]:
        """Return the visible files in some states, last change first, as many as a page shows."""
        return self._read_jobs(f"state IN ({make_marks(states)})", states, most)

    def jobs_below(self, folder: str) -> list[Job]:
        """Return the visible files in a folder and below."""
        return self._read_jobs("path >= ? AND path < ?", (f"{folder}/", f"{folder}0"))  # 0 follows the slash

    def jobs_at(self, paths: Sequence[str]) -> list[Job]:
        """Return the visible ones of some files."""
        return self._read_jobs(f"path IN ({make_marks(paths)})", paths) if paths else []

    def jobs_beside(self, paths: Sequence[str]) -> list[Job]:
        """Return the visible ones of some files, and of those whose names begin as theirs do without the ending."""
        begins = sorted({str(Path(path).with_name(get_stem(Path(path).name))) for path in paths})
        jobs: list[Job] = []
        for at in range(0, len(begins), _RANGES):
            ends = [end for one in begins[at : at + _RANGES] for end in (one, f"{one}\U0010ffff")]
            jobs += self._read_jobs(" OR ".join(["path >= ? AND path < ?"] * (len(ends) // 2)), ends)
        return list({job.path: job for job in jobs}.values())

    def count_files(self) -> int:
        """Return the number of files that were ever taken up."""
        self.visibility.require_all()
        with self._connect() as db:
            ((count,),) = db.execute("SELECT count(*) FROM job").fetchall()
        return int(count)

    def waiting_since(self) -> datetime | None:
        """Return the time from which the first of the waiting files waits; None if none waits."""
        self.visibility.require_all()
        with self._connect() as db:
            ((since,),) = db.execute("SELECT min(changed_at) FROM job WHERE state = 'waiting'").fetchall()
        return datetime.fromisoformat(since) if since else None

    def warned_jobs(self, most: int) -> list[Job]:
        """Return visible files that were taken in with a remark."""
        return self._read_jobs("state = 'ready' AND message <> ''", (), most)

    def count_jobs(self, *states: str) -> dict[str, int]:
        """Return the number of visible files in each of these states that has any."""
        if not self.visibility.sees_all:
            return dict(Counter(job.state for job in self.jobs_in(*states, most=0)))
        query = f"SELECT state, count(*) AS files FROM job WHERE state IN ({make_marks(states)}) GROUP BY state"
        with self._connect() as db:
            return {row["state"]: row["files"] for row in db.execute(query, states)}

    def _read_jobs(self, condition: str, values: Sequence[str] = (), most: int = 0) -> list[Job]:
        """Return the visible files of a condition, last change first; at most ``most`` unless that is 0."""
        limit = f" LIMIT {most:d}" if most and self.visibility.sees_all else ""
        query = f"SELECT {_JOB} FROM job WHERE {condition} ORDER BY changed_at DESC, path{limit}"
        with self._connect() as db:
            jobs = [_read_job(row) for row in db.execute(query, values)]
        reports = set(self.visibility.filter_ids(job.report_id for job in jobs if job.report_id is not None))
        inbox_files = self.visibility.sees_inbox_file
        seen = [job for job in jobs if (job.report_id is None or job.report_id in reports) and inbox_files(job.path)]
        return seen[:most] if most else seen

    def job(self, path: str) -> Job | None:
        """Return the state of one file; None if it is unknown or hidden."""
        with self._connect() as db:
            row = db.execute(f"SELECT {_JOB} FROM job WHERE path = ?", [path]).fetchone()
        job = _read_job(row) if row else None
        return job if job and self._is_visible(job) else None

    def _is_visible(self, job: Job) -> bool:
        is_visible = job.report_id is None or self.visibility.sees_report(job.report_id)
        return is_visible and self.visibility.sees_inbox_file(job.path)

    def put_job(self, *jobs: Job) -> None:
        """Write the states of files in one transaction; ``changed_at`` is set to now.

        If a file has the content of an earlier one, its report is then in the spaces of both.
        """
        self._put_in_spaces(jobs)
        with self._connect_files() as db:
            statement = upsert_sql("job", [f.name for f in fields(Job)], "path")
            db.executemany(statement, [asdict(job) | {"changed_at": read_clock()} for job in jobs])

    def _put_in_spaces(self, jobs: Sequence[Job]) -> None:
        """Write the spaces of duplicates, before their states and as news of the reports.

        A process that stops in between does both again.
        """
        duplicates = [(job.report_id, job.path) for job in jobs if job.state == "duplicate" and job.report_id]
        if duplicates:
            with self._connect() as db:
                for report_id, path in duplicates:
                    spaces.add_report(db, report_id, spaces.find_space(path, self._inbox))

    def dismiss(self, path: str) -> None:
        """Hide the failure of a file; the file stays and is read again when it changes."""
        self.visibility.require_inbox_file(path)
        dismissed = "UPDATE job SET state = 'dismissed', changed_at = ? WHERE path = ?"
        with self._connect_files() as db:
            if db.execute(dismissed, [read_clock(), path]).rowcount:
                self.audit.note(db, "dismissed", "", Path(path).name)

    def forget_job(self, path: str, *, asked: bool = False) -> None:
        """Remove the record of a file, so that the worker takes it up again; ``asked``: because a person wants it."""
        self.visibility.require_inbox_file(path)
        with self._connect_files() as db:
            if db.execute("DELETE FROM job WHERE path = ?", [path]).rowcount and asked:
                self.audit.note(db, "tried again", "", Path(path).name)

    def labels(self) -> dict[str, list[str]]:
        """Return the labels of each visible report, sorted."""
        by_report: dict[str, list[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, label FROM label ORDER BY label"):
                by_report.setdefault(row["report_id"], []).append(row["label"])
        return self.visibility.filter_by_id(by_report)

    def set_labels(self, report_id: str, labels: list[str]) -> None:
        """Replace the labels of a report; blank and repeated labels are dropped."""
        self.visibility.require_reports(report_id)
        cleaned = sorted({" ".join(label.split()) for label in labels} - {""})
        with self._connect() as db:
            db.execute("DELETE FROM label WHERE report_id = ?", [report_id])
            db.executemany(
                "INSERT INTO label (report_id, label) VALUES (?, ?)", [(report_id, label) for label in cleaned]
            )
            report_list.write_row(db, report_id)
            self.audit.note(db, "labeled", report_id, ", ".join(cleaned) or "no labels")

    def rename(self, report_id: str, title: str) -> str:
        """Give a report a name for people and return it as stored; the name of its file, or none, removes that name.

        Raises:
            AnalysisError: the name is too long.
        """
        self.visibility.require_reports(report_id)
        cleaned = " ".join(visible(title).split())
        if len(cleaned) > LONGEST_TITLE:
            raise AnalysisError(f"A name has at most {LONGEST_TITLE} characters.", hint="Shorten it.")
        with self._connect() as db:
            if db.execute("SELECT 1 FROM report WHERE id = ? AND name = ?", [report_id, cleaned]).fetchone():
                cleaned = ""
            db.execute("DELETE FROM report_title WHERE report_id = ?", [report_id])
            if cleaned:
                db.execute("INSERT INTO report_title (report_id, title) VALUES (?, ?)", [report_id, cleaned])
            report_list.write_row(db, report_id)
            self.audit.note(db, "renamed", report_id, cleaned or "the name of its file")
        return cleaned

    def columns(self, path: str) -> Columns | None:
        """Return the meanings that somebody gave to the columns of a table beside a report."""
        self.visibility.require_inbox_file(path)
        with self._connect() as db:
            row = db.execute("SELECT columns FROM sidecar_columns WHERE path = ?", [path]).fetchone()
        return Columns(**json.loads(row["columns"])) if row else None

    def name_columns(self, path: str, columns: Columns) -> None:
        """Write the meaning of the columns of a table beside a report; the worker then reads the table again."""
        self.visibility.require_inbox_file(path)
        with self._connect() as db:
            row = {"path": path, "columns": json.dumps(asdict(columns))}
            db.execute(upsert_sql("sidecar_columns", list(row), "path"), row)
            self.audit.note(db, "named columns", "", Path(path).name)


def _read_job(row: Any) -> Job:
    return Job(**dict(row))
