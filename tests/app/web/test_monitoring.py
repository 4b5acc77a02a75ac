"""A real server as its operator sees it: health, metrics, log."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.pages import Server, find_free_port, run_server
from profiledb import confinement
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from tests.app.web.client import ask, session
from tests.conftest import wait_until
from tests.profiledb.monitoring.test_prometheus import values

pytestmark = pytest.mark.integration
SECRET = "wd-secret-value"
CONFINED = {"landlock": "ok" if confinement.read_version() >= 1 else "missing"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("operating")


@pytest.fixture(scope="module")
def metrics() -> str:
    return f"http://127.0.0.1:{find_free_port()}"


@pytest.fixture(scope="module")
def running(data: Path, metrics: str) -> Iterator[Server]:
    settings = {
        "WARPDECK_DATA": str(data),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_WORKER": "off",
        "WARPDECK_LOG": "json",
        "WARPDECK_METRICS": str(urlsplit(metrics).port),
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    with run_server(settings, {}) as one:
        yield one


def test_who_looks_after_it_hears_what_is_missing(running: Server, data: Path) -> None:
    assert json.loads(ask(running.address, "/health/live").body) == {"status": "live"}
    well = ask(running.address, "/health")
    assert well.status == 200
    assert json.loads(well.body) == {"status": "ready", "database": "ok", "store": "ok", "worker": "off"} | CONFINED
    assert well.headers["cache-control"] == "no-store"
    assert ask(running.address, "/health", Host="evil.example").status == 403
    shutil.move(data / "library", data / "away")
    try:
        wait_until(lambda: ask(running.address, "/health").status == 503)
        told = json.loads(ask(running.address, "/health").body)
        assert told == {"status": "not ready", "database": "missing", "store": "missing", "worker": "off"} | CONFINED
        assert ask(running.address, "/health/live").status == 200
    finally:
        shutil.rmtree(data / "library", ignore_errors=True)
        shutil.move(data / "away", data / "library")
    wait_until(lambda: ask(running.address, "/health").status == 200)


def test_its_figures_are_on_an_address_of_their_own(running: Server, metrics: str, data: Path) -> None:
    Library(data / "library").catalog.put_job(
        Job("/x/a", "a", "1", "failed", message="secret name"), Job("/x/b", "b", "1", "odd")
    )
    with session(running.address) as page:
        page.run()
        answer = ask(metrics, "/metrics")
        found = values(answer.body.decode())
        assert found["warpdeck_sessions", ""] == 1
    assert answer.status == 200
    assert found["warpdeck_files", "failed"] == 1
    assert found["warpdeck_files", "other"] == 1
    assert found["warpdeck_part_up", "database"] == 1
    assert found["warpdeck_part_up", "worker"] == 0
    assert found["warpdeck_page_seconds_count", "library"] >= 1
    assert found["warpdeck_page_seconds_sum", "library"] > 0
    assert found["warpdeck_http_answers_total", "2xx"] >= 1
    assert found["process_resident_memory_bytes", ""] > 1e7
    assert b"secret name" not in answer.body
    assert ask(metrics, "/health").status == 200
    assert b"warpdeck_" not in ask(running.address, "/metrics").body
    wait_until(lambda: values(ask(metrics, "/metrics").body.decode())["warpdeck_sessions", ""] == 0)


def test_its_log_is_an_object_a_line(running: Server) -> None:
    with session(running.address) as page:
        page.run()
    lines = [line for line in running.log.read_text().splitlines() if line.startswith("{")]
    events = [json.loads(line) for line in lines]
    assert {"server_started", "page"} <= {one["event"] for one in events}
    assert all({"time", "level", "event"} <= one.keys() for one in events)
    page_event = next(one for one in events if one["event"] == "page")
    assert page_event["page"] == "library"
    assert page_event["seconds"] > 0
    assert SECRET not in running.log.read_text()
    assert "/_stcore/" not in running.log.read_text()
