"""``warpdeck open`` with a real server: it starts one, uses a running one, and leaves none behind."""

import os
import pty
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from profiledb.library import server_file
from tests.app.web.client import ask, session
from tests.app.web.provider import guarded, provider
from tests.conftest import SAMPLES, wait_until
from tests.warpdeck.started import RUNS, Desk

pytestmark = pytest.mark.integration
NAME = "transformer_inference.sqlite"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    return Path(shutil.copy(SAMPLES / NAME, tmp_path / "mine" / "my run.sqlite"))


def below(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def links(said: list[str]) -> list[str]:
    return [found[0] for line in said if (found := re.search(r"http://\S+", line))]


def test_it_starts_a_server_that_others_use_and_that_ends_with_it(desk: Desk, sample: Path) -> None:
    broken = sample.with_name("broken\x1b[31m\n.nsys-rep")
    broken.write_bytes(b"no report at all")
    with desk.running("open", broken, sample, sample.with_name("none.sqlite")) as process:
        said = desk.said()
        assert said[0] == "Starting the dashboard."
        assert said[-1] == RUNS
        assert [line for line in said if line.startswith("There is no file ")]
        assert [line for line in said if line.startswith("broken [31m .nsys-rep does not start like")]
        assert "my run.sqlite: converting" in said
        assert "\x1b" not in "".join(said)
        (address,) = links(said)
        assert desk.opened() == [address], "the first file that became a report"

        parts = urlsplit(address)
        home, (report,) = f"http://127.0.0.1:{parts.port}", parse_qs(parts.query)["report"]
        assert ask(home, f"{parts.path}?{parts.query}").status == 200
        with session(home) as page:
            page.run(parts.path.strip("/"), report=report)
            assert "my run.sqlite" in page.text()

        again = desk.run("open", sample)
        assert (again.returncode, again.stderr) == (0, "")
        assert again.stdout.splitlines() == ["my run.sqlite: reading", f"my run.sqlite  {address}"]
        assert desk.opened() == [address, address]
        bare = desk.run("open", "--no-browser")
        assert (bare.returncode, bare.stdout) == (0, f"http://localhost:{parts.port}/\n")
        failed = desk.run("open", broken, sample)
        assert (failed.returncode, links(failed.stdout.splitlines())) == (1, [address])
        elsewhere = desk.run("open", sample, WARPDECK_INBOX=str(desk.folder / "other"))
        assert elsewhere.returncode == 1
        assert "takes files from" in elsewhere.stderr

        children = below(process)
        assert len(children) >= 2, "the server and its worker"
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 1, "a file failed"
        assert not psutil.wait_procs(children, timeout=30)[1]
    assert server_file.read_announcement(desk.library) is None


@pytest.mark.slow("starts two servers of its own")
def test_killed_it_leaves_no_server_and_the_next_one_finds_its_way(desk: Desk, sample: Path) -> None:
    with desk.running("open", sample) as process:
        children = below(process)
        process.kill()
        assert not psutil.wait_procs(children, timeout=60)[1]
    # As after a kill of the server itself: the file is left behind, and another program has the port by now.
    stale = server_file.describe_server(1, "", str(desk.folder / "data" / "inbox"))
    server_file.announce(desk.library, stale)
    with desk.running("open", sample) as process:
        found = server_file.read_announcement(desk.library)
        assert found
        assert found != stale
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow("starts a server of its own")
def test_a_server_that_runs_is_used_whoever_started_it(desk: Desk, sample: Path) -> None:
    with desk.running("serve", "--samples", "off"):
        done = desk.run("open", sample)
        assert done.returncode == 0, done.stderr
        assert "Starting" not in done.stdout
        assert desk.opened() == links(done.stdout.splitlines())
        found = server_file.read_announcement(desk.library)
        assert found
        # Another server of the same library announced itself and ended: this one is found again.
        server_file.withdraw(desk.library, found)
        wait_until(lambda: server_file.read_announcement(desk.library) == found)
        second = desk.run("serve", "--port", str(found.port))
        assert (second.returncode, second.stderr.count("\n")) == (1, 1)
        assert f"Cannot listen on port {found.port} of localhost" in second.stderr


@pytest.mark.parametrize(
    ("environment", "drawn"),
    [
        ({"TERM": "xterm"}, True),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, False, marks=pytest.mark.slow("starts another worker")),
    ],
    ids=["color", "no color"],
)
def test_progress_is_drawn_on_a_terminal(desk: Desk, sample: Path, environment: dict[str, str], drawn: bool) -> None:
    inbox = desk.folder / "data" / "inbox"
    inbox.mkdir(parents=True)
    shutil.copy(sample, inbox / "[bold]x.sqlite")  # rich would take that for markup
    text = on_terminal(desk, ["ingest", "--once"], environment)
    assert ("\x1b[" in text) is drawn
    assert re.search(r"ready +\[bold\]x\.sqlite  [0-9a-f]{16}  \d+\.\d\d s", text), text
    assert ("[bold]x.sqlite  converting" in text) is drawn


def on_terminal(desk: Desk, argv: list[str], environment: dict[str, str]) -> str:
    """The output of a command on a terminal."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in desk.environment.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*desk.command, *argv], env=kept | environment, cwd=desk.cwd, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    read = b""
    try:
        while block := os.read(ours, 65536):
            read += block
    except OSError:  # Linux: the other end is closed
        pass
    assert process.wait(60) == 0, read
    os.close(ours)
    return read.decode()


@pytest.fixture
def issuer() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.mark.slow("starts a server of its own")
def test_a_server_with_a_login_is_found_and_tells_nothing_else(desk: Desk, sample: Path, issuer: str) -> None:
    data = desk.folder / "data"
    names = {"STREAMLIT_SERVER_ALLOWED_HOSTS": "profiles.example.com", "WARPDECK_WORKER": "auto"}
    with guarded(issuer, data, desk.folder / "secrets.toml", **names) as (server, _):
        done = desk.run("open", sample)
        assert done.returncode == 0, done.stderr
        assert len(desk.opened()) == 1
        for query in ("", "x", "0" * 31, "0" * 33, "G" * 32):
            assert ask(server.address, f"{server_file.PATH}?{query}").status == 404
        assert ask(server.address, f"{server_file.PATH}?{'0' * 32}", Host="evil.example").status == 403
        told = ask(server.address, f"{server_file.PATH}?{'0' * 32}")
        found = server_file.read_announcement(desk.library)
        assert found
        assert told.body.decode() == found.answer("0" * 32)
        assert found.key not in str(told)
