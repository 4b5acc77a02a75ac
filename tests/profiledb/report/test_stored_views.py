"""Stored views: a process that finds the file creates no views, and gives the same answers."""

import shutil
from pathlib import Path

import pytest

from profiledb.console import question_process
from profiledb.library.library import Library
from profiledb.query import analysis, views
from profiledb.report import stored_views
from profiledb.studies import prefetch
from tests.support import question_report
from tests.support.every_report import slow_but

ASKED = ("idle_gaps", "idle_reasons", "gpu_busy", "kernel_verdicts")
NAME = "transformer_training.nsys-rep"


@pytest.fixture(scope="module")
def made(nsys_samples: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library with one report and the file of views; each test has a copy."""
    folder = tmp_path_factory.mktemp("stored")
    report = nsys_samples.find(NAME)
    (folder / "reports").mkdir()
    for path in nsys_samples.reports.glob(f"{report.id}.*"):
        shutil.copy(path, folder / "reports")
    library = Library(folder)
    library.relist(report.id)
    prefetch.store_views(library, report.id)
    return folder


@pytest.fixture
def stored(made: Path, tmp_path: Path) -> Library:
    """A library of its own with one report and the file of views."""
    return Library(shutil.copytree(made, tmp_path / "stored"))


def file_of(library: Library) -> Path:
    (file,) = library.derived.views.iterdir()
    return file


def test_a_later_process_creates_no_view_and_answers_the_same(stored: Library, nsys_samples: Library) -> None:
    report_id = stored.find(NAME).id
    for name in ASKED:
        for selection in ({}, {"warmup": "exclude"}):
            found = analysis.run(stored, report_id, name, selection)
            assert found.equals(analysis.run(nsys_samples, report_id, name, selection)), name
    with stored.cursor(report_id, views=views.list_all()) as cursor:
        created = "SELECT DISTINCT database_name FROM duckdb_views() WHERE view_name = 'capture_window'"
        assert cursor.execute(created).fetchall() == [(stored_views.CATALOG,)]


def test_a_damaged_file_is_no_loss(stored: Library) -> None:
    file_of(stored).write_bytes(b"no database" * 1000)
    library = Library(stored.folder)
    assert len(analysis.run(library, library.find(NAME).id, "gpu_busy"))


@pytest.mark.parametrize("damaged", slow_but([False], [False, True], "starts three processes"))
def test_a_question_in_sql_reads_them(stored: Library, nsys_samples: Library, damaged: bool) -> None:
    """And creates them itself without the file, or with a damaged one."""
    sql = "SELECT reason, sum(ns) AS ns FROM selected_idle(2000, NULL) GROUP BY reason ORDER BY reason"
    if damaged:
        file_of(stored).write_bytes(b"no database" * 1000)
    told = [
        question_process.ask(one, one.find(NAME).id, sql, question_report.limits()).rows.to_pylist()
        for one in (stored, nsys_samples)
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 2
    where = "SELECT DISTINCT database_name FROM duckdb_views() WHERE view_name = 'capture_window'"
    rows = question_process.ask(stored, stored.find(NAME).id, where, question_report.limits()).rows
    assert rows.to_pylist() == [{"database_name": "memory" if damaged else stored_views.CATALOG}]


def test_files_of_other_versions_are_removed(stored: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file_of(stored)
    with monkeypatch.context() as patch:
        patch.setattr(stored_views, "_compute_version", lambda: "another")
        prefetch.store_views(stored, stored.find(NAME).id)
        assert file_of(stored).name == "another.duckdb"
    assert not before.exists()


def test_a_report_that_is_not_there_makes_no_file(empty_library: Library) -> None:
    prefetch.store_views(empty_library, "aaaa000000000001")
    assert not empty_library.derived.views.exists() or not list(empty_library.derived.views.iterdir())
