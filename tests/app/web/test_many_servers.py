"""Two servers of one library behind a real nginx, with the configuration in deploy/."""

import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.pages import Server, run_server
from profiledb.library.library import Library
from tests.app.web.client import ask, session
from tests.conftest import run_ingest, wait_until
from tests.support.dropped_files import made
from tests.support.nginx_proxy import COOKIE, behind, ways

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    (folder / "inbox").mkdir()
    made(folder / "inbox" / "a.sqlite")
    run_ingest(folder / "inbox", folder / "library")
    return folder


@pytest.fixture(scope="module")
def servers(data: Path) -> Iterator[tuple[Server, Server]]:
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with run_server(settings, {}) as one, run_server(settings, {}) as other:
        yield one, other


@pytest.fixture(scope="module")
def proxy(servers: tuple[Server, Server], data: Path, nginx: Path) -> Iterator[str]:
    with behind(nginx, servers, data) as address:
        yield address


def browser(address: str) -> str:
    """The cookie that a new browser is given."""
    found = re.search(rf"{COOKIE}=([0-9a-f]{{32}})", ask(address, "/").headers["set-cookie"])
    assert found
    return found[1]


def drawn(proxy: str, report: str, cookie: str) -> bool:
    """Whether the timeline of a report is there; 202 says that it is being made."""
    answer = ask(proxy, f"/_warpdeck/timeline/{report}/lanes", Cookie=cookie)
    assert answer.status in (200, 202), answer.body
    return answer.status == 200


def test_a_browser_stays_with_its_server_until_that_is_gone(
    proxy: str, servers: tuple[Server, Server], data: Path
) -> None:
    report = Library(data / "library").list()[0].id
    answers = set()
    keys = [browser(proxy) for _ in range(12)]
    for key in keys:
        cookie = f"{COOKIE}={key}"
        answers.add(ask(proxy, "/api/v1/reports", Cookie=cookie).body)
        wait_until(partial(drawn, proxy, report, cookie))
    assert len(answers) == 1
    assert all(len(ways(data, key)) == 1 for key in keys)
    assert len({way for key in keys for way in ways(data, key)}) == 2
    key = keys[0]
    (way,) = ways(data, key)
    with session(proxy, {COOKIE: key}) as page:
        page.run()
        assert page.put(b"x" * (1 << 20)).status == 204
        own = next(one for one in servers if one.address.endswith(way))
        os.kill(own.pid, signal.SIGKILL)
        wait_until(lambda: ask(proxy, "/health", Cookie=f"{COOKIE}={key}").status == 200)
    with session(proxy, {COOKIE: key}) as page:
        page.run()
        assert "a.sqlite" in page.text()
        assert page.put(b"x" * (1 << 20)).status == 204
    assert all(ask(proxy, "/health", Cookie=f"{COOKIE}={one}").status == 200 for one in keys)
