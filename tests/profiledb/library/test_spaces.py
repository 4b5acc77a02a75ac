"""Spaces: a visitor's library and catalog hide reports that the visitor may not see."""

import ast
import re
from dataclasses import replace
from datetime import UTC, datetime
from inspect import isfunction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from profiledb import config
from profiledb.errors import AnalysisError, NotAllowedError, ReportNotFoundError
from profiledb.library import migrations
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.marks import Mark, Marks
from profiledb.library.postgres import Postgres
from profiledb.library.removals import Removals
from profiledb.library.report_links import ReportLinks
from profiledb.library.report_list import ReportList
from profiledb.library.series_decisions import Note, SeriesDecisions
from profiledb.library.sharing_links import SharingLinks
from profiledb.library.spaces import UNKNOWN, find_space
from profiledb.library.visitor import LOCAL, NOBODY, WORKER, Visitor
from profiledb.report.derived_files import FINDINGS
from profiledb.report.sidecar import Columns
from tests.support.postgres import Server

ROOT = Path(__file__).parents[3]
MADE = "2026-01-01T00:00:00+00:00"
OPEN = Manifest("a" * 16, 6, "open.nsys-rep", "nsys", "a" * 64, 1, ingested_at=MADE)
HIDDEN = replace(OPEN, id="b" * 16, name="secret.nsys-rep", space="kernels")
LOST = replace(OPEN, id="c" * 16, name="lost.nsys-rep", space=UNKNOWN)
PLACES = {OPEN.id: {""}, HIDDEN.id: {"kernels"}, LOST.id: {UNKNOWN}}
ANN = Visitor("Ann", "login", frozenset({"kernel-team", "all"}))
OTTO = Visitor("Otto", "login", frozenset({"all"}))
LINK = Visitor("A link", "link", only=HIDDEN.id)
FILES = {"open": "/inbox/open.nsys-rep", "hidden": "/inbox/@kernels/2026/secret.nsys-rep"}


@pytest.fixture(name="catalog")
def make_catalog(catalog: Catalog) -> Catalog:
    fill(catalog)
    for name, report in (("open", OPEN), ("hidden", HIDDEN)):
        catalog.put_job(Job(FILES[name], report.name, "1", "ready", report.id))
        catalog.set_labels(report.id, ["slow"])
        catalog.marks.change(report.id, [Mark(1, "here")])
        catalog.decisions.choose(report.id, "nightly")
        catalog.decisions.write_note(report.id, "step_ns", Note("open", "look"))
    catalog.links.put(OPEN.id, HIDDEN.id)
    catalog.spaces.put("kernels", ["kernel-team"])
    return catalog


def fill(catalog: Catalog) -> Catalog:
    """The same one, with the three reports."""
    for report in (OPEN, HIDDEN, LOST):
        catalog.add_report(report)
    return catalog


def seen(catalog: Catalog) -> set[str]:
    return {report.name.partition(".")[0] for report in catalog.reports()}


@pytest.mark.parametrize(
    ("path", "space"),
    [
        ("/inbox/x.nsys-rep", ""),
        ("/inbox/@a/x.nsys-rep", "a"),
        ("/inbox/@a/b/@c/d/x.nsys-rep", "c"),
        ("/inbox/@/x.nsys-rep", ""),
        ("/inbox/a@b/@x.nsys-rep", ""),
        ("s3://bucket/inbox/@a/x", "a"),
        ("/inbox/@\N{HONEYBEE} team/x", "\N{HONEYBEE} team"),
    ],
)
def test_a_folder_says_the_space(path: str, space: str) -> None:
    assert find_space(path) == space


def test_folders_above_the_inbox_say_nothing(tmp_path: Path) -> None:
    inbox = tmp_path / "@team" / "inbox"
    catalog = open_library(config.load(library=tmp_path / "library", inbox=inbox)).catalog
    for name in ("open", "@kernels/hidden"):
        catalog.put_job(Job(f"{inbox}/{name}.nsys-rep", f"{name}.nsys-rep", "1", "failed"))
    catalog.add_report(HIDDEN)
    catalog.put_job(Job(f"{inbox}/b/same.nsys-rep", "same.nsys-rep", "1", "duplicate", HIDDEN.id))
    assert {job.name for job in catalog.asked_by(OTTO).jobs()} == {"open.nsys-rep", "same.nsys-rep"}
    assert catalog.spaces.spaces_by_report() == {HIDDEN.id: {"", "kernels"}}
    assert find_space(f"{tmp_path}/@team/inbox2/a.nsys-rep", inbox) == "team", "it lies elsewhere"


def test_who_sees_which_reports(catalog: Catalog) -> None:
    for visitor in (LOCAL, WORKER, Visitor("Ada", "login")):
        assert seen(catalog.asked_by(visitor)) == {"open", "secret", "lost"}
    assert seen(catalog.asked_by(ANN)) == {"open", "secret"}
    assert seen(catalog.asked_by(OTTO)) == {"open"}
    assert seen(catalog.asked_by(NOBODY)) == set()
    assert catalog.asked_by(NOBODY).jobs() == []
    assert seen(catalog.asked_by(LINK)) == {"secret"}
    assert seen(catalog.asked_by(OTTO).asked_by(LOCAL)) == {"open", "secret", "lost"}, "a copy of the whole, each time"


def test_a_change_counts_at_once_and_what_is_lost_hides(catalog: Catalog) -> None:
    otto, ann = catalog.asked_by(OTTO), catalog.asked_by(ANN)
    assert (seen(otto), seen(ann)) == ({"open"}, {"open", "secret"})
    catalog.spaces.put("kernels", ["all"])
    assert seen(otto) == {"open", "secret"}
    catalog.spaces.remove("kernels")
    assert seen(otto) == seen(ann) == {"open"}
    assert catalog.spaces.count_reports() == {"": 1, UNKNOWN: 1, "kernels": 1}
    with pytest.raises(AnalysisError, match="no space"):
        catalog.spaces.remove("kernels")


def test_the_same_content_is_in_the_spaces_of_all_its_files(catalog: Catalog) -> None:
    otto = catalog.asked_by(OTTO)
    catalog.put_job(Job("/inbox/@other/copy.nsys-rep", "copy.nsys-rep", "1", "duplicate", HIDDEN.id))
    assert seen(otto) == {"open"}
    catalog.spaces.put("other", ["all"])
    assert seen(otto) == {"open", "secret"}
    assert "copy.nsys-rep" in {job.name for job in otto.jobs()}
    assert "secret.nsys-rep" not in {job.name for job in otto.jobs()}, "a file is in its own space alone"
    catalog.remove_report(HIDDEN.id)
    catalog.add_report(HIDDEN)
    assert seen(otto) == {"open"}, "what is taken in anew is where its file is"
    catalog.put_job(Job("/inbox/copy.nsys-rep", "copy.nsys-rep", "1", "duplicate", HIDDEN.id))
    assert seen(otto) == {"open", "secret"}, "everybody's"


def test_a_catalog_tells_nothing_of_what_is_not_seen(catalog: Catalog) -> None:
    otto = catalog.asked_by(OTTO)
    told = [
        otto.report_ids(), otto.reports(), otto.jobs(), otto.labels(), otto.links.all(), otto.decisions.choices(),
        otto.decisions.notes(), otto.job(FILES["hidden"]), otto.marks.get(OPEN.id), otto.jobs_in("ready"),
        otto.jobs_below("/inbox"), otto.jobs_at(list(FILES.values())), otto.warned_jobs(9),
        otto.jobs_beside(list(FILES.values())), otto.count_jobs("ready"),
        otto.listing.page(), otto.listing.ids(), otto.listing.get([OPEN.id, HIDDEN.id, LOST.id]),
        otto.removals.retired(),
    ]  # fmt: skip
    assert (otto.count_jobs("ready"), catalog.count_jobs("ready", "failed")) == ({"ready": 1}, {"ready": 2})
    assert otto.listing.count() == 1
    assert [job.path for job in otto.jobs_in("ready", "failed", most=1)] == [FILES["open"]]
    assert OPEN.id in str(told)
    assert not any(word in str(told) for word in (HIDDEN.id, HIDDEN.name, "lost"))
    with pytest.raises(NotAllowedError):
        otto.audit.entries()
    assert (otto.spaces.visible_names(), catalog.asked_by(ANN).spaces.visible_names()) == ([], ["kernels"])
    for ask in (
        otto.job_states,
        otto.spaces.count_reports,
        otto.spaces.spaces_by_report,
        lambda: otto.spaces.remove("kernels"),
    ):
        with pytest.raises(NotAllowedError):
            ask()
    with pytest.raises(NotAllowedError):
        otto.spaces.put("kernels", ["all"])


def public_methods(of: type) -> set[str]:
    """Return the names of the methods that a class and its bases offer."""
    return {
        name
        for kind in of.__mro__[:-1]
        for name, method in vars(kind).items()
        if isfunction(method) and not name.startswith("_")
    }


def catalog_calls(catalog: Catalog) -> dict[object, dict[str, list[tuple[Any, ...]]]]:
    """Return, for the catalog and each part of it, the calls that have to be refused, by method."""
    hidden, shown, columns = HIDDEN.id, OPEN.id, Columns("a", "b", "c")
    return {
        catalog: {
            "transaction": [()], "job_states": [()], "add_report": [(HIDDEN,)], "remove_report": [(hidden,)],
            "hand_over": [(hidden, shown), (shown, hidden)], "unlist_report": [(hidden,)],
            "set_labels": [(hidden, [])], "rename": [(hidden, "x")], "dismiss": [(FILES["hidden"],)],
            "forget_job": [(FILES["hidden"],)], "complete_listing": [()], "count_files": [()], "waiting_since": [()],
            "columns": [(FILES["hidden"],)], "name_columns": [(FILES["hidden"], columns)],
        },
        catalog.marks: {"get": [(hidden,)], "change": [(hidden, [Mark(2, "x")])]},
        catalog.links: {"put": [(hidden, shown), (shown, hidden)], "remove": [(hidden,)]},
        catalog.decisions: {"choose": [(hidden, "x")], "write_note": [(hidden, "step_ns", Note("accepted", "x"))]},
        catalog.sharing_links: {"create": [(hidden, 1, 30)]},
        catalog.listing: {"find": [(hidden,), (HIDDEN.name,)], "put_findings": [(hidden, "1", [])]},
        catalog.removals: {"announce": [([], datetime.now(UTC))], "announced": [()], "summary": [(hidden,)]},
    }  # fmt: skip


CATALOG_TELLS = {
    Catalog: {
        "asked_by", "version_of_files", "mend", "damaged_files", "reports", "report_ids", "jobs", "job", "put_job",
        "labels", "jobs_in", "jobs_below", "jobs_at", "jobs_beside", "warned_jobs", "count_jobs",
    },
    Marks: set(),
    ReportLinks: {"all"},
    SeriesDecisions: {"choices", "notes"},
    SharingLinks: {"all", "end", "find"},
    ReportList: {"count", "page", "get", "filter_ids", "kinds", "gpus", "labels", "rules", "labels_of", "unjudged",
        "labels_with_values", "ids"},
    Removals: {"count", "retired"},
}  # fmt: skip
"""Methods that take no id of a report: they tell of visible reports alone, of none, or are the worker's."""


def test_every_operation_of_a_catalog_refuses_a_hidden_report(catalog: Catalog) -> None:
    before = (catalog.jobs(), catalog.labels(), catalog.marks.get(HIDDEN.id), catalog.links.all(), catalog.reports())
    for part, calls in catalog_calls(catalog.asked_by(OTTO)).items():
        assert public_methods(type(part)) == calls.keys() | CATALOG_TELLS[type(part)], type(part)
        for name, arguments in calls.items():
            for values in arguments:
                with pytest.raises((ReportNotFoundError, NotAllowedError)):
                    getattr(part, name)(*values)
    now = (catalog.jobs(), catalog.labels(), catalog.marks.get(HIDDEN.id), catalog.links.all(), catalog.reports())
    assert now == before


def library_calls(library: Library) -> dict[str, list[tuple[Any, ...]]]:
    """Return the calls that have to be refused because they are about a hidden report, by method."""
    hidden, shown = HIDDEN.id, OPEN.id
    database = library.reports / f"{hidden}.v6.duckdb"
    by_id = (
        "require_visible", "path", "manifest_path", "sidecar_paths", "fetch", "is_here", "fetched_bytes",
        "share_prepared", "relist", "delete", "withdraw", "is_intact", "is_safe", "unlink", "linked_report",
        "outdated_database", "find",
    )  # fmt: skip
    calls: dict[str, list[tuple[Any, ...]]] = {name: [(hidden,)] for name in by_id}
    more: dict[str, list[tuple[Any, ...]]] = {
        "require_visible": [(hidden,), (shown, hidden), (None, hidden)],
        "pairs_path": [(hidden, shown), (shown, hidden)],
        "stamp": [
            (database,), (str(database),), (library.derived.answers / hidden / FINDINGS,),
            (library.derived.timelines / f"{hidden}.timeline5.duckdb",),
        ],
        "fetch_file": [(hidden, database), (shown, database)],
        "fetch_in_background": [(hidden, "findings.json")],
        "take_over": [(hidden, database, "{}")],
        "replace": [(hidden, shown), (shown, hidden)],
        "has_sidecar": [(hidden, "meta")],
        "put_sidecar": [(hidden, "meta", "{}")],
        "look_at": [([OPEN.id, hidden],)],
        "link": [(HIDDEN.name, OPEN.name), (hidden, shown)],
        "link_trace": [(hidden, shown, database), (shown, hidden, database)],
        "cursor": [(hidden,), (shown, hidden)],
        "kept_cursor": [(hidden, None, (), "ncu", ""), (shown, hidden, (), "ncu", "")],
        "find": [(hidden,), (hidden[:6],), (HIDDEN.name,)],
    }  # fmt: skip
    return calls | more


FOR_ALL: dict[str, tuple[Any, ...]] = {
    "publish": (Path("x"), OPEN),
    "recover": (),
    "file_times": (),
    "report_bytes": (),
}
"""Methods for visitors who see every report, with arguments."""
NO_REPORT = {
    "asked_by", "with_work_folder", "on_eviction", "use_one_thread", "buffers_bytes", "list", "check_reachable",
    "require_own_database",
}  # fmt: skip
"""Methods that take no id of a report; ``list`` tells of visible reports alone."""


def test_every_operation_of_a_library_refuses_a_hidden_report(tmp_path: Path, catalog: Catalog) -> None:
    whole = Library(tmp_path, catalog)
    whole.put_sidecar(HIDDEN.id, "meta", "{}")
    library = whole.asked_by(OTTO)
    calls = library_calls(library)
    assert public_methods(Library) == calls.keys() | FOR_ALL.keys() | NO_REPORT
    for name, arguments in calls.items():
        for values in arguments:
            with pytest.raises(ReportNotFoundError):
                getattr(library, name)(*values)
    for name, values in FOR_ALL.items():
        with pytest.raises(NotAllowedError):
            getattr(library, name)(*values)
    assert [report.id for report in library.list()] == [OPEN.id]
    assert whole.has_sidecar(HIDDEN.id, "meta")
    assert HIDDEN.id in whole.catalog.report_ids()


def test_nothing_but_a_library_uses_its_storage() -> None:
    """A storage checks no permission."""
    files = [path for folder in ("app", "ingest", "profiledb", "warpdeck") for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text("utf-8") for path in files if not path.is_relative_to(ROOT / "profiledb" / "library")}
    assert len(texts) > 100
    used = [
        path
        for path, text in texts.items()
        if re.search(r"\.\s*(storage|store)\b", text)  # most files need not be parsed
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in ("storage", "store") and "library" in ast.dump(node.value)
    ]
    assert used == []


NO_SPACES: tuple[tuple[str, list[str]], ...] = (
    *[(name, []) for name in ("", "@a", "a/b", "../a", "x" * 65, UNKNOWN)],
    *[("a", ["*"]), ("a", ["x" * 201])],
)


def test_what_is_no_space(catalog: Catalog) -> None:
    for name, groups in NO_SPACES:
        with pytest.raises(AnalysisError):
            catalog.spaces.put(name, groups)
        assert list(catalog.spaces.groups_by_space()) == ["kernels"], name


def test_spaces_stand_in_the_audit(catalog: Catalog) -> None:
    catalog.spaces.put("a", [" x  y ", "x y", ""])
    catalog.spaces.put("a", [])
    catalog.spaces.remove("a")
    assert [(entry.action, entry.about) for entry in catalog.audit.entries(most=3)] == [
        ("removed space", "a"), ("changed space", "a: nobody"), ("made space", "a: x y"),
    ]  # fmt: skip


def test_tables_that_were_lost_do_not_open_a_space(tmp_path: Path) -> None:
    catalog = fill(Catalog(tmp_path / "catalog.sqlite"))
    with catalog.transaction() as db:
        db.execute("UPDATE report SET manifest = 'x' WHERE id = ?", [LOST.id])
        db.execute("DROP TABLE report_space")
    assert Catalog(tmp_path / "catalog.sqlite").spaces.spaces_by_report() == PLACES


def test_a_database_that_goes_back_and_comes_again_keeps_its_spaces(postgres: Server) -> None:
    url = postgres.create()
    fill(Catalog(Postgres(url)))
    with psycopg.connect(url) as db:
        older = OPEN.to_json().replace('"space": ""', r'"command": "\ud800"')
        db.execute("UPDATE report SET manifest = %s WHERE id = %s", [older, OPEN.id])
    migrations.move(url, "0004")
    migrations.move(url)
    catalog = Catalog(Postgres(url))
    assert (catalog.spaces.spaces_by_report(), catalog.spaces.groups_by_space()) == (PLACES, {})
    catalog.spaces.put("kernels", ["kernel-team"])
    assert (seen(catalog.asked_by(OTTO)), seen(catalog.asked_by(ANN))) == ({"open"}, {"open", "secret"})
