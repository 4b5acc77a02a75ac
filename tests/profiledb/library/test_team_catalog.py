"""A team's catalog in a real PostgreSQL: tables, several writers, and a server that goes away and comes back."""

import json
import logging
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import psycopg
import pytest

from profiledb import config
from profiledb.access.operations.tokens import Tokens, open_tokens
from profiledb.console import library_tables
from profiledb.errors import AnalysisError, CatalogError, ConfigError, NewerLibraryError
from profiledb.library import migrations, postgres, team_database, workers
from profiledb.library.catalog import Catalog, Job
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.postgres import Postgres
from profiledb.library.report_links import LINKS
from profiledb.library.workers import WorkerInfo, Workers
from profiledb.studies.trends.summary_store import Row
from tests.conftest import ROOT
from tests.support import series_summaries
from tests.support.postgres import PASSWORD, Server

FILE_JOB = Job("/inbox/a", "a", "1", "failed", message="bad")


def columns(url: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    with psycopg.connect(url) as db:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        for table, column in db.execute(query):
            found.setdefault(table, set()).add(column)
    return found


def test_tables_are_made_and_taken_away(postgres: Server) -> None:
    url = postgres.create(template="")
    with pytest.raises(CatalogError, match="lacks tables") as caught:
        Catalog(Postgres(url)).reports()
    assert "warpdeck migrate" in caught.value.hint
    migrations.move(url)
    made = columns(url)
    migrations.move(url)
    assert columns(url) == made, "nothing to do"
    migrations.move(url, migrations.NOTHING)
    assert set(columns(url)) <= {"alembic_version"}
    migrations.move(url)
    assert columns(url) == made
    with psycopg.connect(url) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerLibraryError, match="revision 9999"):
        migrations.move(url)


@pytest.mark.slow("starts two processes")
def test_several_workers_make_the_tables_at_once(postgres: Server) -> None:
    url = postgres.create(template="")
    code = "import sys; from profiledb.library import migrations; migrations.move(sys.argv[1])"
    movers = [subprocess.Popen([sys.executable, "-c", code, url], cwd=ROOT) for _ in range(2)]
    assert [mover.wait(60) for mover in movers] == [0, 0]
    assert Catalog(Postgres(url)).reports() == []


def test_the_settings_choose_it(team: Shared, tmp_path: Path) -> None:
    library = open_library(config.load(database=team.url, library=tmp_path))
    library.catalog.put_job(FILE_JOB)
    assert [job.path for job in Catalog(team).jobs()] == ["/inbox/a"]
    assert not list(tmp_path.glob("*.sqlite*"))


def test_readers_hear_of_what_others_write(team: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = Catalog(team), Catalog(Postgres(team.url))
    before, files = reader.version(), reader.version_of_files()
    writer.put_job(FILE_JOB)
    writer.set_labels("x", ["theirs"])
    assert (reader.version(), reader.version_of_files()) == (before, files), "it asks once a second"
    monkeypatch.setattr(postgres, "FRESH_S", 0)
    assert (seen := reader.version()) != before
    for write in (partial(writer.dismiss, "/inbox/a"), partial(writer.forget_job, "/inbox/a")):
        files = reader.version_of_files()
        write()
        assert reader.version_of_files() != files
        assert reader.version() == seen, "how far a file is changes no list of reports"
    reader.jobs()
    assert reader.version() == seen, "reading is no news"
    monkeypatch.undo()
    reader.set_labels("x", ["mine"])
    assert reader.version() != seen, "its own words count at once"


def test_a_write_that_fails_leaves_nothing(team: Shared) -> None:
    catalog = Catalog(team)
    with suppress(ZeroDivisionError), team.connect() as db:
        db.execute("INSERT INTO label (report_id, label) VALUES (?, ?)", ["x", "y"])
        raise ZeroDivisionError
    assert catalog.labels() == {}


def test_hostile_texts_are_values(team: Shared) -> None:
    nasty = "'; DROP TABLE job; -- %s %(x)s :name ? \u20ac"
    catalog = Catalog(team)
    catalog.put_job(replace(FILE_JOB, path=nasty, message=f"{nasty}\0\udc80"))
    (job,) = catalog.jobs()
    assert (job.path, job.message) == (nasty, f"{nasty}\ufffd?")
    with pytest.raises(CatalogError, match="too long"):
        catalog.set_labels("x", ["".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(3_000))])
    with team.connect() as db:
        row = db.execute("SELECT '?' || ':no' AS a, ? % 5 AS b, 'x%' LIKE '%x%'", [7]).fetchone()
    assert (dict(row)["a"], row["b"], row[2], len(row)) == ("?:no", 2, True, 3)


def _label(url: str, number: int) -> None:
    catalog = Catalog(team_database.open_database(url))
    for n in range(20):
        catalog.set_labels("one", [f"{number}", f"{number} {n}"])
        catalog.links.put("one", f"{number}")
        catalog.hand_over("one", f"after {number}")


def test_who_lives_is_known_by_the_clock_of_the_database(team: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = Mock(now=lambda zone: datetime.now(zone) - timedelta(hours=1))
    monkeypatch.setattr(workers, "datetime", behind, raising=False)
    Workers(team).seen(WorkerInfo("one", "gpu7", "2023.4.4", ""))
    monkeypatch.undo()
    assert [one.id for one in Workers(team).all()] == ["one"]
    with team.connect("") as db:
        db.execute("UPDATE worker SET seen_at = seen_at - make_interval(secs => ?)", [workers.ALIVE_S + 1])
    assert Workers(team).all() == []


def test_people_write_at_once(team: Shared) -> None:
    """Writing transactions run one after another, so each leaves a consistent state."""
    writers = [threading.Thread(target=_label, args=(team.url, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    (label, last) = Catalog(team).labels()["one"]
    assert last == f"{label} 19"
    with team.connect() as db:
        assert len(db.execute(f"SELECT * FROM {LINKS['ncu'][0]}").fetchall()) == 7


def test_it_goes_away_and_comes_back(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Cached answers are still shown; the rest says why it is missing, without the password of the address."""
    caplog.set_level(logging.DEBUG)
    catalog, fresh = (Catalog(Postgres(postgres.create())) for _ in range(2))
    catalog.put_job(FILE_JOB)
    seen = catalog.version()
    postgres.stop()
    try:
        actions: tuple[Callable[[], object], ...] = (
            catalog.jobs, fresh.version, lambda: catalog.set_labels("x", ["y"]), lambda: migrations.move(fresh_url)
        )  # fmt: skip
        fresh_url = fresh.shared.url if fresh.shared else ""
        for action in actions:
            with pytest.raises(CatalogError, match="cannot be reached") as caught:
                action()
            told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
            assert PASSWORD not in told
        assert catalog.version() == seen
    finally:
        postgres.start()
    assert [job.path for job in catalog.jobs()] == ["/inbox/a"], "by itself"
    assert catalog.labels() == {}
    fresh.set_labels("x", ["y"])
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(config.load(database=fresh_url))


@pytest.mark.parametrize(
    "url", ["mysql://u:p4ssw0rd@h/d", "postgresql://u:p4ssw0rd@h:port:x/d", "postgres://[p4ssw0rd"]
)
def test_a_wrong_address_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="WARPDECK_DATABASE") as caught:
        team_database.open_database(config.load(database=url).database)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value)) + caught.value.hint


def test_threads_that_ask_at_once_share_one_object(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each object has its own connections, and waits on its own for a silent server."""
    second = threading.Barrier(2)

    class Slow(Postgres):
        def __init__(self, url: str) -> None:
            with suppress(threading.BrokenBarrierError):
                second.wait(0.5)
            super().__init__(url)

    monkeypatch.setattr("profiledb.library.postgres.Postgres", Slow)
    url = postgres.create()
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(team_database.open_database, [url, url])
    assert one is other
    one.close()


def test_tokens_are_a_row_each(catalog: Catalog, tmp_path: Path) -> None:
    settings = config.load(database=catalog.shared.url if catalog.shared else "", library=tmp_path)
    tokens, again = open_tokens(settings), open_tokens(settings)
    assert (type(tokens) is Tokens) == (catalog.shared is None)
    shown = {role: tokens.new(f"a {role}", role) for role in ("viewer", "editor")}
    found = [again.shown(text) for text in shown.values()]
    assert [one and one.role for one in found] == ["viewer", "editor"]
    assert again.shown(shown["viewer"][:-1] + "x") is None
    assert shown["viewer"].split("_")[2] not in json.dumps([vars(one) for one in tokens.all()])
    with pytest.raises(AnalysisError, match="already"):
        again.new("a viewer", "editor")
    again.remove("a viewer")
    assert tokens.shown(shown["viewer"]) is None
    with pytest.raises(AnalysisError, match="no token"):
        tokens.remove("a viewer")


def test_questions_in_sql_see_its_summaries(team: Shared, tmp_path: Path) -> None:
    library = Library(tmp_path, Catalog(team))
    series_summaries.put(
        library,
        series_summaries.facts(1),
        [*series_summaries.rows(1e6, {"gemm": 1e5}), Row("kernel", 1.0, "long " * 3_000)],
    )
    tables = library_tables.read_tables(team.url)
    assert tables["library_summary"].column("name").to_pylist() == ["train_1.nsys-rep"]
    assert "wall_ns" in tables["library_measure"].column("measure").to_pylist()
