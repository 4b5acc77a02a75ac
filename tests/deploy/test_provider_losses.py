"""With a hung or lost identity provider, people who are logged in go on; a new login fails with a reason."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from app.web.sign_in_middleware import PROVIDER_UNAVAILABLE
from bench.pages import Server
from tests.app.web.client import ask, session
from tests.app.web.provider import guarded, log_in, process_of, provider, way_in
from tests.conftest import run_ingest
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
PATIENCE_S = 15.0


@pytest.fixture
def issuer() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.fixture
def process(issuer: str) -> psutil.Process:
    """The provider itself."""
    return process_of(issuer)


@pytest.fixture
def dashboard(issuer: str, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "inbox").mkdir()
    made(tmp_path / "inbox" / "a.sqlite")
    run_ingest(tmp_path / "inbox", tmp_path / "library")
    with guarded(issuer, tmp_path, tmp_path / "secrets.toml") as (server, _):
        yield server


@pytest.mark.slow("the identity provider is away for seconds")
def test_who_is_logged_in_goes_on_and_others_hear_why(dashboard: Server, process: psutil.Process) -> None:
    address = dashboard.address
    cookies = log_in(address, "victor")
    way = way_in(address)

    def refused() -> None:
        begun = time.monotonic()
        answer = httpx.get(f"{address}{way}", timeout=60)
        assert (answer.status_code, answer.text) == (503, PROVIDER_UNAVAILABLE)
        assert answer.headers["x-content-type-options"] == "nosniff", "with the headers of every answer"
        assert time.monotonic() - begun < PATIENCE_S
        with session(address, cookies) as page:
            page.run()
            assert "a.sqlite" in page.text()
        assert json.loads(ask(address, "/health").body)["status"] == "ready"

    process.suspend()
    try:
        refused()
    finally:
        process.resume()
    assert log_in(address, "edith")
    process.kill()
    process.wait()
    refused()
