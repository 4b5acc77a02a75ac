"""A real worker from its operator's view, on a kernel without Landlock: metrics, health, one log event per file."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from bench.pages import find_free_port
from profiledb.library.library import Library
from tests.app.web.client import ask
from tests.conftest import ROOT, wait_until
from tests.profiledb.monitoring.test_prometheus import values
from tests.support.dropped_files import made
from tests.support.linux_kernels import LANDLOCK, without


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter of system calls is that of x86-64")
def test_a_worker_tells_what_it_does(tmp_path: Path) -> None:
    inbox, library, port = tmp_path / "inbox", Library(tmp_path / "library"), find_free_port()
    inbox.mkdir()
    made(inbox / "good.sqlite")
    (inbox / 'bad"\n.nsys-rep').write_bytes(b"no report")
    argv = [sys.executable, "-m", "ingest", "--samples", "off", "--inbox", str(inbox), "--library", str(library.folder)]
    told = {"WARPDECK_LOG": "json", "WARPDECK_WORKER_METRICS": str(port), "WARPDECK_SCAN_S": "0.1"}
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen([*without(*LANDLOCK), *argv], cwd=ROOT, env=os.environ | told, stdout=log, stderr=log)
    try:
        wait_until(lambda: library.catalog.job_states() == {"ready": 1, "failed": 1})
        address = f"http://127.0.0.1:{port}"
        wait_until(
            lambda: (
                values(ask(address, "/metrics").body.decode()).get(("warpdeck_conversion_seconds_count", "failed")) == 1
            )
        )
        found = values(ask(address, "/metrics").body.decode())
        assert json.loads(ask(address, "/health").body) == {
            "status": "ready", "database": "ok", "store": "ok", "inbox": "ok", "landlock": "unsupported",
        }  # fmt: skip
    finally:
        worker.terminate()
        worker.wait(timeout=30)
    assert found["warpdeck_conversion_seconds_count", "ready"] == 1
    assert found["warpdeck_conversion_seconds_sum", "ready"] > 0
    assert sum(number for (name, _), number in found.items() if name == "warpdeck_conversion_failures_total") == 1
    assert found["warpdeck_worker_looked_seconds", ""] > 1.7e9
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (said,) = [one for one in events if "Landlock" in one.get("message", "")]
    assert (said["level"], events.index(said)) == ("warning", 1), "one line, at the start"
    files = {one["file"]: one for one in events if one["event"] == "file"}
    assert files["good.sqlite"]["state"] == "ready"
    assert files["good.sqlite"]["report"] == library.list()[0].id
    assert files['bad"\n.nsys-rep']["cause"] == "refused"
    assert [events[0]["event"], events[-1]["event"]] == ["worker_started", "worker_ended"]
