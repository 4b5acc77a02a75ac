"""The benchmark of a team: its parts run, and people see no error while files are dropped."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import team, team_day, team_lists, team_parts, trends
from bench.team_units import Cost
from profiledb import config
from profiledb.library.database import Shared
from profiledb.library.locations import open_library
from tests.support.bucket_library import store_of
from tests.support.postgres import Server
from tests.support.s3 import S3

pytestmark = pytest.mark.integration


@pytest.mark.slow("a benchmark of a team")
@pytest.mark.usefixtures("nginx")
def test_people_look_at_a_team_while_files_are_dropped(postgres: Server, tmp_path: Path) -> None:
    inbox = team.make_reports(tmp_path / "inbox", kernels=1_500)
    (tmp_path / "team").mkdir()
    with team_parts.run_team(tmp_path / "team", inbox, servers=1, workers=1, prepared=False) as place:
        done = team.run_phase(place, iter((1, 2)), sessions=2, clicks=2, pause_s=0.5, drop_s=0.1)
        team.wait_until_settled(place)
        assert (len(done.waits), done.errors, done.dropped) == (4, 0, 2)
        assert team_parts.count_states(place) == {"ready": 4}
        told = {line.partition(":")[0] for line in team_parts.format_numbers(team_parts.measure_memory())}
        assert {"server", "worker", "postgres", "rclone", "nginx"} <= told


@pytest.mark.slow("a benchmark of a team")
@pytest.mark.usefixtures("nginx", "postgres")
def test_a_day_of_a_team_in_an_hour(tmp_path: Path) -> None:
    options = argparse.Namespace(files=12, before=1, a_second=0.6, sessions=3, pause=2.0, visit=2, servers=1, workers=1)
    text = "\n".join(team_day.measure(tmp_path, options))
    assert text.startswith("12 files in "), text
    assert text.endswith("settled: {'ready': 13}"), text
    assert "0 views with an error" in text, text
    assert re.search(r"^\| all \| [1-9]\d+ \|", text, re.MULTILINE), text
    assert re.search(r"^\| server \d+ \| (\d+|-)(, (\d+|-)){5} \| [+-]", text, re.MULTILINE), text
    assert re.search(r"^\| server 0, resident \| (\d+|-)(, (\d+|-)){5} \| [+-]", text, re.MULTILINE), text


def test_growth_is_that_of_processes_that_live_through_the_second_half() -> None:
    memory = [{"server 1": float(size)} for size in range(100, 112)]
    memory[8] |= {"worker 2": 50.0}  # gone before the end
    memory = [{name: size for name, size in one.items() if at >= 4} for at, one in enumerate(memory)]
    told = "| server 1 | -, -, 104, 106, 108, 110 | +5.0 | 5.0 |"
    assert list(team_day.format_growth(memory)) == [told]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """A server that has listed nothing before: it remembers folders for minutes, and files are laid behind its back."""
    server = S3(tmp_path)
    server.start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.stop()


def test_reports_that_are_made_up_are_whole_to_a_worker(
    team: Shared, fresh: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker finds nothing to do and nothing missing in the made-up reports."""
    monkeypatch.setattr(trends, "MADE", 4)
    settings = config.load(database=team.url, library=fresh.url(), cache=tmp_path / "cache", inbox=tmp_path / "inbox")
    library = open_library(settings)
    team_lists.list_made_up_reports(library, settings.inbox, fresh.objects / settings.library_url.rpartition("/")[2], 6)
    assert len(library.list()) == len(library.catalog.jobs()) == 6
    lines = [line.partition(":")[0] for line in team_lists.measure_worker(library, settings)]
    assert lines == [
        "worker, a sweep of the inbox", "worker, a further look", "leading worker, search for reports to upgrade",
        "worker, a sweep with a file more",
    ]  # fmt: skip
    library.recover()
    assert len(library.list()) == 6
    assert {len(files) for files in store_of(library).index.all_files().values()} == {2}


def test_what_a_thing_costs_is_told_without_what_nothing_costs() -> None:
    idle = Cost(10.0, 20, {"server": 1.0})
    busy = Cost(20.0, 140, {"server": 7.0, "worker": 2.5})
    assert busy.format_beyond(idle, 50) == "2.0 transactions, 0.100 s of server, 0.050 s of worker"
    assert idle.format_per_second() == "2.00 transactions, 0.1000 s of server"
