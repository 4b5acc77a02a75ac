"""A real PostgreSQL for tests: one server per process, one database per test, copied from one with all tables."""

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
"""Part of every address, so that a test can check that it does not leak."""
USER = "postgres" if os.getuid() == 0 else ""
"""The user that runs the server, which refuses to run as root."""
_QUICK = (
    *("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"),
    *("-c", "shared_buffers=16MB", "-c", "max_connections=100"),
)


class Server:
    """A database cluster in a temporary folder. It stops with this process, however the process ends.

    Args:
        port: the port on 127.0.0.1, with password authentication; by default, only a socket in its folder.
        password: the password of its only user.
        options: server options besides the address; by default, they avoid waiting for the disk.
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
        """Start the server and wait until it answers."""
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
        """Stop the server, closing all connections."""
        if self._process:
            self._process.send_signal(2)
            self._process.wait(30)
            self._process = None

    def pause(self) -> None:
        """Suspend the server and all its connections, like a machine that hangs."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume the server."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process
        whole = psutil.Process(self._process.pid)
        for process in (whole, *whole.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, name: str) -> str:
        """Return the address of a database."""
        where = f"127.0.0.1:{self.port}/{name}" if self.port else f"/{name}?host={self.folder}"
        return f"postgresql://warpdeck:{self._password}@{where}"

    def create(self, name: str = "", template: str = "template") -> str:
        """Create a database, by default one with all tables, and return its address."""
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
    """The server of this process; tests/support/needs.py skips tests if PostgreSQL is missing."""
    needs.require("PostgreSQL")
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def team(postgres: Server) -> Iterator[Shared]:
    """An empty team database with its tables."""
    shared = team_database.open_database(postgres.create())
    yield shared
    shared.close()


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """An empty catalog, of each kind in turn."""
    return Catalog(tmp_path / FILE if request.param == "sqlite" else request.getfixturevalue("team"))
