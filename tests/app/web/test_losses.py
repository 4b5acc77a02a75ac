"""While a team's database is away: answers to programs and links, and the end of an upload."""

import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.api import routes
from app.web import security_headers_middleware, sharing_route
from bench.pages import find_free_port


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A program that asks a server whose database does not answer."""
    for name, value in {
        "DATA": str(tmp_path),
        "DATABASE": f"postgresql://team:hidden@127.0.0.1:{find_free_port()}/team",
        "SAMPLES": "off",
        "WORKER": "off",
    }.items():
        monkeypatch.setenv(f"WARPDECK_{name}", value)
    app = Starlette(
        routes=[sharing_route.make_route(), *routes.build_routes()],
        exception_handlers={Exception: security_headers_middleware.answer_server_error},
    )
    return TestClient(app, raise_server_exceptions=False)


def upload(client: TestClient, more: str = "") -> Any:
    """The answer to a program that sends a file."""
    kind = {"content-type": "application/octet-stream"}
    return client.post(f"/api/v1/uploads?name=a.nsys-rep{more}", content=b"abc", headers=kind)


def test_programs_hear_that_they_may_ask_again(client: TestClient) -> None:
    for answer in (client.get("/api/v1/reports"), upload(client, "&space=kernels")):
        assert answer.status_code == 503
        assert "database cannot be reached" in answer.json()["title"]
        assert "hidden" not in answer.text


def test_an_upload_is_taken_and_the_log_has_whose_it_is(
    client: TestClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "warpdeck"):
        answer = upload(client)
    assert (answer.status_code, answer.json()) == (202, {"name": "a.nsys-rep", "bytes": 3})
    assert (tmp_path / "inbox" / "a.nsys-rep").read_bytes() == b"abc"
    assert "The audit has no entry that local uploaded 'a.nsys-rep'" in caplog.text
    assert "hidden" not in caplog.text


def test_a_link_says_what_is_missing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing_route, "are_links_allowed", lambda: True)
    answer = client.get(f"/shared/ws_0123456789ab_{'0' * 64}")
    assert answer.status_code == 503
    assert "database cannot be reached" in answer.text
