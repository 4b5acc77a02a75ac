"""The library: names, publishing, deleting, labels, concurrent readers."""

import tempfile
import threading
from functools import cache
from pathlib import Path

import duckdb
import pytest

from profiledb.access.cli import main as cli
from profiledb.errors import AnalysisError, NotCapturedError, ReportNotFoundError
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import attachments, store
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.page_reports import empty


@cache
def _fill(durations: tuple[int, ...]) -> bytes:
    """Return a report file of kernels with these durations, which takes longer to write than to publish."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "filled.duckdb"
        with store.create(path, ready=empty()) as db:
            db.execute("INSERT INTO report (kind) VALUES ('nsys')")
            db.execute("INSERT INTO kernel_name VALUES (1, 'k<int>', 'k', '_Zk', 'other')")
            for end in durations:
                db.execute("INSERT INTO kernel (start_ns, end_ns, device_id, name_id) VALUES (0, ?, 0, 1)", [end])
        return path.read_bytes()


def publish(target: Library, report_id: str, name: str = "a.sqlite", durations: tuple[int, ...] = (10,)) -> Manifest:
    """A report of kernels with these durations, without any conversion."""
    target.work.mkdir(exist_ok=True)
    path = target.work / f"{report_id}.duckdb"
    path.write_bytes(_fill(durations))
    manifest = Manifest(
        report_id,
        SCHEMA_VERSION,
        name,
        "nsys",
        report_id * 4,
        1,
        ingested_at=f"2026-01-01T00:00:{len(target.list()):02}",
    )
    target.publish(path, manifest)
    return manifest


def test_find_by_id_prefix_and_name(empty_library: Library) -> None:
    publish(empty_library, "aaaa000000000001", "one.nsys-rep")
    publish(empty_library, "aaaa000000000002", "two.nsys-rep")
    newest = publish(empty_library, "bbbb000000000003", "one.nsys-rep")
    assert empty_library.find("aaaa000000000001").name == "one.nsys-rep"
    assert empty_library.find("b").id == newest.id
    assert empty_library.find("two.nsys-rep").id == "aaaa000000000002"
    with pytest.raises(ReportNotFoundError, match="the start of 2 report ids"):
        empty_library.find("aaaa")
    for unknown in ("zzz", ""):
        with pytest.raises(ReportNotFoundError, match="No report is called"):
            empty_library.find(unknown)


def test_a_name_that_two_reports_have_is_refused(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ("aaaa000000000001", "bbbb000000000002")
    for one in ids:
        publish(empty_library, one, "one.nsys-rep")
    for argv in (
        ("compare", "one.nsys-rep", "one.nsys-rep"),
        ("run", "kernels", "one.nsys-rep"),
        ("summary", "one.nsys-rep"),
        ("export_stats", "one.nsys-rep", str(empty_library.folder / "stats")),
        ("export_speedscope", "one.nsys-rep"),
        ("link", "one.nsys-rep", ids[0]),
        ("features", "one.nsys-rep"),
        ("crossover", "one.nsys-rep"),
        ("scaling", "one.nsys-rep", ids[0]),
    ):
        status = cli.main([*argv, "--library", str(empty_library.folder)])
        printed = capsys.readouterr()
        assert (status, printed.out) == (2 if argv[0] == "compare" else 1, ""), argv
        assert printed.err.startswith("2 reports are called 'one.nsys-rep': "), argv
        assert all(f"{one} (taken in 2026-01-01 00:00 UTC)" in printed.err for one in ids)
        assert printed.err.endswith("Name one by its id.\n")
    assert cli.main(["compare", *ids, "--library", str(empty_library.folder)]) == 0


def test_delete_removes_files_and_labels(empty_library: Library) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    empty_library.catalog.set_labels(manifest.id, ["b", " a ", "b", ""])
    assert empty_library.catalog.labels() == {manifest.id: ["a", "b"]}
    analysis.run(empty_library, manifest.id, "class_split")
    assert empty_library.catalog.rename(manifest.id, "  Base  line ") == "Base line"
    assert [one.shown_name for one in empty_library.list()] == ["Base line"]
    empty_library.delete(manifest.id)
    assert empty_library.list() == []
    assert list(empty_library.reports.iterdir()) == []
    assert empty_library.catalog.labels() == {}
    with pytest.raises(ReportNotFoundError, match="no longer"):
        analysis.run(empty_library, manifest.id, "class_split")


@pytest.mark.slow("12 million rows on the disk")
def test_queries_that_spill_survive_each_other_and_a_worker_that_starts(
    empty_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    manifest = publish(empty_library, "aaaa000000000001")
    other = Library(empty_library.folder)  # of another process
    spilling = "CREATE TEMP TABLE much AS SELECT range AS a, hash(range) AS b FROM range(4000000)"
    with empty_library.cursor(manifest.id) as one, other.cursor(manifest.id) as two:
        for cursor in (one, two):
            cursor.execute("SET memory_limit = '40MB'; SET threads = 2")
            cursor.execute(spilling)
        Library(empty_library.folder).recover()
        two.execute(spilling.replace("much", "more"))
        assert len(list(tmp_path.glob("warpdeck-*"))) == 2
        for cursor, table in ((one, "much"), (two, "much"), (two, "more")):
            assert cursor.execute(f"SELECT count(*) FROM {table} WHERE b = hash(a)").fetchone() == (4000000,)
    del one, two, cursor, other
    empty_library._attached.reconnect()
    assert not list(tmp_path.glob("warpdeck-*")), "removed when the connections close"


def test_recover_lists_what_was_published_and_forgets_what_is_gone(empty_library: Library) -> None:
    kept, gone = publish(empty_library, "aaaa000000000001"), publish(empty_library, "aaaa000000000002")
    empty_library.path(gone.id).unlink()
    (empty_library.work / "half.duckdb").write_bytes(b"half")
    (empty_library.folder / "catalog.sqlite").unlink()
    again = Library(empty_library.folder)
    again.recover()
    assert [m.id for m in again.list()] == [kept.id]
    assert not again.work.exists()


def test_many_threads_get_the_rows_of_their_own_report(empty_library: Library) -> None:
    durations = {f"{n:016x}": n for n in range(1, 9)}
    for report_id, duration in durations.items():
        publish(empty_library, report_id, durations=(duration,) * duration)
    wrong: list[str] = []

    def read(report_id: str, duration: int) -> None:
        for _ in range(8):
            row = analysis.run(empty_library, report_id, "cuda_gpu_kern_sum").iloc[0]
            if (row["Total Time (ns)"], row["Instances"]) != (duration * duration, duration):
                wrong.append(report_id)

    threads = [threading.Thread(target=read, args=item) for item in durations.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_a_process_keeps_of_reports_is_bounded(empty_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "OPEN_REPORTS", 2)
    monkeypatch.setattr(attachments, "KEPT_CURSORS", 1)
    monkeypatch.setattr("profiledb.library.library._REMEMBERED_STATES", 3)
    for n in range(1, 6):
        publish(empty_library, f"{n:016x}", durations=(n,))
    for _ in range(2):
        for n in range(1, 6):
            assert analysis.run(empty_library, f"{n:016x}", "class_split")["total_ns"][0] == n
    assert len(empty_library._attached._small._kept_cursors) == 1
    assert 0 < len(empty_library._intact) <= 3
    with empty_library.cursor("0000000000000001") as cursor:
        assert cursor.execute("SELECT count(*) FROM duckdb_databases() WHERE database_name LIKE 'r_%'").fetchone() == (
            2,
        )


def test_a_reader_keeps_its_report_while_others_come_and_go(
    empty_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "OPEN_REPORTS", 1)
    publish(empty_library, "0000000000000001", durations=(1,))
    publish(empty_library, "0000000000000002", durations=(2,))
    with empty_library.cursor("0000000000000001") as cursor:
        analysis.run(empty_library, "0000000000000002", "class_split")
        assert cursor.execute("SELECT end_ns FROM kernel").fetchall() == [(1,)]


def test_reports_cannot_be_written(empty_library: Library) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    with pytest.raises(AnalysisError) as caught:
        analysis.query(empty_library, manifest.id, "DELETE FROM kernel")
    assert "read-only" in caught.value.detail


def test_missing_data_is_an_answer_with_the_command_that_captures_it(empty_library: Library) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    with pytest.raises(NotCapturedError, match="No NVTX ranges in this report") as caught:
        analysis.run(empty_library, manifest.id, "nvtx_sum")
    assert "warpdeck profile -- PROGRAM" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("no_such", {}, "No analysis is called"),
        ("class_split", {"x": "1"}, "has no parameter 'x'"),
        ("cuda_gpu_kern_sum", {"by": "color"}, "cannot be 'color'"),
    ],
)
def test_wrong_questions(empty_library: Library, name: str, params: dict[str, str], message: str) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    with pytest.raises(AnalysisError, match=message) as caught:
        analysis.run(empty_library, manifest.id, name, params)
    assert caught.value.hint


def test_catalog_is_shared_by_connections(tmp_path: Path) -> None:
    one, other = Catalog(tmp_path / "c.sqlite"), Catalog(tmp_path / "c.sqlite")
    before = other.version()
    one.put_job(Job("/x/a", "a", "1", "failed", message="bad"))
    assert other.version() != before
    assert [(job.path, job.state) for job in other.jobs()] == [("/x/a", "failed")]
    one.forget_job("/x/a")
    assert other.jobs() == []


def test_manifest_survives_fields_of_the_future() -> None:
    manifest = Manifest("a" * 16, 1, "n", "nsys", "b" * 64, 5, rows={"kernel": 3})
    text = manifest.to_json().replace('"id"', '"invented_later": 1, "id"')
    assert Manifest.from_json(text) == manifest


def test_a_broken_connection_is_replaced(every_report: Library) -> None:
    """An error inside DuckDB invalidates the database it happened in; the next query must not suffer from it."""
    report = every_report.find("transformer_training.nsys-rep").id
    library = Library(every_report.folder)
    broken = duckdb.InternalException("INTERNAL Error")
    with pytest.raises(duckdb.InternalException), library.cursor(report):
        raise broken
    with library.cursor(report) as cursor:
        assert cursor.execute("SELECT count(*) > 0 FROM kernel").fetchone() == (True,)


def test_recovery_leaves_the_work_of_other_workers(tmp_path: Path) -> None:
    """Two workers of a team share a library; the second one starts while the first one converts a file."""
    library = Library(tmp_path)
    first, second = (library.with_work_folder(name) for name in ("first", "second"))
    for worker in (first, second):
        worker.work.mkdir(parents=True)
        (worker.work / "report.duckdb").write_bytes(b"being written")
    second.recover()
    assert (first.work / "report.duckdb").exists()
    assert not second.work.exists()
    assert library.work == tmp_path / "work"
