"""Damaged files of a library: a sentence for each, no effect on others, and repair at the next start."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from profiledb.errors import CatalogError, DamagedError
from profiledb.library import catalog_repair
from profiledb.library.catalog import Catalog, Manifest
from profiledb.library.library import Library
from profiledb.library.spaces import UNKNOWN
from profiledb.library.visitor import Visitor
from profiledb.query import analysis
from profiledb.report import damage, store
from tests.conftest import ROOT, SAMPLES, Once, ingest_files, run_ingest
from tests.support.every_report import slow_but

NAMES = ("tasks.sqlite", "transformer_inference.sqlite")


@pytest.fixture
def library(once: Once, tmp_path: Path) -> Library:
    """Two reports that the real worker made."""
    made = once("damage", lambda folder: ingest_files(folder, [SAMPLES / name for name in NAMES]))
    shutil.copytree(made, tmp_path / "data")
    return Library(tmp_path / "data" / "library")


@pytest.fixture
def bad(library: Library) -> Manifest:
    """The report whose files a test damages."""
    return library.find(NAMES[0])


@pytest.fixture
def good(library: Library) -> Manifest:
    return library.find(NAMES[1])


def worker(library: Library) -> Library:
    """Start the worker again and return the library that it leaves."""
    done = run_ingest(library.folder.parent / "inbox", library.folder)
    assert done.status == 0, done.errors
    return Library(library.folder)


def flip(path: Path) -> None:
    """Changes bytes all over a file but at its begin, so that it still opens."""
    with path.open("r+b") as file:
        for place in range(200_000, path.stat().st_size - 400_000, 40_000):
            file.seek(place)
            file.write(b"\xff\x00\xff\x00")


def other_schema(path: Path) -> None:
    made = path.with_suffix(".other")
    with duckdb.connect(str(made)) as db:
        db.execute("CREATE TABLE kernel (secret VARCHAR)")
    made.replace(path)


MORE = pytest.mark.slow("more kinds of damage")
DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: os.truncate(path, 0),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a little short": lambda path: os.truncate(path, path.stat().st_size - 1),
    "random": lambda path: path.write_bytes(random.Random(1).randbytes(300_000)),
    "text": lambda path: path.write_text("the secret words " * 1000),
    "another schema": other_schema,
    "inside": flip,
}
anyhow = pytest.mark.parametrize(
    "damage",
    slow_but([DAMAGE["another schema"], DAMAGE["inside"]], DAMAGE.values(), "more kinds of damage"),
    ids=DAMAGE,
)


def command(library: Library, report: Manifest, name: str = "kernels") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "profiledb", "run", name, report.id, "--library", str(library.folder)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


@anyhow
def test_a_damaged_report_is_a_sentence_and_the_others_go_on(
    library: Library, bad: Manifest, good: Manifest, damage: Callable[[Path], object]
) -> None:
    before = analysis.run(library, good.id, "kernels")
    damage(library.path(bad.id))
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"The file of tasks\.sqlite in the library is damaged") as caught:
            analysis.query(library, bad.id, "SELECT bit_xor(hash(k)) FROM kernel AS k, range AS r, api_call AS c")
        assert "Delete" in caught.value.hint
        assert not caught.value.detail
        assert analysis.run(library, good.id, "kernels").equals(before)
    assert not library.is_intact(bad.id)
    assert library.is_intact(good.id)
    fresh = Library(library.folder)
    assert not fresh.is_intact(bad.id), "other processes know"
    with pytest.raises(DamagedError):
        analysis.run(fresh, bad.id, "kernels")
    assert analysis.run(fresh, good.id, "kernels").equals(before), "also where it is the second one opened"
    said = command(library, bad)
    assert (said.returncode, said.stdout) == (2, "")
    assert len(said.stderr.splitlines()) == 1
    assert not [word for word in ("Traceback", "secret", "IO Error", "checksum", "duckdb") if word in said.stderr]
    library.delete(bad.id)
    assert [report.id for report in library.list()] == [good.id]
    assert not list(library.reports.glob(f"{bad.id}*"))


def test_a_file_that_ends_in_free_blocks_is_whole(tmp_path: Path) -> None:
    """As after an abandoned load: DuckDB omits free blocks at the end."""
    path = tmp_path / "report.duckdb"
    with store.create(path) as db:
        db.execute("BEGIN; CREATE TABLE much AS SELECT i, hash(i) AS h FROM range(2_000_000) AS t (i); ROLLBACK")
        db.execute("INSERT INTO report (name) VALUES ('kept')")
    assert damage.can_open(path)
    with duckdb.connect(path, read_only=True) as db:
        assert db.execute("SELECT free_blocks > 100 FROM pragma_database_size()").fetchall() == [(True,)]
        assert db.execute("SELECT name FROM report").fetchall() == [("kept",)]
    os.truncate(path, path.stat().st_size - 1)
    assert not damage.can_open(path)


@anyhow
def test_a_repaired_file_is_read_by_who_had_the_damaged_one_open(
    library: Library, bad: Manifest, damage: Callable[[Path], object], tmp_path: Path
) -> None:
    path = library.path(bad.id)
    before = analysis.run(library, bad.id, "kernels")
    shutil.copy(path, tmp_path / "whole")
    damage(path)
    with pytest.raises(DamagedError):
        analysis.query(library, bad.id, "SELECT bit_xor(hash(k)) FROM kernel AS k, range AS r, api_call AS c")
    (tmp_path / "whole").replace(path)
    assert library.is_intact(bad.id)
    assert analysis.run(library, bad.id, "kernels").equals(before)


def test_a_report_published_again_takes_its_verdict_back(library: Library, bad: Manifest, tmp_path: Path) -> None:
    path = library.path(bad.id)
    whole = tmp_path / "data" / "whole"
    shutil.copy(path, whole)
    flip(path)
    with pytest.raises(DamagedError):
        analysis.query(library, bad.id, "SELECT bit_xor(hash(k)) FROM kernel AS k, range AS r, api_call AS c")
    library.publish(whole, bad)
    assert library.is_intact(bad.id)
    assert not list(library.reports.glob("*.damaged"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("meta", "the secret {", marks=MORE),
        pytest.param("tasks", "task,size\nthe secret words\n", marks=MORE),
        ("power", "time_ns\nthe secret\xff\n"),
        ("timings", "a,b\n'\n"),
    ],
)
def test_a_damaged_file_beside_a_report_is_named(library: Library, bad: Manifest, kind: str, text: str) -> None:
    table = {"meta": "meta", "tasks": "task_time", "power": "power_log", "timings": "timing"}[kind]
    endings = {"meta": ".meta.json", "tasks": ".tasks.csv", "power": ".nvml.csv", "timings": ".timings.csv"}
    (library.reports / f"{bad.id}{endings[kind]}").write_text(text, encoding="latin-1")
    with pytest.raises(DamagedError) as caught:
        analysis.query(library, bad.id, f"FROM {table}")
    assert endings[kind] in caught.value.message
    assert "secret" not in f"{caught.value.message}{caught.value.hint}{caught.value.detail}"
    assert len(analysis.run(library, bad.id, "kernels"))


MANIFESTS = {"empty": b"", "garbage": b"\xff\x00{", "a list": b"[]", "another one": b'{"id": "../x"}', "gone": None}


@pytest.mark.parametrize(
    "text",
    slow_but([MANIFESTS["garbage"], MANIFESTS["gone"]], MANIFESTS.values(), "starts a worker for each"),
    ids=MANIFESTS,
)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
def test_a_damaged_manifest_is_made_anew(
    library: Library, bad: Manifest, good: Manifest, text: bytes | None, listed: bool
) -> None:
    path = library.manifest_path(bad.id)
    path.unlink()
    if text is not None:
        path.write_bytes(text)
    if not listed:
        library.catalog.unlist_report(bad.id)
    again = worker(library)
    assert {report.id for report in again.list()} == {bad.id, good.id}
    found = Manifest.from_json(path.read_text())
    space = "" if listed else UNKNOWN
    assert replace(found, ingested_at="", seconds=0) == replace(bad, ingested_at="", seconds=0, space=space)
    assert found.ingested_at
    outside = library.asked_by(Visitor("Otto", "login", frozenset())).list()
    assert {report.id for report in outside} == {bad.id, good.id}, "the catalog knows where it was"


def test_a_report_of_which_nothing_can_be_read_is_converted_again(
    library: Library, bad: Manifest, good: Manifest
) -> None:
    library.catalog.set_labels(bad.id, ["mine"])
    library.manifest_path(bad.id).write_text("")
    library.path(bad.id).write_bytes(b"")
    library.catalog.unlist_report(bad.id)
    again = worker(library)
    assert {report.id for report in again.list()} == {bad.id, good.id}
    assert again.catalog.labels() == {bad.id: ["mine"]}
    assert len(analysis.run(again, bad.id, "kernels"))
    assert not list(again.reports.glob("*.damaged"))


def statement(sql: str) -> Callable[[Path], object]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(sql)

    return run


CATALOGS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "garbage": (lambda path: path.write_bytes(random.Random(2).randbytes(20_000)), False),
    "text": (lambda path: path.write_text("no database " * 500), False),
    "half": (lambda path: os.truncate(path, path.stat().st_size // 2), False),
    "a table is gone": (statement("DROP TABLE job"), True),
    "the reports are gone": (statement("DROP TABLE report"), True),
    "a column is gone": (statement("ALTER TABLE job RENAME COLUMN fingerprint TO mark"), True),
    "empty": (lambda path: os.truncate(path, 0), False),
}
SOME_CATALOGS = [
    pytest.param(*case, marks=[] if name in ("half", "a column is gone") else MORE) for name, case in CATALOGS.items()
]
"""Catalogs that are no database anymore, and those that lack a part."""


@pytest.mark.parametrize(("damage", "kept"), SOME_CATALOGS, ids=CATALOGS)
def test_a_damaged_catalog_is_set_aside_and_made_anew(
    library: Library, bad: Manifest, good: Manifest, damage: Callable[[Path], object], kept: bool
) -> None:
    library.catalog.set_labels(good.id, ["baseline"])
    path = library.folder / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(path)
    empty = not path.stat().st_size
    if not empty:
        said = subprocess.run(
            [sys.executable, "-m", "profiledb", "list", "--library", str(library.folder)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if said.returncode:
            assert said.returncode == 2
            assert "library's catalog is damaged" in said.stderr
    again = worker(library)
    assert {report.id for report in again.list()} == {bad.id, good.id}
    assert len(again.catalog.damaged_files()) == (0 if empty else 1)
    if kept:
        assert again.catalog.labels() == {good.id: ["baseline"]}
    assert worker(again).catalog.damaged_files() == again.catalog.damaged_files(), "the new one is fine"


def test_a_deleted_report_stays_deleted_where_the_catalog_was_damaged(library: Library, bad: Manifest) -> None:
    library = worker(library)  # of these very files
    library.delete(bad.id)
    statement("DROP TABLE label")(library.folder / "catalog.sqlite")
    assert bad.id not in {report.id for report in worker(library).list()}


def test_a_locked_catalog_is_left_alone(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_repair, "PATIENCE_S", 0.1)
    path = library.folder / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        for change in (library.catalog.mend, lambda: library.catalog.set_labels("x", ["y"])):
            with pytest.raises(CatalogError, match="locked"):
                change()
        assert len(Catalog(path).reports()) == len(NAMES)
    assert library.catalog.damaged_files() == []


# Ends the worker at the moment before the step of publishing that has this number.
KILLED = """
import os, runpy, signal, sys
number, seen = int(os.environ["STEP"]), []
def hook(event, args):
    if event == "os.rename" and os.sep + "reports" + os.sep in str(args[1]) or seen and event == "sqlite3.connect":
        seen.append(event)
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
runpy.run_module("ingest", run_name="__main__")
"""


CHATTY = """
import os, runpy, sys
sys.addaudithook(lambda event, _: os.write(1, b"100% done\\n") if event == "os.mkdir" else None)
runpy.run_module("ingest", run_name="__main__")
"""


@pytest.mark.slow("starts a worker of its own")
def test_text_of_a_library_is_no_message_of_a_conversion(tmp_path: Path) -> None:
    """In a program of ``python -c``, DuckDB drew a progress bar into the messages once a query took two seconds."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    shutil.copy(SAMPLES / NAMES[1], inbox)
    argv = [sys.executable, "-c", CHATTY, "--once", "--inbox", str(inbox), "--library", str(tmp_path / "library")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "ready" in done.stdout, done.stderr


PUBLISHING = [
    pytest.param(step, step > 2, marks=[] if step == 3 else pytest.mark.slow("a worker that is killed, and another"))
    for step in (1, 2, 3, 4)
]
"""Steps of publishing: the report's file has its name after the second."""


@pytest.mark.parametrize(("step", "published"), PUBLISHING)
def test_a_report_is_never_half_published(tmp_path: Path, step: int, published: bool) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    shutil.copy(SAMPLES / NAMES[1], inbox)
    argv = [sys.executable, "-c", KILLED, "--once", "--inbox", str(inbox), "--library", str(tmp_path / "library")]
    done = subprocess.run(argv, cwd=ROOT, env=os.environ | {"STEP": str(step)}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    library = Library(tmp_path / "library")
    found = list(library.reports.glob("*.duckdb"))
    assert bool(found) == published
    for path in found:  # what stands under its name is whole
        assert library.is_intact(path.name.split(".")[0])
    again = run_ingest(inbox, library.folder)
    assert again.status == 0, again.errors
    assert [report.name for report in library.list()] == [NAMES[1]]
    assert len(analysis.run(library, library.list()[0].id, "kernels"))
    assert len(list(library.reports.iterdir())) == 2
    assert not library.work.exists() or not list(library.work.iterdir())


def test_content_is_on_the_disk_before_its_name(library: Library, bad: Manifest, tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
synced = set()
real = os.fsync
def fsync(descriptor):
    real(descriptor)
    synced.add(os.stat(descriptor).st_ino)
os.fsync = fsync
def hook(event, args):
    if event == "os.rename":
        assert os.stat(args[0]).st_ino in synced, args
        synced.discard(os.stat(Path(args[1]).parent).st_ino)
        print(Path(args[1]).name)
sys.addaudithook(hook)
library = Library(Path(sys.argv[1]))
manifest = library.list()[0]
library.publish(Path(sys.argv[2]), manifest)
library.put_sidecar(manifest.id, "tasks", "task,size,device,part,seconds\\n")
assert os.stat(library.reports).st_ino in synced
"""
    whole = library.folder / "whole"
    shutil.copy(library.path(library.list()[0].id), whole)
    argv = [sys.executable, "-c", code, str(library.folder), str(whole)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [Path(name).suffixes[-1] for name in done.stdout.split()] == [".json", ".duckdb", ".csv"]
