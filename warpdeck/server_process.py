"""Find the running server of a library, start one, or run a worker once."""

import fcntl
import hmac
import http.client
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from profiledb import config
from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.library import server_file
from profiledb.library.server_file import Serving

ADDRESS = "127.0.0.1"
ANSWER_S = 2.0
"""Seconds in which a running server must answer."""
START_S = 90.0
"""Seconds in which a starting server must answer."""
_LOOK_S = 0.1


def find_server(settings: Settings) -> Serving | None:
    """Return the server that serves this library now on this machine."""
    serving = server_file.read_announcement(settings.library)
    return serving if serving and answers(serving) else None


def answers(serving: Serving) -> bool:
    """Return True if a server proves that it wrote the server file. Redirects are not followed."""
    number = secrets.token_hex(16)
    connection = http.client.HTTPConnection(ADDRESS, serving.port, timeout=ANSWER_S)
    try:
        connection.request("GET", f"{serving.base}{server_file.PATH}?{number}")
        answer = connection.getresponse()
        text = answer.read(200)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return answer.status == 200 and hmac.compare_digest(text, serving.answer(number).encode())


@contextmanager
def hold_server_lock(settings: Settings) -> Iterator[None]:
    """Let one command at a time look for a server and start one, so that two do not start two."""
    settings.library.mkdir(parents=True, exist_ok=True)
    with (settings.library / "server.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class StartedServer:
    """A server that this command started. It reads from a pipe that only this process holds, and so ends with it."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, settings: Settings, port: int | None) -> "StartedServer":
        """Start a server, without samples unless they were asked for: the opened files come first."""
        samples = settings.samples if config.list_variables("WARPDECK_SAMPLES") else None
        command = [
            *(sys.executable, "-m", "warpdeck", "serve", "--until-stdin-closes"),
            *("--inbox", settings.inbox_text, "--library", settings.library_text, "--samples", str(samples or "off")),
            *(("--port", str(port)) if port else ()),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # Streamlit's greeting; warnings and errors go to our standard error
            cwd=config.ROOT,
            start_new_session=True,  # Ctrl-C reaches this process, which then ends the server
        )
        return cls(process)

    def wait_until_serving(self, settings: Settings) -> Serving:
        """Wait until the server answers.

        Raises:
            WarpdeckError: it ended, or does not answer in time.
        """
        limit = time.monotonic() + START_S
        while time.monotonic() < limit:
            self.require()
            if serving := find_server(settings):
                return serving
            time.sleep(_LOOK_S)  # between two looks; the answer decides
        raise WarpdeckError(f"The dashboard does not answer after {START_S:.0f} seconds.")

    def require(self) -> None:
        """Raise WarpdeckError if the server has ended."""
        if self.process.poll() is not None:
            raise WarpdeckError("The dashboard ended.")

    def wait(self) -> None:
        """Wait until the server has ended."""
        self.process.wait()

    def stop(self) -> None:
        """End the server and wait for it."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def convert_once(settings: Settings) -> None:
    """Convert the files of the inbox in a worker that then ends; the catalog lists the error of each file."""
    command = [sys.executable, "-m", "warpdeck", "ingest", "--once", "--samples", "off"]
    command += ["--inbox", settings.inbox_text, "--library", settings.library_text]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=config.ROOT, check=False)
