"""Two servers of one library behind a real nginx, with the configuration in deploy/."""

import os
import re
import signal
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.pages import Server, find_free_port, run_server
from profiledb.library.library import Library
from tests.app.web.client import ask, session
from tests.conftest import run_ingest, wait_until
from tests.deploy.test_nginx import Told, is_up
from tests.support.dropped_files import made
from tests.support.nginx_proxy import COOKIE, behind, proxied, site_of, ways

pytestmark = pytest.mark.integration
HERE = ("127.0.0.1", 0)


def browser(address: str) -> str:
    """The cookie that a new browser is given."""
    found = re.search(rf"{COOKIE}=([0-9a-f]{{32}})", ask(address, "/").headers["set-cookie"])
    assert found
    return found[1]


def test_nginx_asks_one_server_for_a_browser_until_that_is_gone(nginx: Path, tmp_path: Path) -> None:
    """The configuration alone, before servers that answer without a dashboard."""
    servers = {f"127.0.0.1:{one.server_port}": one for one in (ThreadingHTTPServer(HERE, Told) for _ in range(2))}
    threads = [threading.Thread(target=one.serve_forever, args=(0.01,)) for one in servers.values()]
    for thread in threads:
        thread.start()
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    try:
        with proxied(nginx, tmp_path, site_of([one.server_port for one in servers.values()], port)):
            wait_until(partial(is_up, address))
            cookies = {key: f"{COOKIE}={key}" for key in (browser(address) for _ in range(12))}
            assert {ask(address, "/", Cookie=one).status for one in [*cookies.values()] * 3} == {200}
            asked = {key: ways(tmp_path, key) for key in cookies}
            assert all(len(found) == 1 for found in asked.values())
            assert set.union(*asked.values()) == servers.keys()
            (gone,) = asked[next(iter(cookies))]
            servers[gone].shutdown()
            servers[gone].server_close()
            assert {ask(address, "/", Cookie=one).status for one in cookies.values()} == {200}
    finally:
        for one in servers.values():
            one.shutdown()
            one.server_close()
        for thread in threads:
            thread.join()


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


def drawn(proxy: str, report: str, cookie: str) -> bool:
    """Whether the timeline of a report is there; 202 says that it is being made."""
    answer = ask(proxy, f"/_warpdeck/timeline/{report}/lanes", Cookie=cookie)
    assert answer.status in (200, 202), answer.body
    return answer.status == 200


@pytest.mark.slow("starts two servers and kills one")
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
