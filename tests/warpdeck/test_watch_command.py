"""``warpdeck watch`` sends each new file of a folder to a real server once, and waits while there is none."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.pages import find_free_port, run_server
from profiledb.errors import ConfigError
from tests.app.web.provider import guarded, provider
from tests.conftest import ROOT, SAMPLES, wait_until
from warpdeck import main, push_command
from warpdeck.push_command import Server
from warpdeck.watch_command import FolderPush


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {"WARPDECK_DATA": str(tmp_path / "data"), "WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.5"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of captures with a report, its sidecar, and files that belong to the user alone."""
    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(SAMPLES / "launches_tiny.sqlite", folder / "a.sqlite")
    (folder / "a.meta.json").write_text('{"batch": 8}')
    (folder / "train.py").write_text("print()")
    (folder / "model.pt").write_bytes(b"PK" + bytes(1000))
    (folder / "results.json").write_text("[1, 2]")
    (folder / "notes.sqlite").write_bytes(b"no database")
    return folder


@pytest.fixture
def running(settings: dict[str, str]) -> Iterator[str]:
    with run_server(settings, {"address": "127.0.0.1"}) as one:
        yield one.address


def look(watched: FolderPush, condition: Callable[[], bool]) -> None:
    """Look at the folder until the condition holds."""

    def holds() -> bool:
        watched.push_finished()
        return condition()

    wait_until(holds)


@pytest.mark.integration
def test_reports_go_to_the_server_as_they_come(
    folder: Path, running: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = [sys.executable, "-m", "warpdeck", "watch", str(folder), "--server", running]
    log = tmp_path / "watch.log"
    with log.open("w") as output, subprocess.Popen(program, cwd=ROOT, stdout=output, stderr=output) as watching:
        wait_until(lambda: "a.sqlite  http" in log.read_text(), 60)
        shutil.copy(SAMPLES / "kernels.sqlite", folder / "b.sqlite")
        wait_until(lambda: "b.sqlite  http" in log.read_text(), 60)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(20) == 130
    lines = log.read_text().splitlines()
    assert lines[0] == f"Watching {folder}; Ctrl-C ends this."
    assert sum(" sending " in line for line in lines) == 2, "only reports are sent, each once"
    server_ = Server(running, "")
    names = {str(one["name"]) for one in server_.ask("/reports").content["reports"]}
    assert names == {"a.sqlite", "b.sqlite"}


@pytest.mark.integration
@pytest.mark.slow("starts a server again")
def test_reports_wait_while_the_server_is_away(
    folder: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(push_command, "_PAUSE_S", 0.0)
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    with FolderPush(folder, Server(address, "")) as watched:
        look(watched, lambda: capsys.readouterr().err.startswith("The server 127.0.0.1"))
        with run_server(settings, {"address": "127.0.0.1"}, port=port):
            look(watched, lambda: "a.sqlite  http" in capsys.readouterr().out)
            watched.push_finished()
            assert capsys.readouterr() == ("", "")


def test_a_folder_that_is_none_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["watch", str(tmp_path / "none"), "--server", "http://localhost:1"]) == 1
    assert "none is no folder." in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.slow("starts a server of its own")
def test_a_report_that_the_server_refuses_is_sent_again_when_it_has_changed(
    folder: Path, running: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.sqlite").unlink()
    cut = folder / "cut.ncu-rep"
    cut.write_bytes(b"NVR\0" + bytes(64))
    with FolderPush(folder, Server(running, "")) as watched:
        look(watched, lambda: capsys.readouterr().err.startswith("cut.ncu-rep: "))
        watched.watch.sweeps.make_due()
        watched.push_finished()
        assert capsys.readouterr() == ("", "")


@pytest.mark.integration
@pytest.mark.slow("starts a server of its own, as for warpdeck push")
def test_a_server_that_wants_a_token_ends_it(folder: Path, tmp_path: Path) -> None:
    with (
        provider() as issuer,
        guarded(issuer, tmp_path / "data", tmp_path / "secrets.toml") as (one, _),
        FolderPush(folder, Server(one.address, "wd_wrong")) as watched,
        pytest.raises(ConfigError, match="The server refuses: "),
    ):
        look(watched, lambda: False)
