"""``from warpdeck import capture``: its records, its cost, and that no failure of it ends a program."""

import gzip
import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.pages import run_server
from tests.conftest import ROOT
from warpdeck import capture as of_process
from warpdeck import in_program
from warpdeck.in_program import Capture
from warpdeck.push_command import Server

torch = pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("WARPDECK_SERVER", "RANK", "WORLD_SIZE", "NSYS_PROFILING_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(in_program.FOLDER, str(tmp_path / "captures"))
    return tmp_path / "captures"


@pytest.fixture
def capture() -> Capture:
    return Capture()


def work() -> None:
    torch.ones(4) + 1


def events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        return list(json.load(file)["traceEvents"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".gz")) if folder.exists() else []


def test_a_body_becomes_a_trace(folder: Path, capture: Capture) -> None:
    for _ in range(2):
        with capture("an evaluation/../x"), capture("inner"):
            work()
    capture.wait()
    assert names(folder) == ["an_evaluation_.._x-2.pt.trace.json.gz", "an_evaluation_.._x.pt.trace.json.gz"]
    assert any(one.get("name") == "aten::add" for one in events(folder / names(folder)[0]))


def test_some_steps_of_many_are_recorded_and_named(folder: Path, capture: Capture) -> None:
    @capture.every(steps=10, record=2)
    def training(value: int) -> int:
        work()
        return value

    assert [training(number) for number in range(25)] == list(range(25))
    capture.wait()
    assert names(folder) == ["training_10.pt.trace.json.gz", "training_20.pt.trace.json.gz"]
    steps = [
        one["name"]
        for one in events(folder / "training_20.pt.trace.json.gz")
        if str(one.get("name")).startswith("step_")
    ]
    assert sorted(set(steps)) == ["step_20", "step_21"]


def test_ranks_have_files_of_their_own(folder: Path, capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with capture("train"):
        work()
    capture.wait()
    assert names(folder) == ["train_rank1.pt.trace.json.gz"]
    assert json.loads((folder / "train_rank1.meta.json").read_text()) == {"rank": 1, "ranks": 2}


def test_a_capture_that_fails_is_a_line_of_the_log(
    folder: Path, capture: Capture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("no folder")
    monkeypatch.setenv("WARPDECK_SERVER", "http://127.0.0.1:1")
    with caplog.at_level(logging.WARNING, "warpdeck"), capture("train"):
        work()
    capture.wait()
    assert [one.getMessage().split(":")[1] for one in caplog.records] == [" FileExistsError"]


def test_the_error_of_a_step_is_its_own(folder: Path, capture: Capture) -> None:
    @capture.every(steps=1, record=1)
    def fails() -> None:
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            fails()
    capture.wait()
    assert len(names(folder)) == 2, "the first step is the warm-up"


def test_the_number_of_captures_is_bounded(folder: Path, capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_program, "MOST", 2)
    for _ in range(4):
        with capture("x"):
            work()
    capture.wait()
    assert len(names(folder)) == 2


def test_a_step_that_is_not_recorded_costs_next_to_nothing(capture: Capture) -> None:
    schedule, count = capture.schedule(steps=10**9, record=1), 100_000
    start = time.process_time()
    for _ in range(count):
        schedule.begin()
        schedule.end()
    assert (time.process_time() - start) / count < 10e-6, "0.1 % of a step of 10 ms"


def test_it_needs_no_database_and_no_dashboard() -> None:
    assert isinstance(of_process, Capture)
    assert Path(sys.modules["warpdeck.in_program"].__file__ or "").name == "in_program.py"
    with pytest.raises(ValueError, match="0 < record <= steps"):
        of_process.schedule(steps=1, record=2)


@pytest.mark.integration
def test_a_capture_goes_to_the_server_beside_the_run(
    folder: Path, capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"WARPDECK_DATA": str(tmp_path / "data"), "WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.5"}
    with run_server(settings, {"address": "127.0.0.1"}) as running, caplog.at_level(logging.INFO, "warpdeck"):
        monkeypatch.setenv("WARPDECK_SERVER", running.address)
        with capture("train"):
            work()
        capture.wait()
        (line,) = [one.getMessage() for one in caplog.records if one.name == "warpdeck"]
        assert line.startswith(f"train.pt.trace.json.gz  {running.address}/")
        (report,) = Server(running.address, "").ask("/reports").content["reports"]
        assert report["name"] == "train.pt.trace.json.gz"


LIGHT = """
import sys, sysconfig
kept = [path for path in sys.path if "site-packages" not in path]
sys.path[:] = [sys.argv[1], *kept]
from pathlib import Path
from warpdeck import capture, push_command
push_command._PAUSE_S = 0.0
folder = Path(sys.argv[2])
trace = folder / "train.pt.trace.json.gz"
trace.write_bytes(b"x")
trace.with_name("train.meta.json").write_text("{}")
try:
    push_command.send(push_command.Server("http://127.0.0.1:1", ""), trace)
except push_command.ServerAwayError as error:
    print(error.message)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"duckdb", "streamlit", "pandas", "numpy", "pyarrow"}))
"""


def test_a_machine_that_trains_needs_no_package_of_ours(tmp_path: Path) -> None:
    """PyTorch and ``pip install --no-deps warpdeck`` suffice to record in a program and send the trace."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", LIGHT, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "The server 127.0.0.1 does not take it: [Errno 111] Connection refused.", "[]",
    ], done.stderr  # fmt: skip
