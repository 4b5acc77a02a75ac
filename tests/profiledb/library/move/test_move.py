"""A folder library moves to a team and is copied back, with a real PostgreSQL and a real S3 server."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from profiledb import config
from profiledb.access.cli import main as cli
from profiledb.access.cli import move as command
from profiledb.access.operations.tokens import SharedTokens, Tokens
from profiledb.console.saved_questions import open_questions
from profiledb.errors import ConfigError, DamagedError, WarpdeckError
from profiledb.library.catalog import FILE, Job
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.marks import Mark
from profiledb.library.move import rows, snapshot
from profiledb.library.move.backup import backup
from profiledb.library.move.move import move
from profiledb.library.series_decisions import Note
from profiledb.library.worker_lock import LOCK
from profiledb.query import analysis, header
from profiledb.report.sidecar import Columns
from tests.conftest import ROOT, SAMPLES, ingest_files, wait_until
from tests.profiledb.library.test_library import publish
from tests.support.bucket_library import store_of
from tests.support.every_report import slow_but
from tests.support.postgres import Server
from tests.support.s3 import BOTH, S3

NAME = "streams_serial"
"""A sample with sidecars, whose answers are compared."""
OTHERS = ("aaaa000000000001", "bbbb000000000002", "cccc000000000003")
FEW = ("cuda_gpu_kern_sum", "cuda_api_sum", "energy_ranges")
DERIVED = {"summary", "summary_change", "measure", "rank", "detected", "series_member", "series_line", "series_state"}
OF_ITSELF = {"library", "revision", "worker", "stored_file", "alembic_version"}
Team = Callable[[], Library]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder library with a real report, three small ones, and all that people say of reports. It is only read."""
    source = tmp_path_factory.mktemp("source")
    ingest_files(source, SAMPLES.glob(f"{NAME}.*"))
    library = Library(source / "library")
    (sample,) = library.list()
    for number, report_id in enumerate(OTHERS):
        publish(library, report_id, f"{number}'\n\N{SNOWMAN}.nsys-rep", (10, number + 1))
    library.put_sidecar(OTHERS[0], "meta", '{"workload": "moved"}')
    catalog = library.catalog
    catalog.set_labels(sample.id, ["baseline", "ünusual %s ? :x"])
    catalog.marks.change(sample.id, [Mark(-5, "before"), Mark(2**40, "later")])
    catalog.links.put(sample.id, OTHERS[1])
    catalog.links.put(OTHERS[2], OTHERS[0], "trace")
    catalog.decisions.choose(OTHERS[0], "nightly")
    catalog.decisions.write_note(OTHERS[0], "step", Note("accepted", "a new driver"))
    catalog.name_columns("/inbox/x.csv", Columns("label", "seconds", "s", ""))
    catalog.put_job(Job("/inbox/gone.nsys-rep", "gone.nsys-rep", "1:2", "deleted", seconds=0.5))
    open_questions(library).keep("slowest", "SELECT 1 -- 'x'")
    Tokens(library.folder).new("nightly", "editor")
    return library.folder


@pytest.fixture
def team(postgres: Server, s3: S3, tmp_path: Path) -> Team:
    """Opens a new team: an empty database, an empty place in a bucket, and a folder for copies."""
    count = iter(range(100))

    def new() -> Library:
        data = tmp_path / f"machine{next(count)}"
        return open_library(config.load(library=s3.url(), database=postgres.create(), data=data))

    return new


def said(library: Library, tmp_path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the catalog and of the files that a snapshot takes along."""
    path = tmp_path / "said.sqlite"
    snapshot.take_snapshot(library.catalog, library.folder, path)
    found = {table: sorted(snapshot.read_rows(path, table), key=repr) for table in snapshot.list_table_columns()}
    found["audit"] = [row[1:] for row in snapshot.read_rows(path, "audit")]  # in order, whatever the numbers
    del found["stored_file"]
    return found


def answers(library: Library, report_id: str, names: Iterable[str] = FEW) -> dict[str, pd.DataFrame | str]:
    """The answers of a report's analyses; missing data is an answer, too."""
    found: dict[str, pd.DataFrame | str] = {}
    for name in names:
        try:
            found[name] = analysis.run(library, report_id, name)
        except WarpdeckError as error:
            found[name] = error.message
    return found


def same(one: dict[str, pd.DataFrame | str], other: dict[str, pd.DataFrame | str]) -> bool:
    """Whether answers are the same; the last digit of a sum of fractions may differ from one run to the next."""
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if isinstance(a, pd.DataFrame) and isinstance(b, pd.DataFrame):
            pd.testing.assert_frame_equal(a, b, rtol=1e-12, obj=name)
        else:
            assert isinstance(a, str)
            assert a == b
    return one.keys() == other.keys()


def contents(folder: Path) -> dict[str, str]:
    """The content of each file, except those that SQLite keeps beside its file while it is open."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@BOTH
def test_all_of_it_arrives_and_comes_back(folder: Path, team: Team, tmp_path: Path) -> None:
    source, target, before = Library(folder), team(), contents(folder)
    moved = move(folder, target)
    assert (moved.reports, moved.of, moved.damaged) == (4, 4, ())
    assert moved.files >= 6
    assert contents(folder) == before, "the source is only read"
    assert said(target, tmp_path) == said(source, tmp_path)
    report_id = source.find(f"{NAME}.nsys-rep").id
    told = answers(source, report_id)
    assert same(answers(target, report_id), told)
    moved_names = {name for times in target.file_times().values() for name in times}
    assert moved_names >= {path.name for path in source.reports.glob("*.duckdb")}
    again = move(folder, target)
    assert (again.files, again.rows) == (0, 0)

    copy = tmp_path / "copy"
    assert backup(target, copy)[0] == moved.files
    assert backup(target, copy) == (0, 0)
    assert said(Library(copy), tmp_path) == said(source, tmp_path)
    assert same(answers(Library(copy), report_id), told)
    names = {name for name in before if name.startswith("reports/")}
    assert {name: one for name, one in contents(copy).items() if name in names} == {
        name: before[name] for name in names
    }
    restored = team()
    move(copy, restored)
    assert said(restored, tmp_path) == said(source, tmp_path)
    assert same(answers(restored, OTHERS[0]), answers(source, OTHERS[0]))
    restored.recover()  # as a worker does when it starts
    assert {one.id for one in restored.list()} == {one.id for one in source.list()}
    assert restored.linked_report(OTHERS[2], "trace") == source.linked_report(OTHERS[2], "trace")


@pytest.mark.slow("every analysis of two libraries")
def test_every_analysis_answers_the_same(folder: Path, team: Team) -> None:
    source, target = Library(folder), team()
    move(folder, target)
    report_id = source.find(f"{NAME}.nsys-rep").id
    told = answers(source, report_id, header.list_analyses())
    assert sum(isinstance(one, pd.DataFrame) for one in told.values()) > 50
    assert same(answers(target, report_id, header.list_analyses()), told)


def test_a_token_and_a_question_work_there(folder: Path, team: Team) -> None:
    target = team()
    shown = Tokens(folder).all()
    move(folder, target)
    assert target.catalog.shared
    assert SharedTokens(target.catalog.shared).all() == shown
    assert [one.name for one in open_questions(target).all()] == ["slowest"]


@pytest.mark.parametrize(
    "kind", slow_but(["folder and database"], ["bucket and file", "folder and database", "folder"], "moves it again")
)
def test_into_any_other_kind_of_library(kind: str, folder: Path, s3: S3, tmp_path: Path, postgres: Server) -> None:
    target = open_library(
        config.load(
            library=s3.url() if kind == "bucket and file" else tmp_path / "library",
            database=postgres.create() if kind == "folder and database" else "",
            data=tmp_path / "data",
        )
    )
    move(folder, target)
    assert said(target, tmp_path) == said(Library(folder), tmp_path)
    assert same(answers(target, OTHERS[0]), answers(Library(folder), OTHERS[0]))
    assert move(folder, target).rows == 0
    backup(target, tmp_path / "copy")
    assert said(Library(tmp_path / "copy"), tmp_path) == said(target, tmp_path)


@pytest.mark.slow("a command that is killed and starts again")
def test_killed_in_the_middle_it_goes_on(s3: S3, postgres: Server, tmp_path: Path) -> None:
    source = Library(tmp_path / "library")
    for number in range(60):
        publish(source, f"aaaa0000000000{number:02}", f"{number}.nsys-rep")
        source.catalog.set_labels(f"aaaa0000000000{number:02}", [f"label {number}"])
    url, database = s3.url(), postgres.create()
    environment = os.environ | {"WARPDECK_DATABASE": database, "WARPDECK_DATA": str(tmp_path / "data")}
    argv = [sys.executable, "-m", "profiledb", "move", str(source.folder), "--library", url]
    process = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    target = open_library(config.load(library=url, database=database, data=tmp_path / "other"))
    wait_until(lambda: len(store_of(target).index.all_files()) >= 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    there = len(store_of(target).index.all_files())
    assert there < 60, "it was quicker than this test"
    assert target.catalog.labels() == {}
    moved = move(source.folder, target)
    assert moved.files == 60 - there
    assert said(target, tmp_path) == said(source, tmp_path)
    assert all(target.is_intact(one.id) for one in target.list())
    assert 120 <= len(s3.files(url)) <= 122, "of what was put when it was killed a worker removes the rest after a day"


def test_what_stands_against_it(folder: Path, team: Team, tmp_path: Path) -> None:
    target = team()
    target.catalog.decisions.choose(OTHERS[0], "another series")
    target.catalog.set_labels(OTHERS[1], ["of the team"])
    before = said(target, tmp_path)
    with pytest.raises(ConfigError, match=f"contradicts the source on: series_choice {OTHERS[0]}"):
        move(folder, target)
    assert said(target, tmp_path) == before
    target.catalog.decisions.choose(OTHERS[0], "nightly")
    move(folder, target)
    assert target.catalog.labels()[OTHERS[1]] == ["of the team"], "what the team said stays"
    other = team()
    publish(other, OTHERS[0], durations=(77,))
    with pytest.raises(ConfigError, match="The target has another file aaaa000000000001"):
        move(folder, other)


def test_a_worker_keeps_its_library(folder: Path, empty_library: Library, tmp_path: Path) -> None:
    publish(empty_library, OTHERS[0])
    target = Library(tmp_path / "target")
    worker = "import fcntl, sys; f = open(sys.argv[1], 'a+'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    argv = [sys.executable, "-c", worker, str(empty_library.folder / LOCK)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        with pytest.raises(ConfigError, match="A worker is using"):
            move(empty_library.folder, target)
        process.kill()
    assert move(empty_library.folder, target).files == 2
    for wrong, words in ((tmp_path, "is not a library's folder"), (target.folder, "is the library that")):
        with pytest.raises(ConfigError, match=words):
            move(wrong, target)


def test_a_damaged_report_stays_behind(
    empty_library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for report_id in OTHERS[:2]:
        publish(empty_library, report_id, f"{report_id[0]}.nsys-rep")
    os.truncate(empty_library.path(OTHERS[0]), 5000)
    argv = ["move", str(empty_library.folder), "--library", str(tmp_path / "target")]
    assert cli.main(argv) == 1
    told = capsys.readouterr()
    assert "2 of 2 reports: 2 files copied" in told.out
    assert "a.nsys-rep is damaged and stays behind" in told.err


def test_progress_is_told_now_and_then(
    empty_library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "EVERY_S", 0.0)
    for report_id in OTHERS:
        publish(empty_library, report_id)
    assert cli.main(["move", str(empty_library.folder), "--library", str(tmp_path / "target")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == [f"{number} of 3 reports" for number in (1, 2, 3)]


def test_what_is_cut_on_the_way_does_not_count(
    folder: Path, team: Team, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = team()
    put = store_of(target).bucket.put

    def cut(key: str, content: Path | bytes) -> None:
        put(key, content if isinstance(content, bytes) else content.read_bytes()[:-1])

    monkeypatch.setattr(store_of(target).bucket, "put", cut)
    with pytest.raises(DamagedError, match="was damaged on the way"):
        move(folder, target)
    monkeypatch.undo()
    assert store_of(target).index.all_files() == {}
    assert move(folder, target).damaged == ()


def test_a_copy_of_a_team_is_of_one_moment(
    folder: Path, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During the copy, a label is added, a report is deleted, and a sidecar is replaced."""
    target = team()
    move(folder, target)
    before = said(target, tmp_path)
    fill = snapshot._insert_rows
    done: list[str] = []

    def meanwhile(db: sqlite3.Connection, table: str, columns: Any, rows: Any) -> None:
        fill(db, table, columns, rows)
        if not done:
            done.append(table)
            target.catalog.set_labels(OTHERS[0], ["too late"])
            target.put_sidecar(OTHERS[0], "meta", '{"workload": "replaced"}')
            target.delete(OTHERS[2])

    monkeypatch.setattr(snapshot, "_insert_rows", meanwhile)
    copy = tmp_path / "copy"
    backup(target, copy)
    monkeypatch.undo()
    assert done
    assert said(Library(copy), tmp_path) == before
    restored = Library(copy)
    restored.recover()  # as a worker does when it starts
    assert {one.id for one in restored.list()} == {row[0] for row in before["report"]} - {OTHERS[2]}
    with restored.cursor(OTHERS[0]) as cursor:
        assert cursor.execute("SELECT value FROM meta WHERE key = 'workload'").fetchone() == ("replaced",)
    backup(target, copy)
    assert not list((copy / "reports").glob(f"{OTHERS[2]}*")), "the next one removes what is gone"


def test_what_is_damaged_in_the_bucket_stops_a_copy(folder: Path, team: Team, s3: S3, tmp_path: Path) -> None:
    target = team()
    move(folder, target)
    backup(target, tmp_path / "copy")
    whole = contents(tmp_path / "copy")
    (file,) = store_of(target).index.files_of(OTHERS[1]).values()
    (path,) = [one for one in s3.files(store_of(target).bucket.url) if one.name == file.key.rpartition("/")[2]]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (tmp_path / "copy" / "reports" / file.name).unlink()
    with pytest.raises(DamagedError, match="was damaged on the way"):
        backup(target, tmp_path / "copy")
    assert contents(tmp_path / "copy")[FILE] == whole[FILE], "the catalog of before is there"


def test_every_table_of_a_team_is_carried_or_named(team: Team) -> None:
    database = team().catalog.shared
    assert database
    with database.connect("") as db:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        tables = {row["tablename"] for row in db.execute(query)}
    assert tables == (snapshot.list_table_columns().keys() | DERIVED | OF_ITSELF)
    left = {"stored_file", "login", "listing", "finding", "removal", "removal_look"}
    assert set(rows._list_moved_tables()) == snapshot.list_table_columns().keys() - left
