"""``warpdeck open`` shows the first file that becomes a report, a link for each, and how to connect by SSH."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from profiledb.config import load
from profiledb.errors import ConfigError, WarpdeckError
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.library.server_file import Serving
from tests.profiledb.library.test_library import publish
from warpdeck import browser, import_progress, open_command
from warpdeck.import_progress import ImportResult
from warpdeck.inbox_copy import Copied

SERVING = Serving(8501, "/team", "/inbox", "ab" * 32)


def taken(name: str) -> Copied:
    return Copied(name, "", Path(f"/inbox/{name}"))


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ([("a", "A"), ("b", "B")], ["A"]),
        ([("b", "B"), ("a", "A")], ["A"]),
        ([("b", "B"), ("a", "")], ["B"]),
        ([("a", ""), ("b", "B")], ["B"]),
        ([("b", "B")], []),  # a may still come
        ([("a", ""), ("b", "")], []),
    ],
)
def test_the_first_that_becomes_a_report_is_shown_once(ends: list[tuple[str, str]], shown: list[str]) -> None:
    opened: list[str] = []
    first = open_command._FirstReport([taken("a"), taken("b")], opened.append)
    for name, address in ends:
        first.add(ImportResult(taken(name), None), address)
    assert opened == shown


def test_a_link_leads_to_the_first_page_of_the_report(empty_library: Library) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    assert browser.make_link(SERVING, manifest) == "http://localhost:8501/team/summary?report=aaaa000000000001"
    assert browser.make_link(SERVING) == "http://localhost:8501/team/"


def test_files_are_followed_to_their_ends(empty_library: Library) -> None:
    ends = {
        "ready.sqlite": Job("", "", "", "ready", report_id="1"),
        "twice.sqlite": Job("", "", "", "duplicate", report_id="2"),
        "bad.sqlite": Job("", "", "", "failed", message="It is bad.", hint="Mend it."),
        "full.sqlite": Job("", "", "", "deferred", message="The disk is full."),
        "alone.nvml.csv": Job("", "", "", "alone", message="It waits for its report."),
        "odd.sqlite": Job("", "odd.sqlite", "", "companion"),
    }
    files = [Copied("known.sqlite", "0", None), *map(taken, ends)]
    told: list[tuple[str, str]] = []

    class Told(import_progress.ProgressSteps):
        def _print_step(self, name: str, step: str) -> None:
            told.append((name, step))

    left = list(ends.items())

    def next_end() -> None:
        """Asked whenever nothing has changed: then the next file ends."""
        name, job = left.pop(0)
        empty_library.catalog.put_job(
            Job(f"/inbox/{name}", job.name, "1", job.state, job.report_id, job.message, job.hint)
        )

    ended = {
        end.file.name: (end.report_id, end.message)
        for end in import_progress.follow_files(empty_library, files, Told(), next_end)
    }
    assert ended == {
        "known.sqlite": ("0", ""),
        "ready.sqlite": ("1", ""),
        "twice.sqlite": ("2", ""),
        "bad.sqlite": (None, "It is bad. Mend it."),
        "full.sqlite": (None, "The disk is full."),
        "alone.nvml.csv": (None, "It waits for its report."),
        "odd.sqlite": (None, "odd.sqlite: companion."),
    }
    assert set(told) == {(name, "waiting") for name in ends}


def test_steps_of_the_conversion_are_told_once_each(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    steps = iter([("converting", "converting"), ("converting", "finishing"), ("failed", "No.")])

    def step() -> None:
        state, message = next(steps)
        empty_library.catalog.put_job(Job("/inbox/a\x1b[1m", "a", "1", state, message=message))

    list(import_progress.follow_files(empty_library, [taken("a\x1b[1m")], import_progress.ProgressSteps(), step))
    assert capsys.readouterr().out.splitlines() == [f"a [1m: {word}" for word in ("waiting", "converting", "finishing")]


def test_without_a_worker_the_wait_ends() -> None:
    now, here = [0.0], [True]
    held = import_progress.WorkerPresence(lambda: here[0], lambda: now[0])
    for moment, worker in ((100, True), (101, False), (125, False), (131, True), (140, False), (160, False)):
        now[0], here[0] = moment, worker
        held.require()
    now[0] = 172
    with pytest.raises(WarpdeckError, match="No worker"):
        held.require()


@pytest.mark.parametrize(
    ("environment", "can"),
    [
        ({}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "w"}, True),
        ({"BROWSER": "x"}, True),
        ({"BROWSER": ""}, False),
    ],
)
def test_a_browser_is_opened_where_somebody_sees_it(
    environment: Mapping[str, str], can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert browser.can_open() is can


@pytest.mark.parametrize(
    ("ssh", "words"), [("10.0.0.1 50 10.0.0.2 22", "ssh -N -L 8501:localhost:8501 "), ("", "No browser was found")]
)
def test_without_a_browser_it_says_how_to_get_there(
    ssh: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", ssh)
    browser.open_link("http://localhost:8501/", SERVING)
    assert words in capsys.readouterr().out


def test_a_server_with_another_inbox_is_said(tmp_path: Path) -> None:
    settings = load(inbox=tmp_path / "inbox", library=tmp_path / "library")
    with pytest.raises(ConfigError, match="takes files from /inbox, not from"):
        open_command.choose_inbox(settings, SERVING)
    (tmp_path / "link").symlink_to(tmp_path / "inbox")
    same = Serving(1, "", str(tmp_path / "link"), "")
    assert open_command.choose_inbox(settings, same).root == tmp_path / "link"
