"""A server with a low upload limit, and uploads sent piece by piece."""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from app.web.upload_store import FOLDER_PREFIX
from bench.pages import Server, run_server
from tests.app.web.client import Session, frame, session
from tests.conftest import wait_until

MB = 1 << 20
PIECE = b"\0\xff0123456789abcdef" * (MB // 18 + 1)
SETTINGS = {"WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
LIMITS = {"WARPDECK_MAX_UPLOAD_MB": "5", "WARPDECK_UPLOADS_MB": "12"}


@pytest.fixture(scope="module", name="data")
def make_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module", name="small")
def make_small(data: Path) -> Iterator[Server]:
    """A server that takes files of 5 MB, 12 MB at a time."""
    with run_server(SETTINGS | LIMITS | {"WARPDECK_DATA": str(data)}, {"address": "127.0.0.1"}) as one:
        yield one


@pytest.fixture(name="page")
def make_page(small: Server, data: Path) -> Iterator[Session]:
    """The Library page of that server, opened; nothing of it is left afterward."""
    with session(small.address) as one:
        one.run()
        yield one
    wait_until(lambda: held(data) == [])


@pytest.fixture(name="own")
def make_own(tmp_path: Path) -> Path:
    """A data folder for a test with a server of its own."""
    return tmp_path / "data"


def held(data: Path) -> list[Path]:
    """The files that wait for a page to take them."""
    return [path for folder in (data / "inbox").glob(f"{FOLDER_PREFIX}*") for path in folder.iterdir()]


def measure_held(data: Path) -> list[int]:
    """Return the sizes of these files in bytes; one that is removed meanwhile has none."""
    sizes = []
    for path in held(data):
        with contextlib.suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sizes


class Sending:
    """An upload that is sent piece by piece, with its length told or not."""

    def __init__(self, page: Session, size: int, *, told: bool, name: str = "x.bin") -> None:
        parts = urlsplit(page.address)
        head, self.tail = frame(name)
        self.chunked = not told
        self.socket = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=60)
        lines = [f"PUT /_stcore/upload_file/{page.id}/{time.monotonic_ns()} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{key.replace('_', '-')}: {value}" for key, value in page.upload_headers().items()]
        lines.append(f"Content-Length: {len(head) + size + len(self.tail)}" if told else "Transfer-Encoding: chunked")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.send(head)

    def __enter__(self) -> "Sending":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)

    def status(self) -> int:
        """The answer, once everything has been sent."""
        return int(self.socket.recv(4096).split()[1])

    def finish(self) -> int:
        self.send(self.tail)
        if self.chunked:
            self.socket.sendall(b"0\r\n\r\n")
        return self.status()


def hand_over(page: Session, file_id: str, name: str, size: int) -> None:
    """Tells the page that the uploader holds a file, as the browser does after its upload."""
    widget = next(
        message.delta.new_element.file_uploader.id
        for message in reversed(page.said)
        if message.delta.new_element.WhichOneof("type") == "file_uploader"
    )

    def states(message: BackMsg) -> None:
        state = message.rerun_script.widget_states.widgets.add()
        state.id = widget
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.file_id, info.name, info.size = file_id, name, size

    page.run(states=states)
