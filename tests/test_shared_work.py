"""Tests that share expensive work still get exactly their own files, settings and reports."""

import gc
import re
from pathlib import Path

import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import Ingest, Ingested
from tests.support import connection_pool, conversion_cache, page_reports
from tests.support.dropped_files import made


def test_the_same_files_are_taken_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(conversion_cache.VARIABLE, str(tmp_path))
    filled: list[str] = []

    def fill(groups: dict[Path, list[Path]]) -> None:
        for folder, files in groups.items():
            (folder / "made").write_text(files[0].read_text())
            filled.append(files[0].read_text())

    def ask(*names: str) -> list[str]:
        with conversion_cache.folders([[tmp_path / name] for name in names], fill) as folders:
            return [(folder / "made").read_text() for folder in folders]

    for name, text in (("a.csv", "1"), ("b.csv", "2")):
        (tmp_path / name).write_text(text)
    assert ask("a.csv") == ["1"]
    assert ask("b.csv", "a.csv") == ["2", "1"], "in the order that they were asked for"
    assert filled == ["1", "2"]
    (tmp_path / "a.csv").write_text("3")
    assert ask("a.csv") == ["3"], "another content"
    monkeypatch.setenv("WARPDECK_NSYS", "off")
    assert ask("a.csv") == ["3"]
    assert filled == ["1", "2", "3", "3"], "another setting"


def test_a_folder_that_was_not_finished_is_filled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(conversion_cache.VARIABLE, str(tmp_path))
    (tmp_path / "a.csv").write_text("1")

    def stop(groups: dict[Path, list[Path]]) -> None:
        (next(iter(groups)) / "half").touch()
        raise InterruptedError

    with pytest.raises(InterruptedError), conversion_cache.folders([[tmp_path / "a.csv"]], stop):
        pass
    with conversion_cache.folders([[tmp_path / "a.csv"]], lambda _: None) as (folder,):
        assert list(folder.iterdir()) == []


@pytest.mark.slow("starts a worker of its own")
def test_a_worker_that_waits_does_what_one_that_starts_does(tmp_path: Path, ingest: Ingest) -> None:
    told: list[tuple[int, list[str], str]] = []
    for number, environment in enumerate(({}, {}, {"LC_ALL": "C.UTF-8"})):  # with a variable a worker starts
        inbox, library = tmp_path / f"inbox{number}", Library(tmp_path / f"library{number}")
        inbox.mkdir()
        made(inbox / "good.sqlite")
        (inbox / "bad.nsys-rep").write_bytes(b"no report")
        done: Ingested = ingest(inbox, library.folder, "--strict", **environment)
        told.append((done.status, sorted(re.sub(r"[\d.]+ s$", "", line) for line in done.lines), done.errors))
        assert [report.name for report in library.list()] == ["good.sqlite"]
        assert 0.05 < done.cpu_s < 60
    assert told[0] == told[1] == told[2]
    assert told[0][0] == 1, "a file failed"


def test_a_library_takes_over_the_connection_of_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()  # libraries of other tests
    monkeypatch.setattr(connection_pool, "_free", [])

    def one_kernel(number: int) -> Library:
        """A library of a report of one kernel, which has been asked."""
        library, path = Library(tmp_path / str(number)), tmp_path / f"{number}.duckdb"
        with store.create(path, ready=page_reports.empty()) as db:
            page_reports.insert(db, "kernel_name", [page_reports.name(1, "k")])
            page_reports.insert(db, "kernel", [page_reports.kernel(1, 1, 0, number)])
        library.publish(path, Manifest("a" * 16, SCHEMA_VERSION, "a.rep", "nsys", "a", 1))
        assert list(analysis.run(library, "a" * 16, "kernels")["total_ns"]) == [number]
        return library

    first = one_kernel(1)
    connection = first._attached._small._db
    del first
    gc.collect()
    assert [db for db, *_ in connection_pool._free] == [connection]
    second = one_kernel(2)
    assert second._attached._small._db is connection
    second._attached.reconnect()
    assert one_kernel(3)._attached._small._db is not connection, "it was given up"
    gc.collect()
    dirty = one_kernel(4)
    used = dirty._attached._small._db
    assert used is not None
    used.execute("CREATE TABLE memory.left_behind (a INTEGER)")
    del dirty
    gc.collect()
    assert used not in [db for db, *_ in connection_pool._free]
