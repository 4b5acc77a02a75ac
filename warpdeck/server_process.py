"""The server of a library: the one that runs already, or one that is started."""

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
PATIENCE_S = 2.0
"""Time in which a server that runs answers."""
START_S = 90.0
"""Time in which a server that starts answers."""
_LOOK_S = 0.1


def find(settings: Settings) -> Serving | None:
    """The server that serves this library now, on this machine."""
    found = server_file.read_announcement(settings.library)
    return found if found and answers(found) else None


def answers(found: Serving) -> bool:
    """Whether a server answers as only the one can that wrote the file. Redirects are not followed."""
    number = secrets.token_hex(16)
    connection = http.client.HTTPConnection(ADDRESS, found.port, timeout=PATIENCE_S)
    try:
        connection.request("GET", f"{found.base}{server_file.PATH}?{number}")
        answer = connection.getresponse()
        text = answer.read(200)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return answer.status == 200 and hmac.compare_digest(text, found.answer(number).encode())


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """One command at a time looks for a server and starts one, so that two do not start two."""
    settings.library.mkdir(parents=True, exist_ok=True)
    with (settings.library / "server.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class Started:
    """A server that this command started, and that ends with it: it reads from a pipe that only this one holds."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, settings: Settings, port: int | None) -> "Started":
        """Starts a server, without the samples unless they are asked for: what is opened comes first."""
        samples = settings.samples if config.variables_with_prefix("WARPDECK_SAMPLES") else None
        command = [
            *(sys.executable, "-m", "warpdeck", "serve", "--until-stdin-closes"),
            *("--inbox", settings.inbox_text, "--library", settings.library_text, "--samples", str(samples or "off")),
            *(("--port", str(port)) if port else ()),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # Streamlit's greeting; warnings and errors go where ours go
            cwd=config.ROOT,
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )
        return cls(process)

    def serving(self, settings: Settings) -> Serving:
        """Waits until it answers.

        Raises:
            WarpdeckError: it ended, or does not answer in time.
        """
        limit = time.monotonic() + START_S
        while time.monotonic() < limit:
            self.require()
            if found := find(settings):
                return found
            time.sleep(_LOOK_S)  # between two looks; the answer decides
        raise WarpdeckError(f"The dashboard does not answer after {START_S:.0f} seconds.")

    def require(self) -> None:
        """Raises WarpdeckError if the server has ended."""
        if self.process.poll() is not None:
            raise WarpdeckError("The dashboard ended.")

    def wait(self) -> None:
        """Returns when the server has ended."""
        self.process.wait()

    def stop(self) -> None:
        """Ends the server and waits for it."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
