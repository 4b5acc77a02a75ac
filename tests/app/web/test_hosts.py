"""Trusted hosts: a real server refuses requests that other sites' pages make a browser send."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus

from bench.pages import Server, run_server
from tests.app.web.client import ask, open_socket, session

pytestmark = pytest.mark.integration
QUIET = {"WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
ROUTES = (
    "/",
    "/kernels",
    "/_stcore/health",
    "/_stcore/host-config",
    "/media/x.csv",
    "/static/nothing.js",
    "/favicon.png",
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard as ``make run`` starts it: no address, no host names given."""
    with run_server(QUIET | {"WARPDECK_DATA": str(tmp_path_factory.mktemp("hosts"))}, {}) as one:
        yield one


@pytest.fixture
def port(running: Server) -> int:
    number = urlsplit(running.address).port
    assert number
    return number


def test_it_listens_on_this_machine_alone(running: Server, port: int) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {fields[1] for fields in listening if fields[3] == "0A" and fields[1].endswith(f":{port:04X}")}
    assert addresses == {f"0100007F:{port:04X}"}
    assert f":{port:04X} " not in Path("/proc/net/tcp6").read_text()
    assert "WITHOUT A LOGIN" not in running.log.read_text()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "localhost."])
def test_its_own_names_are_answered(running: Server, port: int, name: str) -> None:
    assert ask(running.address, "/", Host=f"{name}:{port}").status == 200
    with open_socket(running.address, origin=f"http://{name}:{port}", host=f"{name}:{port}") as websocket:
        assert websocket.subprotocol == "streamlit"


def test_a_page_is_drawn(running: Server) -> None:
    with session(running.address) as page:
        page.run()
        assert "No reports yet" in page.text()


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost", ""]
)
def test_a_foreign_host_gets_nothing(running: Server, port: int, host: str, path: str) -> None:
    answer = ask(running.address, path, Host=f"{host}:{port}" if host else "")
    assert answer.status in (400, 403)
    assert b"<html" not in answer.body
    assert "set-cookie" not in answer.headers


def test_two_hosts_get_nothing(running: Server, port: int) -> None:
    parts = urlsplit(running.address)
    with socket.create_connection((parts.hostname or "", port), timeout=30) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"403")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:1", "http://localhost", "null", "file://"])
def test_a_foreign_origin_gets_nothing(running: Server, path: str, origin: str) -> None:
    answer = ask(running.address, path, Origin=origin)
    assert answer.status == 403
    assert b"<html" not in answer.body


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", ""),
        ("http://localhost:1", ""),  # another program of this machine: Streamlit itself would take it
        ("null", ""),
        ("http://evil.example:{port}", "evil.example:{port}"),  # DNS rebinding: a page that believes to be at home
        ("http://127.0.0.1:{port}", "evil.example:{port}"),
    ],
)
def test_a_foreign_page_gets_no_websocket(running: Server, port: int, origin: str, host: str) -> None:
    with (
        pytest.raises(InvalidStatus) as refusal,
        open_socket(running.address, origin=origin.format(port=port), host=host.format(port=port)),
    ):
        pass
    assert refusal.value.response.status_code == 403


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard that listens for everybody, under two host names."""
    settings = {
        "WARPDECK_DATA": str(tmp_path_factory.mktemp("public")),
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "profiles.example.com *.gpu.example.com",
    }
    with run_server(QUIET | settings, {"address": "0.0.0.0"}) as one:
        yield one


def test_other_names_can_be_allowed_in_the_environment(public: Server) -> None:
    address = public.address
    assert ask(address, "/", Host="profiles.example.com").status == 200
    assert ask(address, "/", Host="profiles.example.com", Origin="https://profiles.example.com").status == 200
    assert ask(address, "/", Host="a.gpu.example.com").status == 200
    assert ask(address, "/").status == 403
    assert ask(address, "/_stcore/health").status == 200, "for the container's own health check"
    assert ask(address, "/_stcore/health", Host="evil.example:80").status == 403


def test_listening_for_everybody_without_a_login_is_said(public: Server) -> None:
    log = public.log.read_text()
    assert "listens on 0.0.0.0 WITHOUT A LOGIN" in log
    assert "read, upload and delete" in log
