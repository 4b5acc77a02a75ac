"""PostgreSQL refuses a user: the start fails with the server's message; the rights in docs/team.md suffice."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bench import team_queue
from bench.pages import MAIN, find_free_port
from profiledb.errors import RefusedError
from profiledb.library import migrations, postgres, team_database
from profiledb.library.catalog import Catalog
from profiledb.terminal import describe_error
from tests.conftest import ROOT, wait_until
from tests.support import needs
from tests.support.postgres import PASSWORD, Server

RIGHTS = re.compile(r"```sql\n(.+?)```", re.DOTALL)
"""The statements of docs/team.md."""


@pytest.fixture(scope="module")
def asking() -> Iterator[Server]:
    """A server that asks for passwords, and lets nobody into the database ``closed``."""
    needs.require("PostgreSQL")
    server = Server(find_free_port(), PASSWORD)
    rules = server.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host closed all 127.0.0.1/32 reject\n{rules.read_text()}")
    with psycopg.connect(server.url("postgres"), autocommit=True) as db:
        db.execute("SELECT pg_reload_conf()")
        db.execute("CREATE ROLE locked NOLOGIN PASSWORD 'p4ssw0rd'")
        db.execute("CREATE ROLE nothing LOGIN PASSWORD 'p4ssw0rd'")
    server.create("team")
    yield server
    server.remove()


def url(asking: Server, name: str = "team", user: str = "warpdeck", password: str = PASSWORD) -> str:
    """The address of a database for a user."""
    return asking.url(name).replace("warpdeck:p4ssw0rd", f"{user}:{password}")


def started(argv: list[str], folder: Path, url: str) -> "subprocess.CompletedProcess[str]":
    """A process of ours that ends by itself."""
    told = {"WARPDECK_DATABASE": url, "WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    return subprocess.run(
        [sys.executable, "-m", *argv],
        cwd=ROOT, env=os.environ | told, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"password": "s3cret"}, 'password authentication failed for user "warpdeck"'),
        ({"password": ""}, "no password supplied"),
        ({"user": "stranger"}, 'password authentication failed for user "stranger"'),
        ({"user": "locked"}, 'role "locked" is not permitted to log in'),
        ({"name": "elsewhere"}, 'database "elsewhere" does not exist'),
        ({"name": "closed"}, 'pg_hba.conf rejects connection for host "127.0.0.1", user "warpdeck", database "closed"'),
        ({"name": "team?sslmode=require"}, "server does not support SSL, but SSL was required"),
        ({"user": "nothing"}, "permission denied for table"),
    ],
)
def test_it_is_said_in_the_words_of_postgresql(asking: Server, given: dict[str, str], reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        team_database.require_access(url(asking, **given))
    assert reason in describe_error(caught.value)
    assert reason not in f"{caught.value.message} {caught.value.hint}", "pages name no user, host or database"
    assert caught.value.hint
    assert not re.search(f"s3cret|{PASSWORD}", describe_error(caught.value))


@pytest.mark.parametrize(
    "argv",
    [
        ["ingest"],
        pytest.param(
            ["streamlit", "run", str(MAIN), "--server.headless", "true"],
            marks=pytest.mark.slow("starts a server of its own"),
        ),
        pytest.param(["warpdeck", "migrate"], marks=pytest.mark.slow("starts another process")),
    ],
)
def test_a_process_does_not_start_with_a_wrong_password(asking: Server, tmp_path: Path, argv: list[str]) -> None:
    done = started(argv, tmp_path, url(asking, password="s3cret"))
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert 'password authentication failed for user "warpdeck"' in said
    assert "Check user and password in WARPDECK_DATABASE" in said
    assert "Traceback" not in said
    assert "s3cret" not in said


@pytest.mark.slow("a worker that the database refuses for seconds")
def test_a_worker_that_runs_says_it_and_goes_on(asking: Server, tmp_path: Path) -> None:
    admin = psycopg.connect(asking.url("postgres"), autocommit=True)
    name = asking.create().rpartition("/")[2]
    admin.execute("CREATE ROLE turned SUPERUSER LOGIN PASSWORD 'p4ssw0rd'")
    told = {"WARPDECK_DATABASE": url(asking, name, "turned"), "WARPDECK_DATA": str(tmp_path), "WARPDECK_SCAN_S": "0.2"}
    log = tmp_path / "log"
    with log.open("wb") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", "ingest", "--samples", "off"],
            cwd=ROOT,
            env=os.environ | told,
            stdout=file,
            stderr=file,
        )
    catalog = Catalog(team_database.open_database(asking.url(name)))
    try:
        (tmp_path / "inbox").mkdir(exist_ok=True)
        team_queue.drop_trace(tmp_path / "inbox", 0)
        wait_until(lambda: catalog.job_states() == {"ready": 1})
        admin.execute("ALTER ROLE turned PASSWORD 'other'")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'turned'")
        wait_until(lambda: 'password authentication failed for user "turned"' in log.read_text())
        admin.execute("ALTER ROLE turned PASSWORD 'p4ssw0rd'")
        wait_until(lambda: "can be reached again" in log.read_text())
        team_queue.drop_trace(tmp_path / "inbox", 1)
        wait_until(lambda: catalog.job_states() == {"ready": 2})
    finally:
        worker.terminate()
        worker.wait(60)
        admin.close()
    assert log.read_text().count("password authentication failed") == 1
    assert "Traceback" not in log.read_text()


def test_the_rights_of_the_page_are_enough_and_needed(asking: Server, tmp_path: Path) -> None:
    """One role creates the tables, and another works with them; neither owns the database or has more rights."""
    to_migrate, to_run = RIGHTS.findall((ROOT / "docs" / "team.md").read_text(encoding="utf-8"))
    empty = asking.create("small", template="template0")

    def execute(user_url: str, statements: str) -> None:
        with psycopg.connect(user_url, autocommit=True) as db:
            for statement in filter(str.strip, re.sub(r"--.*", "", statements).split(";")):
                db.execute(statement.replace("NAME", "small"))

    migrating, running = (url(asking, "small", user) for user in ("warpdeck_owner", "warpdeck_run"))
    execute(empty, "CREATE ROLE warpdeck_owner LOGIN PASSWORD 'p4ssw0rd'")
    execute(empty, "CREATE ROLE warpdeck_run LOGIN PASSWORD 'p4ssw0rd'")
    done = started(["warpdeck", "migrate"], tmp_path, migrating)
    assert (done.returncode, "permission denied for" in done.stderr) == (1, True), done.stderr
    assert "docs/team.md lists the rights" in done.stderr
    execute(empty, to_migrate)
    done = started(["warpdeck", "migrate"], tmp_path, migrating)
    assert done.stdout == "The tables are in place.\n", done.stderr
    done = started(["ingest", "--once"], tmp_path, running)
    assert (done.returncode, "permission denied for" in done.stderr) == (1, True), done.stderr
    execute(migrating, to_run)
    team_queue.write_traces(tmp_path / "inbox", 2)
    done = started(["ingest", "--once", "--strict"], tmp_path, running)
    assert done.returncode == 0, done.stderr
    assert [job.state for job in Catalog(team_database.open_database(empty)).jobs()] == ["ready", "ready"]
    migrations.move(migrating, "0002")
    migrations.move(migrating)
    Catalog(postgres.Postgres(running)).set_labels("x", ["y"])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        execute(running, "DROP TABLE job")
