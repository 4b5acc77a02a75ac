"""``warpdeck push``: real servers accept files, refuse them, and break."""

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bench.pages import find_free_port, run_server
from profiledb.errors import ConfigError, ConversionError
from profiledb.words import bytes_
from tests.app.web.provider import guarded, provider
from tests.conftest import SAMPLES, wait_until
from warpdeck import main, push_command
from warpdeck.push_command import Server, send


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("server") / "data"
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.5"}
    with run_server(settings, {"address": "127.0.0.1"}) as running:
        yield running.address


@pytest.mark.integration
def test_a_file_becomes_a_report_and_is_sent_once(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = Path(shutil.copy(SAMPLES / "kernels.sqlite", tmp_path / "my run.sqlite"))
    broken = tmp_path / "broken.nsys-rep"
    broken.write_bytes(b"no report at all")
    assert main.main(["push", "--server", address, str(sample), str(broken)]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[0].startswith("my run.sqlite: sending ")
    (line,) = [one for one in said.out.splitlines() if address in one]
    assert "?report=" in line
    assert said.err.startswith("broken.nsys-rep: broken.nsys-rep does not start like")
    monkeypatch.setenv("WARPDECK_SERVER", f"{address}/")
    assert main.main(["push", str(sample)]) == 0
    assert capsys.readouterr().out == f"{line}\n", "the server has it, so nothing is sent"


@pytest.mark.integration
def test_a_server_with_a_login_wants_a_token(tmp_path: Path) -> None:
    sample = Path(shutil.copy(SAMPLES / "launches_tiny.sqlite", tmp_path))
    with provider() as issuer, guarded(issuer, tmp_path / "data", tmp_path / "secrets.toml") as (running, _):
        with pytest.raises(ConfigError, match="The server refuses: "):
            send(Server(running.address, ""), sample)
        with pytest.raises(ConfigError, match="The server refuses: "):
            send(Server(running.address, "wd_wrong"), sample)


class Breaking:
    """A way to a server on which the first upload breaks off after ``most`` bytes of it."""

    def __init__(self, address: str, most: int) -> None:
        self.target = urlsplit(address)
        self.most: int | None = most
        self.requests: list[bytes] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._pass_on(self.socket.accept()[0])

    def _pass_on(self, connection: socket.socket) -> None:
        with connection, socket.create_connection((self.target.hostname or "", self.target.port or 80)) as server_:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            head, _, body = head.partition(b"\r\n\r\n")
            self.requests.append(head.splitlines()[0])
            length = next((int(line.split(b":")[1]) for line in head.splitlines() if line.startswith(b"Content-Le")), 0)
            server_.sendall(head + b"\r\nConnection: close\r\n\r\n")
            sent = 0
            while True:
                if length and self.most is not None and sent + len(body) > self.most:
                    server_.sendall(body[: self.most - sent])
                    self.most = None
                    server_.close()
                    self._wait_until_noticed()
                    return
                server_.sendall(body)
                sent += len(body)
                if sent >= length:
                    break
                body = connection.recv(65536)
            while answer := server_.recv(65536):
                connection.sendall(answer)

    def _wait_until_noticed(self) -> None:
        (sha256,) = parse_qs(urlsplit(self.requests[-1].split()[1].decode()).query)["sha256"]
        direct = Server(self.target.geturl(), "")
        wait_until(lambda: direct.ask(f"/uploads/{sha256}").status == 200)


@pytest.mark.integration
@pytest.mark.slow("sends a large file in pieces")
def test_after_a_break_the_rest_is_sent(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_command, "_PAUSE_S", 0.0)
    sample = Path(shutil.copy(SAMPLES / "launches_tiny.sqlite", tmp_path))
    most = sample.stat().st_size // 2
    way = Breaking(address, most)
    page = send(Server(way.address, ""), sample)
    assert "?report=" in page
    said = capsys.readouterr().out
    posts = [line.decode() for line in way.requests if line.startswith(b"POST")]
    offsets = [int(parse_qs(urlsplit(line.split()[1]).query).get("offset", ["0"])[0]) for line in posts]
    assert offsets[0] == 0
    assert 0 < offsets[1] <= most, "what arrived is not sent again"
    assert len(offsets) == 2
    assert f"{bytes_(offsets[1])} have arrived; sending the rest" in said


def test_a_server_that_breaks_is_asked_again_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_command, "_PAUSE_S", 0.0)
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"x" * 100_000)
    came: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    came.append(1)
                    connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        with pytest.raises(ConversionError, match=r"The server 127\.0\.0\.1 does not take it: "):
            send(Server(f"http://127.0.0.1:{listening.getsockname()[1]}", ""), file)
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    assert len(came) == push_command.TRIES
    with pytest.raises(ConversionError, match="Connection refused"):
        send(Server(f"http://127.0.0.1:{find_free_port()}", ""), file)


@pytest.mark.parametrize(
    ("address", "token", "sentence"),
    [
        ("ftp://x", "", "'ftp://x' is no address of a server."),
        ("profiles.example.com", "", "is no address of a server."),
        ("https://me:pw@x", "", "is no address of a server."),
        ("http://profiles.example.com", "wd_1", "A token goes over https only."),
        ("https://profiles.example.com", "a\r\nHost: b", "WARPDECK_TOKEN is no token."),
    ],
)
def test_an_address_that_is_none_is_a_sentence(address: str, token: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Server(address, token)


def test_a_file_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.sqlite", tmp_path):
        with pytest.raises(ConversionError, match="There is no such file"):
            send(Server("http://localhost:1", ""), path)
