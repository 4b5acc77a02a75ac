"""Derived files go with their report, and those of earlier versions are removed."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.query import answer_store
from profiledb.report.derived_files import SUMMARIES, DerivedFiles
from profiledb.rules import classes
from profiledb.studies.trends.summary_store import Summaries
from profiledb.timeline.store import Timelines
from tests.support.memory_reports import fill
from tests.support.page_reports import Publish, kernel


def prepared(library: Library, publish: Publish) -> str:
    report_id = publish(lambda db: fill(db, kernel=[kernel(0, 1, 0, 10)]))
    answer_store.run(library, report_id, "kernels")
    Timelines(library, classes.load(None)).wait(report_id)
    return report_id


def test_what_is_worked_out_goes_with_its_report(library: Library, publish: Publish) -> None:
    first, second = prepared(library, publish), prepared(library, publish)
    files = {one: library.derived.of(one) for one in (first, second)}
    for one in (first, second):
        assert {path.suffix for path in files[one]} == {".answer", ".duckdb"}
        assert library.derived.sizes()[one] == sum(
            path.stat().st_size for path in files[one] if path.suffix == ".duckdb"
        )
        assert library.report_bytes()[one] >= library.path(one).stat().st_size + library.derived.sizes()[one]
    library.delete(first)
    assert not library.derived.of(first)
    assert library.derived.of(second) == files[second]


def test_a_worker_removes_what_belongs_to_no_report(library: Library, publish: Publish) -> None:
    report_id = prepared(library, publish)
    kept = library.derived.of(report_id)
    gone = "f" * 16
    for path in (library.derived.answers / gone / "a.answer", library.derived.timelines / f"{gone}.timeline5.duckdb"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    library.recover()
    assert not library.derived.of(gone)
    assert library.derived.of(report_id) == kept


@pytest.mark.slow("prepares a timeline twice")
def test_a_library_of_an_earlier_version_loses_derived_files_alone(library: Library, publish: Publish) -> None:
    report_id = prepared(library, publish)
    rows = answer_store.run(library, report_id, "kernels")
    Summaries(library.folder).make()
    _as_before(library, report_id)
    library.put_sidecar(report_id, "meta", "{}")
    before = {path.name for path in library.reports.iterdir() if ".timeline" not in path.name}
    library.recover()
    assert {path.name for path in library.reports.iterdir()} == before
    assert not list(library.folder.glob("summaries.sqlite*"))
    assert not (library.folder / "answers").exists()
    assert [one.id for one in library.list()] == [report_id]
    assert answer_store.run(library, report_id, "kernels").equals(rows)
    assert Timelines(library, classes.load(None)).wait(report_id).end_ns


def _as_before(library: Library, report_id: str) -> None:
    """Lay the derived files where version 0.1.0 had them."""
    for path in library.derived.timelines.iterdir():
        path.replace(library.reports / path.name)
    library.derived.answers.replace(library.folder / "answers")
    (library.folder / "answers" / report_id / "findings.json").touch()
    (library.folder / SUMMARIES).replace(library.folder / "summaries.sqlite")
    (library.folder / "summaries.sqlite-wal").touch()


def test_only_files_of_reports_are_derived_ones(tmp_path: Path) -> None:
    derived, report_id = DerivedFiles(tmp_path), "0" * 16
    for name in ("findings.json", f"{report_id}.timeline5.duckdb"):
        path = derived.place(report_id, name)
        assert path
        assert derived.report_of(path) == report_id
        assert derived.report_of(str(path)) == report_id
    for name in (f"{report_id}.v6.duckdb", f"{report_id}.meta.json", f"{report_id}.{report_id}.pairs.parquet"):
        assert derived.place(report_id, name) is None
        assert derived.report_of(tmp_path / "reports" / name) is None
