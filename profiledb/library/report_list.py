"""The list of reports: search, filters, order and pages, all answered by the catalog's database.

The table ``listing`` has a narrow row for each report, so that no list reads the manifests of others. Whoever changes a
report's manifest, name or labels calls ``write_row`` in the same transaction. Every question here is restricted to what
the visitor sees, by a condition of its own (``Visibility.condition``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from profiledb.errors import ReportNotFoundError
from profiledb.library.access_check import Visibility
from profiledb.library.database import Connect, Connection, build_contains_pattern, cut_values, make_marks
from profiledb.report import report_lookup
from profiledb.report.manifest import LAUNCHES, TIMELINE, Manifest, Subject
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.words import KIND_TITLES

PAGE = 100
"""Reports on a page of a list."""
OLDER = "older version"
"""Label of ours, and search word, of reports that this version does not read."""
ORDERS = {
    "newest": "ingested_at DESC, name, report_id",
    "name": "name, report_id",
    "gpu": "gpu, report_id",
    "captured": "captured_at DESC, report_id DESC",
    "duration": "duration_ns DESC, report_id DESC",
    "kernels": "kernels DESC, report_id DESC",
    "size": "bytes DESC, report_id DESC",
}
"""Orders of a list; each but the first has samples among the others."""
_LONGEST = 200
"""Characters of a text by which lists sort or filter: PostgreSQL's indexes take no long ones."""
_MOST_WORDS = 20
_MOST_NAMESAKES = 100
_EMPTY = "''"
_IS_OLDER = f"schema_version < {SCHEMA_VERSION:d}"
_SAME = "report_id = listing.report_id"
_SUBJECTS: dict[str, str] = {TIMELINE: "timeline", LAUNCHES: "launches"}
_MANIFEST = "SELECT id, manifest, title FROM report LEFT JOIN report_title ON report_id = id"


@dataclass(frozen=True)
class Filters:
    """Which reports are listed; an empty field does not filter.

    A report has all of the labels and rules, one of the kinds and one of the GPUs. Each word of the text occurs in its
    names, id, GPU, command or labels, ignoring case. ``judged_by`` is the version of the rules. ``since`` and
    ``until`` are days or moments, with a time zone, between which the capture began.
    """

    text: str = ""
    kinds: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    judged_by: str = ""
    subject: Subject | None = None
    has_operators: bool = False
    is_sample: bool | None = None
    is_older: bool = False


ALL = Filters()


class ReportList:
    """The list of a library's reports for one visitor. Every call is a transaction and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, visibility: Visibility) -> None:
        self._connect = connect
        self._visibility = visibility

    def count(self, filters: Filters = ALL) -> int:
        """Return the number of reports."""
        where, values = self._make_condition(filters)
        with self._connect() as db:
            ((count,),) = db.execute(f"SELECT count(*) FROM listing WHERE {where}", values).fetchall()
        return int(count)

    def page(self, filters: Filters = ALL, order: str = "newest", first: int = 0, most: int = PAGE) -> list[Manifest]:
        """Return some of the reports, from the one at position ``first`` on, in one of ``ORDERS``."""
        where, values = self._make_condition(filters)
        listed = f"SELECT report_id FROM listing WHERE {where} ORDER BY {ORDERS[order]} LIMIT {most:d} OFFSET {first:d}"
        with self._connect() as db:
            ids = [row["report_id"] for row in db.execute(listed, values)]
            return list(_read_manifests(db, ids).values())

    def ids(self, filters: Filters = ALL) -> list[str]:
        """Return the ids of the reports, in no order."""
        where, values = self._make_condition(filters)
        with self._connect() as db:
            return [row["report_id"] for row in db.execute(f"SELECT report_id FROM listing WHERE {where}", values)]

    def get(self, ids: Iterable[str]) -> dict[str, Manifest]:
        """Return the visible ones of some reports by id, in the order of the ids."""
        asked = [report_id for report_id in dict.fromkeys(ids) if report_id.isascii()]
        seen = self._visibility.filter_ids(asked)
        with self._connect() as db:
            return _read_manifests(db, [report_id for report_id in asked if report_id in seen])

    def filter_ids(self, ids: Iterable[str]) -> list[str]:
        """Return the listed and visible ones of some ids."""
        seen = self._visibility.filter_ids(ids)
        listed: list[str] = []
        with self._connect() as db:
            for part in cut_values(seen):
                query = f"SELECT id FROM report WHERE id IN ({make_marks(part)})"
                listed += [row["id"] for row in db.execute(query, part)]
        return listed

    def find(self, name: str) -> Manifest:
        """Return the report with this id, unique prefix of an id, file name, or name that somebody gave it.

        Raises:
            ReportNotFoundError: none matches, or several do.
        """
        condition, values = self._visibility.condition("id")
        asked = _clean_text(name)
        named = (
            ("id = ?", [asked]),
            ("name = ? OR id IN (SELECT report_id FROM report_title WHERE title = ?)", [asked, asked]),
            ("id >= ? AND id < ?", [asked, f"{asked}\U0010ffff"]),
        )
        manifests: dict[str, Manifest] = {}
        with self._connect() as db:
            for matches, given in named if name else ():
                query = f"SELECT id FROM report WHERE ({matches}) AND {condition} ORDER BY ingested_at DESC, id LIMIT ?"
                ids = [row["id"] for row in db.execute(query, [*given, *values, _MOST_NAMESAKES])]
                if len(ids) == _MOST_NAMESAKES:
                    many = f"{_MOST_NAMESAKES} or more reports are called {name!r}, or have ids that begin so."
                    raise ReportNotFoundError(many, hint="Name one by its id.")
                if manifests := _read_manifests(db, ids):
                    break
        return report_lookup.find(manifests.values(), name)

    def kinds(self) -> list[str]:
        """Return the kinds of the reports, sorted."""
        return self._read_distinct("listing", "kind")

    def gpus(self) -> list[str]:
        """Return the GPUs of the reports, sorted."""
        return self._read_distinct("listing", "gpu")

    def labels(self) -> list[str]:
        """Return all labels, sorted."""
        return self._read_distinct("label", "label")

    def rules(self, judged_by: str) -> list[str]:
        """Return the names of the rules that fired in a report, as these rules judged it."""
        return self._read_distinct("finding", "rule", "version = ?", judged_by)

    def labels_of(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Return the labels of each of some reports that has any, sorted."""
        seen = self._visibility.filter_ids(ids)
        with self._connect() as db:
            return _read_labels(db, seen)

    def labels_with_values(self) -> dict[str, list[str]]:
        """Return the labels of the form ``key=value`` of each report that has any, sorted."""
        labels: dict[str, list[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, label FROM label WHERE label LIKE '%=%' ORDER BY label"):
                labels.setdefault(row["report_id"], []).append(row["label"])
        return self._visibility.filter_by_id(labels)

    def put_findings(self, report_id: str, judged_by: str, rules: Iterable[str]) -> None:
        """Write which rules fired in a report, in place of an earlier verdict."""
        self._visibility.require_reports(report_id)
        rows = [(report_id, rule[:_LONGEST], judged_by) for rule in ("", *dict.fromkeys(rules))]
        with self._connect() as db:
            db.execute("DELETE FROM finding WHERE report_id = ?", [report_id])
            db.executemany("INSERT INTO finding (report_id, rule, version) VALUES (?, ?, ?)", rows)

    def unjudged(self, judged_by: str) -> list[str]:
        """Return the ids of the reports that these rules have not judged, newest first."""
        condition, values = self._visibility.condition("listing.report_id")
        query = (
            "SELECT listing.report_id AS id FROM listing LEFT JOIN finding ON finding.report_id = listing.report_id"
            f" AND rule = '' AND version = ? WHERE version IS NULL AND {condition} ORDER BY ingested_at DESC"
        )
        with self._connect() as db:
            return [row["id"] for row in db.execute(query, [judged_by, *values])]

    def _read_distinct(self, table: str, column: str, also: str = "", *given: str) -> list[str]:
        """Return the different values of an indexed column: one step of the index for each, however many rows."""
        condition, values = self._visibility.condition(f"{table}.report_id")
        every = " AND ".join(filter(None, (also, condition)))
        step = f"SELECT min({column}) FROM {table} WHERE {column} > {{}} AND {every}"
        query = (
            f"SELECT value FROM (WITH RECURSIVE found(value) AS ({step.format(_EMPTY)} UNION ALL"
            f" SELECT ({step.format('found.value')}) FROM found WHERE found.value IS NOT NULL)"
            " SELECT value FROM found) AS steps WHERE value IS NOT NULL"
        )
        with self._connect() as db:
            return [row["value"] for row in db.execute(query, [*given, *values] * 2)]

    def _make_condition(self, filters: Filters) -> tuple[str, list[str]]:
        """Return the condition of a list, and its values."""
        conditions = [self._visibility.condition("listing.report_id"), *_list_conditions(filters)]
        values = [_clean_text(value) for _, given in conditions for value in given]
        return " AND ".join(f"({condition})" for condition, _ in conditions), values


def _list_conditions(filters: Filters) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the conditions of filters on ``listing``, each with its values."""
    for word in filters.text.casefold().split()[:_MOST_WORDS]:
        older = f" OR {_IS_OLDER}" if word in OLDER else ""
        yield f"words LIKE ? ESCAPE '!'{older}", [build_contains_pattern(word)]
    for column, among in (("kind", filters.kinds), ("gpu", filters.gpus)):
        if among:
            yield f"{column} IN ({make_marks(among)})", among
    for label in filters.labels:
        yield f"EXISTS (SELECT 1 FROM label WHERE {_SAME} AND label = ?)", [label]
    for rule in filters.rules:
        yield f"EXISTS (SELECT 1 FROM finding WHERE {_SAME} AND rule = ? AND version = ?)", [rule, filters.judged_by]
    if filters.since:
        yield "captured_at >= ?", [_format_bound(filters.since)]
    if filters.until:
        whole = "captured_at" if isinstance(filters.until, datetime) else "substr(captured_at, 1, 10)"
        yield f"captured_at > '' AND {whole} <= ?", [_format_bound(filters.until)]
    flags = {name: 1 for name in (_SUBJECTS.get(filters.subject or ""), filters.has_operators and "operators") if name}
    flags |= {} if filters.is_sample is None else {"sample": int(filters.is_sample)}
    for name, value in flags.items():
        yield f"{name} = {value:d}", ()
    if filters.is_older:
        yield _IS_OLDER, ()


def get_kind(report: Manifest) -> str:
    """Return the kind of a report; for a trace in PyTorch's format by another program, that program's name."""
    is_other = report.kind == "torch" and report.tool not in (None, KIND_TITLES["torch"])
    return (report.tool or report.kind) if is_other else report.kind


def write_row(db: Connection, report_id: str) -> None:
    """Write the row of a listed report anew, from its manifest, its name and its labels."""
    db.execute("DELETE FROM listing WHERE report_id = ?", [report_id])
    _insert_rows(db, [report_id])


def fill(db: Connection) -> int:
    """Write the rows that a catalog of an earlier version, or a restored one, lacks; return their number."""
    query = "SELECT id FROM report WHERE NOT EXISTS (SELECT 1 FROM listing WHERE report_id = id)"
    missing = [row["id"] for row in db.execute(query)]
    for part in cut_values(missing):
        _insert_rows(db, part)
    return len(missing)


def _insert_rows(db: Connection, ids: Sequence[str]) -> None:
    """Write the rows of at most 500 reports; one without a readable manifest is listed again by the worker."""
    labels = _read_labels(db, ids)
    rows = [_make_row(one, labels.get(one.id, ())) for one in _read_manifests(db, ids).values()]
    if rows:
        names = ", ".join(f":{name}" for name in rows[0])
        db.executemany(f"INSERT INTO listing ({', '.join(rows[0])}) VALUES ({names}) ON CONFLICT DO NOTHING", rows)


def _make_row(report: Manifest, labels: Sequence[str]) -> dict[str, Any]:
    """Return the row of a report in ``listing``."""
    words = (report.title, report.name, report.id, report.gpu, report.command, *labels)
    return {
        "report_id": report.id,
        "sample": int(report.sample),
        "schema_version": report.schema_version,
        "kind": _clean_text(get_kind(report))[:_LONGEST],
        "gpu": _clean_text(report.gpu or "")[:_LONGEST],
        "name": _clean_text(report.shown_name.casefold())[:_LONGEST],
        "captured_at": _normalize_time(report.captured_at),
        "ingested_at": _clean_text(report.ingested_at)[:_LONGEST],
        "duration_ns": report.duration_ns or 0,
        "kernels": report.rows.get("kernel") or report.rows.get("ncu_launch") or 0,
        "bytes": report.source_bytes,
        "timeline": int(TIMELINE in report.subjects),
        "launches": int(LAUNCHES in report.subjects),
        "operators": int(bool(report.rows.get("operator") and report.rows.get("kernel"))),
        "words": _clean_text("\n".join(word for word in words if word).casefold()),
    }


def _read_manifests(db: Connection, ids: Sequence[str]) -> dict[str, Manifest]:
    """Return the manifests of some reports by id, in this order; those that cannot be read are left out."""
    read: dict[str, Manifest] = {}
    for part in cut_values(ids):
        for row in db.execute(f"{_MANIFEST} WHERE id IN ({make_marks(part)})", part):
            with suppress(ValueError):
                read[row["id"]] = read_manifest(row)
    return {report_id: read[report_id] for report_id in ids if report_id in read}


def _read_labels(db: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels of each of some reports that has any, sorted."""
    labels: dict[str, list[str]] = {}
    for part in cut_values(ids):
        query = f"SELECT report_id, label FROM label WHERE report_id IN ({make_marks(part)}) ORDER BY label"
        for row in db.execute(query, part):
            labels.setdefault(row["report_id"], []).append(row["label"])
    return labels


def read_manifest(row: Mapping[str, Any]) -> Manifest:
    """Return the manifest of a row with ``manifest`` and ``title``. Raises ValueError if it is none."""
    manifest = Manifest.from_json(row["manifest"])
    return replace(manifest, title=row["title"]) if row["title"] else manifest


def _clean_text(text: str) -> str:
    """Replace characters that a database does not store: NUL and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _format_bound(when: date) -> str:
    """Return a day, or a moment as the list has it."""
    return _normalize_time(when.isoformat()) if isinstance(when, datetime) else when.isoformat()


def _normalize_time(iso: str | None) -> str:
    """Return a time in one format, so that texts sort as times do; empty if it is none."""
    try:
        return datetime.fromisoformat(iso or "").isoformat(timespec="microseconds")
    except ValueError:
        return ""
