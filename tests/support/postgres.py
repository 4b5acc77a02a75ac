"""A real PostgreSQL of a test's own: one server a process, a database a test, copied from one that has the tables."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest

from profiledb.library import migrations, team_database
from profiledb.library.catalog import FILE, Catalog
from profiledb.library.database import Shared
from tests.support import needs

PASSWORD = "p4ssw0rd"
"""Stands in every address, so that a test can look for it where it must not be."""
USER = "postgres" if os.getuid() == 0 else ""
"""Who runs the server, which does not run as root."""
_QUICK = (
    *("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"),
    *("-c", "shared_buffers=16MB", "-c", "max_connections=100"),
)


class Server:
    """A cluster in a temporary folder; it ends with this process, however that ends.

    Args:
        port: where it listens on 127.0.0.1, and asks for the password; by itself it has a socket in its folder alone.
        password: of its one user.
        options: of the server besides where it listens; by themselves such that a test waits for no disk.
    """

    def __init__(self, port: int = 0, password: str = PASSWORD, options: Sequence[str] = _QUICK) -> None:
        self.port = port
        self._password = password
        found = needs.find_postgres()
        assert found
        self._programs = found
        self._options = options
        self.folder = Path(tempfile.mkdtemp(prefix="wd-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        if USER:
            shutil.chown(self.folder, USER)
        (self.folder / "password").write_text(password)
        self._run(
            "initdb", "-D", str(self.folder / "data"), "-A", "scram-sha-256" if port else "trust", "-U", "warpdeck",
            "--pwfile", str(self.folder / "password"), "-E", "UTF8", "--no-sync",
        )  # fmt: skip
        self.start()
        migrations.move(self.create("template", ""))

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        listens = ("-c", f"listen_addresses={'127.0.0.1' if self.port else ''}", "-p", str(self.port or 5432))
        where = ("-D", str(self.folder / "data"), "-k", str(self.folder), *listens)
        argv = self._argv("postgres", *where, *self._options)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self.folder)
        limit = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                assert time.monotonic() < limit, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Stops the server: connections end, and nobody answers new ones."""
        if self._process:
            self._process.send_signal(2)
            self._process.wait(30)
            self._process = None

    def pause(self) -> None:
        """Has the server stand still with all its connections, as a machine does that hangs."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Ends the pause."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process
        whole = psutil.Process(self._process.pid)
        for process in (whole, *whole.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def remove(self) -> None:
        """Stops it, and removes all of it."""
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, name: str) -> str:
        """The address of a database."""
        where = f"127.0.0.1:{self.port}/{name}" if self.port else f"/{name}?host={self.folder}"
        return f"postgresql://warpdeck:{self._password}@{where}"

    def create(self, name: str = "", template: str = "template") -> str:
        """Makes a database, by itself one with all tables, and answers its address."""
        name = name or f"test_{next(self._numbers)}"
        copied = f" TEMPLATE {template}" if template else ""
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}{copied}")
        return self.url(name)

    def _run(self, *argv: str) -> None:
        subprocess.run(self._argv(*argv), check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def _argv(self, program: str, *rest: str) -> list[str]:
        as_user = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if USER else []
        return ["setpriv", *as_user, "--pdeathsig=INT", str(self._programs / program), *rest]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this process; tests/support/needs.py skips a test that asks for it where there is none."""
    needs.require("PostgreSQL")
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def team(postgres: Server) -> Iterator[Shared]:
    """An empty database of a team, with its tables."""
    shared = team_database.open_database(postgres.create())
    yield shared
    shared.close()


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """An empty catalog, of each kind in turn."""
    return Catalog(tmp_path / FILE if request.param == "sqlite" else request.getfixturevalue("team"))
