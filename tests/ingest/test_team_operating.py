"""A team's worker from its operator's view: it applies the retention rules, and logs a loss in two lines."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.pages import find_free_port
from profiledb.library.catalog import Catalog
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.library.removals import Removal
from tests.app.web.client import ask
from tests.conftest import ROOT, wait_until
from tests.profiledb.library.test_library import publish
from tests.profiledb.monitoring.test_prometheus import values
from tests.support.postgres import Server

LOST, BACK = "cannot be reached; it is asked again", "can be reached again"
AWAY_S = 2.0


@pytest.fixture
def library(team: Shared, tmp_path: Path) -> Library:
    """One report in it, which was taken in on 2026-01-01 and announced to go for four days."""
    library = Library(tmp_path / "library", Catalog(team))
    publish(library, "aaaa000000000001")
    for days in (4, 3.1, 2.2, 1.3, 0.4):
        coming = [Removal("report", "aaaa000000000001", "a", "old", 1)]
        library.catalog.removals.announce(coming, datetime.now(UTC) - timedelta(days=days))
    return library


@pytest.fixture
def metrics() -> str:
    return f"http://127.0.0.1:{find_free_port()}"


@pytest.fixture
def log(library: Library, team: Shared, tmp_path: Path, metrics: str) -> Iterator[Path]:
    """The output of a worker that runs until the end of the test."""
    (tmp_path / "rules.toml").write_text("[[rule]]\ndays = 30\n")
    told = {
        "WARPDECK_DATABASE": team.url,
        "WARPDECK_RETENTION": str(tmp_path / "rules.toml"),
        "WARPDECK_SCAN_S": "0.2",
        "WARPDECK_WORKER_METRICS": metrics.rpartition(":")[2],
    }
    argv = [sys.executable, "-m", "ingest", "--samples", "off", "--inbox", str(tmp_path / "inbox")]
    with (tmp_path / "log").open("wb") as file:
        worker = subprocess.Popen(
            [*argv, "--library", str(library.folder)], cwd=ROOT, env=os.environ | told, stdout=file, stderr=file
        )
    try:
        yield tmp_path / "log"
    finally:
        worker.terminate()
        worker.wait(60)


def looked(metrics: str) -> float:
    """When the worker looked at the inbox last."""
    try:
        return values(ask(metrics, "/metrics").body.decode())["warpdeck_worker_looked_seconds", ""]
    except OSError:  # it starts
        return 0.0


@pytest.mark.slow("a worker of a team over several rounds")
def test_it_removes_what_the_rules_let_go_and_tells_of_a_loss_twice(
    library: Library, log: Path, metrics: str, postgres: Server
) -> None:
    wait_until(lambda: not library.list())
    before = looked(metrics)
    assert before > 1.7e9
    wait_until(lambda: looked(metrics) > before)
    postgres.stop()
    try:
        wait_until(lambda: LOST in log.read_text())
        until = time.monotonic() + AWAY_S
        wait_until(lambda: time.monotonic() > until)
        lost_at = looked(metrics)
    finally:
        postgres.start()
    wait_until(lambda: BACK in log.read_text() and looked(metrics) > lost_at)
    lines = log.read_text().splitlines()
    assert [line for line in lines if "database" in line] == [
        f"The catalog's database {LOST}.", f"The catalog's database {BACK}.",
    ]  # fmt: skip
    assert "Traceback" not in log.read_text()
    assert "procrastinate" not in log.read_text()
