"""Only the server that wrote a library's server file counts as its server, whatever the file says."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench.pages import find_free_port
from profiledb import config
from profiledb.config import Settings
from profiledb.errors import ConfigError
from profiledb.library import server_file
from warpdeck import serve, server_process


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "library").mkdir()
    return config.load(library=tmp_path / "library", inbox=tmp_path / "inbox")


@contextmanager
def speaking(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Run another program on a local port that sends ``answer`` to every client; yield the port and the data it got."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_all() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(ConnectionError):  # who asked may have heard enough
                    heard.append(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve_all, daemon=True)
        thread.start()
        yield listening.getsockname()[1], heard
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_no_file_and_garbage_are_no_server(settings: Settings) -> None:
    assert server_process.find_server(settings) is None
    for content in ("", "{}", "null", '{"port": "x"}', "\0" * 500):
        (settings.library / server_file.NAME).write_text(content)
        assert server_process.find_server(settings) is None


def test_a_port_on_which_nobody_listens_any_more(settings: Settings) -> None:
    server_file.announce(settings.library, server_file.describe_server(find_free_port(), "", settings.inbox_text))
    assert server_process.find_server(settings) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff\xfe\x00 nonsense",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + b"0" * 64,
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    ],
)
def test_another_program_on_the_port_is_not_taken_for_it(answer: bytes, settings: Settings) -> None:
    with speaking(answer) as (port, heard):
        server_file.announce(settings.library, server_file.describe_server(port, "", settings.inbox_text))
        assert server_process.find_server(settings) is None
    assert len(heard) == 1  # asked once, and not led elsewhere


def test_an_answer_to_an_earlier_question_proves_nothing(settings: Settings) -> None:
    one = server_file.describe_server(1, "", settings.inbox_text)
    replayed = one.answer("0" * 32).encode()
    with speaking(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + replayed) as (port, heard):
        found = server_file.Serving(port, "", one.inbox, one.key)
        assert not server_process.answers(found)
        assert not server_process.answers(found)
    assert heard[0] != heard[1]
    assert all(one.key.encode() not in asked for asked in heard)


def test_a_base_path_cannot_smuggle_a_request(settings: Settings) -> None:
    with speaking(b"") as (port, heard):
        fields = {"port": port, "base": "/x HTTP/1.1\r\nHost: evil\r\n\r\n", "inbox": "/", "key": "ab" * 32}
        (settings.library / server_file.NAME).write_text(json.dumps(fields))
        assert server_process.find_server(settings) is None
    assert heard == []


def test_one_command_at_a_time_starts_a_server(settings: Settings) -> None:
    entered = threading.Event()

    def second() -> None:
        with server_process.hold_server_lock(settings):
            entered.set()

    thread = threading.Thread(target=second, daemon=True)
    with server_process.hold_server_lock(settings):
        thread.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    thread.join(10)


def test_a_port_in_use_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Cannot listen on port {port} of localhost: Address already in use."):
            serve.require_free("localhost", port)
    serve.require_free("localhost", find_free_port())
