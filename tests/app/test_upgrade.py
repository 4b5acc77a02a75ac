"""Libraries of earlier versions, and one that a later version has changed, with real workers and a real server.

The programs of those commits made the libraries in tests/data/upgrade (make.sh); their sources are gone.
"""

import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from bench.pages import run_server
from profiledb.errors import NewerLibraryError
from profiledb.library import migrations, version
from profiledb.library.catalog import Catalog
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.library.postgres import Postgres, list_known_revisions
from profiledb.library.version import OLDEST_SCHEMA
from profiledb.report.schema import ADDED, SCHEMA_VERSION, read_tables
from tests.app.conftest import Dashboard
from tests.app.web.client import ask, session
from tests.conftest import ROOT, is_converting, run_ingest, wait_until
from tests.support.every_report import slow_but
from tests.support.processes import start_worker

DATA = ROOT / "tests" / "data"
MADE_BY = {2: "e185d1b", 3: "4ca6bf4b", 4: "5209e9f4", 5: "e4810e93", 6: "53126d2"}
"""A commit by the schema of its reports."""
FIRST, SECOND = MADE_BY[2], MADE_BY[6]
COUNTERS = "56fa2e64a807d003"
LABELS = {"nsys": ["baseline", "kept over the upgrade"], "ncu": ["counters"]}


def unpacked(commit: str, data: Path) -> Library:
    """The library that the program of a commit made, as it left it."""
    (data / "inbox").mkdir(parents=True)
    with tarfile.open(DATA / "upgrade" / f"{commit}.tar.xz") as archive:
        archive.extractall(data, filter="data")
    return Library(data / "library")


def told(library: Library) -> dict[str, list[str]]:
    """The labels of each report that is listed and has its link, by kind."""
    ids = {report.kind: report.id for report in library.list()}
    assert library.catalog.links.all() == {ids["nsys"]: ids["ncu"]}
    return {kind: library.catalog.labels()[report_id] for kind, report_id in ids.items()}


def command(library: Library, *arguments: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "warpdeck", *arguments, "--library", str(library.folder)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as db:
        return db.execute(f"FROM {table} ORDER BY ALL").fetchall()


def test_every_schema_has_a_library() -> None:
    """A higher version needs a packed library of the one before, or a higher ``OLDEST_SCHEMA``."""
    assert [*MADE_BY][: SCHEMA_VERSION - OLDEST_SCHEMA] == list(range(OLDEST_SCHEMA, SCHEMA_VERSION))
    for schema, commit in MADE_BY.items():
        with tarfile.open(DATA / "upgrade" / f"{commit}.tar.xz") as archive:
            assert {found for name in archive.getnames() if (found := version.parse_schema(Path(name).name))} == {
                schema
            }


@pytest.mark.integration
@pytest.mark.parametrize("commit", slow_but([FIRST], MADE_BY.values(), "a worker and three pages for each version"))
def test_a_library_of_an_earlier_version_keeps_all_reports(
    commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dashboard: Dashboard
) -> None:
    library = unpacked(commit, tmp_path)
    assert told(library) == LABELS, "before the worker starts"
    done = run_ingest(tmp_path / "inbox", library.folder)
    assert done.status == 0, done.errors
    library = Library(library.folder)
    assert told(library) == LABELS
    assert not any(report.is_older for report in library.list())
    names = {f"{report.id}.v{SCHEMA_VERSION}.{end}" for report in library.list() for end in ("json", "duckdb")}
    assert names == {path.name for path in library.reports.iterdir() if ".v" in path.name}
    assert (library.folder / version.NAME).read_text() == version.format_number()
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    monkeypatch.setenv("WARPDECK_WORKER", "off")
    for report in library.list():
        for page in {"nsys": ("summary", "kernels"), "ncu": ("kernel_profiles",)}[report.kind]:
            at = dashboard(page, report=report.id)
            assert not at.exception
            assert not at.error
    assert "elementwise" in command(library, "run", "kernels", "attention.sqlite").stdout


@pytest.mark.integration
@pytest.mark.parametrize(
    "schema", slow_but([OLDEST_SCHEMA], range(OLDEST_SCHEMA, SCHEMA_VERSION), "a worker for each version")
)
def test_an_upgraded_report_is_what_its_source_would_become(schema: int, tmp_path: Path) -> None:
    library = unpacked(MADE_BY[schema], tmp_path / "first")
    with closing(sqlite3.connect(library.folder / "catalog.sqlite")) as db, db:
        db.execute("DELETE FROM report")  # as versions between took them off the list
    run_ingest(tmp_path / "first" / "inbox", library.folder)
    assert told(Library(library.folder)) == LABELS
    upgraded, converted = library.path(COUNTERS), unpacked(SECOND, tmp_path / "second").path(COUNTERS)
    for table in read_tables().keys() - {"diagnostic"} - ADDED:  # diagnostic: whose words were chosen anew
        assert rows(upgraded, table) == rows(converted, table), table
    assert all(rows(upgraded, table) == [] for table in ADDED), "the file that was made before has none of these"


@pytest.mark.integration
def test_a_worker_that_is_killed_during_an_upgrade_loses_nothing(tmp_path: Path) -> None:
    library = unpacked(FIRST, tmp_path)
    worker = start_worker(tmp_path / "inbox", library, "--samples", "off")
    try:
        wait_until(lambda: is_converting(library, "*/report.duckdb"))
    finally:
        worker.kill()
        worker.wait()
    assert told(Library(library.folder)) == LABELS
    run_ingest(tmp_path / "inbox", library.folder)
    assert told(Library(library.folder)) == LABELS
    assert not any(report.is_older for report in Library(library.folder).list())
    assert not any(library.work.glob("*"))


@pytest.mark.integration
def test_what_cannot_be_upgraded_stays_listed_until_its_source_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dashboard: Dashboard
) -> None:
    library = unpacked(FIRST, tmp_path)
    for path in list(library.reports.glob("*.v2.*")):  # the first schema, whose ranges were not nested
        path.rename(path.with_name(path.name.replace(".v2.", ".v1.")))
    run_ingest(tmp_path / "inbox", library.folder)
    library = Library(library.folder)
    assert told(library) == LABELS
    listed = command(library, "list").stdout
    assert listed.count("(made by an older version: drop its source again)") == 2
    entries = json.loads(command(library, "list", "--format", "json").stdout)
    assert {entry["status"] for entry in entries} == {"older"}
    asked = command(library, "run", "kernels", "attention.sqlite")
    assert asked.returncode == 1
    assert asked.stderr.startswith("attention.sqlite was made by an older version: drop its source again.")
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    monkeypatch.setenv("WARPDECK_WORKER", "off")
    systems = library.find("attention.sqlite").id
    for page in ("summary", "timeline"):
        at = dashboard(page, report=systems)
        assert not at.exception
        assert ["made by an older version" in error.value for error in at.error] == [True]
    at = dashboard()
    assert all("older version" in labels for labels in at.dataframe[0].value["labels"])
    assert len(at.dataframe[0].value) == 2
    shutil.copy(DATA / "ncu" / "details_2024.csv", tmp_path / "inbox")
    run_ingest(tmp_path / "inbox", library.folder)
    library = Library(library.folder)
    assert told(library) == LABELS
    assert {report.id for report in library.list() if not report.is_older} == {COUNTERS}
    library.delete(systems)
    assert not list(library.reports.glob(f"{systems}*"))


def mark(library: Library) -> None:
    """As a later program leaves it whose catalog is lost."""
    library.storage.write_text(version.NAME, json.dumps({"version": version.VERSION + 1, "more": ["than", "this"]}))
    (library.folder / "catalog.sqlite").unlink()


def catalog(library: Library) -> None:
    with closing(sqlite3.connect(library.folder / "catalog.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {version.VERSION + 1}")


def report(library: Library) -> None:
    for path in (library.path(COUNTERS), library.manifest_path(COUNTERS)):
        shutil.copy(path, path.with_name(path.name.replace(f".v{SCHEMA_VERSION}.", f".v{SCHEMA_VERSION + 1}.")))


def unreadable(library: Library) -> None:
    library.storage.write_text(version.NAME, "<version>")


NEWER: dict[Callable[[Library], None], str] = {
    mark: f"A later version of Warpdeck has changed this library: it is of version {version.VERSION + 1}, and this"
    f" program knows version {version.VERSION}. Use that later version of Warpdeck, or restore a backup",
    catalog: f"it is of version {version.VERSION + 1}, and this program knows version {version.VERSION}",
    report: f"it holds a report of schema {SCHEMA_VERSION + 1} ({COUNTERS}.v{SCHEMA_VERSION + 1}.",
    unreadable: "cannot read library.version of the library: a later one wrote it, or it is damaged",
}


def newer(change: Callable[[Library], None], data: Path) -> Library:
    """A library that a later version has changed."""
    library = unpacked(SECOND, data)
    shutil.copy(DATA / "ncu" / "raw_scaled.csv", data / "inbox")
    change(library)
    return library


def tree(folder: Path) -> dict[str, str]:
    """Every file with the hash of its bytes, and every folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.integration
@pytest.mark.parametrize("change", NEWER, ids=lambda change: change.__name__)
def test_worker_and_commands_refuse_what_a_later_version_has_changed(
    change: Callable[[Library], None], tmp_path: Path
) -> None:
    library = newer(change, tmp_path)
    before = tree(tmp_path)
    copy = tmp_path.with_name(f"{tmp_path.name}-copy")
    done = run_ingest(tmp_path / "inbox", library.folder)
    for status, said in (
        (done.status, done.errors),
        *(
            (asked.returncode, asked.stderr)
            for asked in (
                command(library, "list"),
                command(library, "backup", str(copy)),
                command(library, "token", "list"),
            )
        ),
    ):
        assert status == 1, said
        assert NEWER[change] in said
        assert len(said.splitlines()) == 1, said
    assert tree(tmp_path) == before
    assert not copy.exists()


@pytest.mark.integration
@pytest.mark.parametrize(
    "change", slow_but([catalog], [catalog, report], "starts another server"), ids=lambda change: change.__name__
)
def test_a_server_says_that_a_later_version_has_changed_the_library(
    change: Callable[[Library], None], tmp_path: Path
) -> None:
    library = newer(change, tmp_path)
    before = tree(tmp_path)
    settings = {"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off"}
    with run_server(settings, {}) as one, session(one.address) as visitor:
        visitor.run()
        assert visitor.text().count("A later version of Warpdeck has changed this library") == 1
        answer = ask(one.address, "/api/v1/reports")
        assert answer.status == 503
        assert NEWER[change] in json.loads(answer.body)["title"]
        assert json.loads(ask(one.address, "/health").body)["worker"] == "refused"
        during = {name for name in tree(tmp_path) if not re.match(r"inbox/\.uploads-", name)}
        assert during == before.keys()
    assert tree(tmp_path) == before
    assert NEWER[change].startswith("it ")
    with pytest.raises(NewerLibraryError):
        Library(library.folder)


def test_a_program_that_runs_stops_when_a_later_version_takes_the_library_over(tmp_path: Path) -> None:
    library = unpacked(SECOND, tmp_path)
    assert library.list()
    catalog(library)
    for ask_ in (library.list, lambda: library.catalog.set_labels(COUNTERS, ["lost"]), library.recover):
        with pytest.raises(NewerLibraryError):
            ask_()


def test_a_team_refuses_a_database_of_an_unknown_revision(team: Shared) -> None:
    shelf = Catalog(team)
    shelf.set_labels(COUNTERS, ["mine"])
    with team.connect("") as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    fresh = Catalog(Postgres(team.url))
    for ask_ in (
        lambda: shelf.set_labels(COUNTERS, ["lost"]),  # on a connection that was there before
        fresh.labels,
        lambda: migrations.move(team.url),
        lambda: migrations.move(team.url, migrations.NOTHING),
    ):
        with pytest.raises(NewerLibraryError, match="it has a database of revision 9999, and this program knows"):
            ask_()
    with team.connect("") as db:
        assert [tuple(row) for row in db.execute("SELECT label FROM label")] == [("mine",)]
        db.execute("UPDATE alembic_version SET version_num = ?", [max(list_known_revisions())])
