"""Spaces: of a report that they do not see, a visitor's library and catalog know nothing."""

from dataclasses import replace
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import psycopg
import pytest

from profiledb import config
from profiledb.errors import AnalysisError, NotAllowedError, ReportNotFoundError
from profiledb.library import migrations
from profiledb.library.access_check import OF_REPORTS
from profiledb.library.bucket.bucket_library import StoredLibrary
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.marks import Mark
from profiledb.library.postgres import Postgres
from profiledb.library.series_decisions import Note
from profiledb.library.spaces import UNKNOWN, space_of
from profiledb.library.visitor import LOCAL, NOBODY, WORKER, Visitor
from profiledb.report.sidecar import Columns
from tests.support.postgres import Server

MADE = "2026-01-01T00:00:00+00:00"
OPEN = Manifest("a" * 16, 6, "open.nsys-rep", "nsys", "a" * 64, 1, ingested_at=MADE)
HIDDEN = replace(OPEN, id="b" * 16, name="secret.nsys-rep", space="kernels")
LOST = replace(OPEN, id="c" * 16, name="lost.nsys-rep", space=UNKNOWN)
PLACES = {OPEN.id: {""}, HIDDEN.id: {"kernels"}, LOST.id: {UNKNOWN}}
ANN = Visitor("Ann", "login", frozenset({"kernel-team", "all"}))
OTTO = Visitor("Otto", "login", frozenset({"all"}))
LINK = Visitor("A link", "link", only=HIDDEN.id)
FILES = {"open": "/inbox/open.nsys-rep", "hidden": "/inbox/@kernels/2026/secret.nsys-rep"}
PLAIN = {"self", "visitor", "name", "path", "kind", "text", "pairs", "to", "views", "joins", "database", "manifest"} | {
    "nsys", "ncu", "number",
}  # fmt: skip
"""Parameters of a library that take no id, or a name that ``find`` looks up."""


@pytest.fixture(name="catalog")
def make_catalog(catalog: Catalog) -> Catalog:
    fill(catalog)
    for name, report in (("open", OPEN), ("hidden", HIDDEN)):
        catalog.put_job(Job(FILES[name], report.name, "1", "ready", report.id))
        catalog.set_labels(report.id, ["slow"])
        catalog.marks.change(report.id, [Mark(1, "here")])
        catalog.decided.choose(report.id, "nightly")
        catalog.decided.say(report.id, "step_ns", Note("open", "look"))
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
    assert space_of(path) == space


def test_folders_above_the_inbox_say_nothing(tmp_path: Path) -> None:
    inbox = tmp_path / "@team" / "inbox"
    catalog = open_library(config.load(library=tmp_path / "library", inbox=inbox)).catalog
    for name in ("open", "@kernels/hidden"):
        catalog.put_job(Job(f"{inbox}/{name}.nsys-rep", f"{name}.nsys-rep", "1", "failed"))
    catalog.add_report(HIDDEN)
    catalog.put_job(Job(f"{inbox}/b/same.nsys-rep", "same.nsys-rep", "1", "duplicate", HIDDEN.id))
    assert {job.name for job in catalog.asked_by(OTTO).jobs()} == {"open.nsys-rep", "same.nsys-rep"}
    assert catalog.spaces.of() == {HIDDEN.id: {"", "kernels"}}
    assert space_of(f"{tmp_path}/@team/inbox2/a.nsys-rep", inbox) == "team", "it lies elsewhere"


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
    assert catalog.spaces.counts() == {"": 1, UNKNOWN: 1, "kernels": 1}
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
        otto.report_ids(), otto.reports(), otto.jobs(), otto.labels(), otto.links.all(), otto.decided.choices(),
        otto.decided.notes(), otto.job(FILES["hidden"]), otto.marks.of(OPEN.id),
    ]  # fmt: skip
    assert OPEN.id in str(told)
    assert not any(word in str(told) for word in (HIDDEN.id, HIDDEN.name, "lost"))
    with pytest.raises(NotAllowedError):
        otto.audit.entries()
    assert (otto.spaces.seen(), catalog.asked_by(ANN).spaces.seen()) == ([], ["kernels"])
    for ask in (otto.job_states, otto.spaces.counts, otto.spaces.of, lambda: otto.spaces.remove("kernels")):
        with pytest.raises(NotAllowedError):
            ask()
    with pytest.raises(NotAllowedError):
        otto.spaces.put("kernels", ["all"])


def test_a_catalog_changes_nothing_of_what_is_not_seen(catalog: Catalog) -> None:
    otto, columns = catalog.asked_by(OTTO), Columns("a", "b", "c")
    before = (catalog.jobs(), catalog.labels(), catalog.marks.of(HIDDEN.id), catalog.links.all())
    asked: list[tuple[Any, ...]] = [
        (otto.marks.of, HIDDEN.id), (otto.marks.change, HIDDEN.id, [Mark(2, "x")]), (otto.set_labels, HIDDEN.id, []),
        (otto.remove_report, HIDDEN.id), (otto.links.put, HIDDEN.id, OPEN.id), (otto.links.put, OPEN.id, HIDDEN.id),
        (otto.links.remove, HIDDEN.id), (otto.decided.choose, HIDDEN.id, "x"),
        (otto.decided.say, HIDDEN.id, "step_ns", Note("accepted", "x")), (otto.forget_job, FILES["hidden"]),
        (otto.dismiss, FILES["hidden"]), (otto.name_columns, FILES["hidden"], columns),
        (otto.columns, FILES["hidden"]),
    ]  # fmt: skip
    for ask, *values in asked:
        with pytest.raises((ReportNotFoundError, NotAllowedError)):
            ask(*values)
    assert (catalog.jobs(), catalog.labels(), catalog.marks.of(HIDDEN.id), catalog.links.all()) == before


@pytest.mark.parametrize("kind", [Library, StoredLibrary])
def test_every_method_of_a_library_looks_first(tmp_path: Path, catalog: Catalog, kind: type[Library]) -> None:
    library = Library(tmp_path, catalog).asked_by(OTTO)
    methods = {
        name: method
        for of in kind.__mro__
        for name, method in vars(of).items()
        if isfunction(method) and not name.startswith("_")
    }
    unknown = {one for method in methods.values() for one in signature(method).parameters} - OF_REPORTS - PLAIN
    assert not unknown, "parameters of which nobody has said whether they take the id of a report"
    looked = 0
    for method in methods.values():
        for at in OF_REPORTS & set(signature(method).parameters):
            given: dict[str, Any] = dict.fromkeys(set(signature(method).parameters) - {"self"}, OPEN.id)
            with pytest.raises(ReportNotFoundError, match=HIDDEN.id):
                method(library, **(given | {at: HIDDEN.id}))
            looked += 1
        if list(signature(method).parameters)[1:2] == ["report_id"]:
            with pytest.raises(ReportNotFoundError, match=HIDDEN.id):
                method(library, HIDDEN.id)
    assert looked > 20
    with pytest.raises(ReportNotFoundError):
        library.find(HIDDEN.id[:6])


@pytest.mark.parametrize(
    ("name", "groups"),
    [("", []), ("@a", []), ("a/b", []), ("../a", []), ("x" * 65, []), (UNKNOWN, []), ("a", ["*"]), ("a", ["x" * 201])],
)
def test_what_is_no_space(catalog: Catalog, name: str, groups: list[str]) -> None:
    with pytest.raises(AnalysisError):
        catalog.spaces.put(name, groups)
    assert list(catalog.spaces.made()) == ["kernels"]


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
    assert Catalog(tmp_path / "catalog.sqlite").spaces.of() == PLACES


def test_a_database_that_goes_back_and_comes_again_keeps_its_spaces(postgres: Server) -> None:
    url = postgres.create()
    fill(Catalog(Postgres(url)))
    with psycopg.connect(url) as db:
        older = OPEN.to_json().replace('"space": ""', r'"command": "\ud800"')
        db.execute("UPDATE report SET manifest = %s WHERE id = %s", [older, OPEN.id])
    migrations.move(url, "0004")
    migrations.move(url)
    catalog = Catalog(Postgres(url))
    assert (catalog.spaces.of(), catalog.spaces.made()) == (PLACES, {})
    catalog.spaces.put("kernels", ["kernel-team"])
    assert (seen(catalog.asked_by(OTTO)), seen(catalog.asked_by(ANN))) == ({"open"}, {"open", "secret"})
