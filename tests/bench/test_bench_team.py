"""The measurement of a team: its parts run, and people see no error while files are dropped."""

from pathlib import Path

import pytest

from bench import team, team_parts
from tests.support.postgres import Server
from tests.support.proxy import NGINX

pytestmark = [pytest.mark.slow, pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx")]


def test_people_look_at_a_team_while_files_are_dropped(postgres: Server, tmp_path: Path) -> None:
    inbox = team.reports(tmp_path / "inbox", kernels=1_500)
    (tmp_path / "team").mkdir()
    with team_parts.team(tmp_path / "team", inbox, servers=1, workers=1, prepared=False) as place:
        done = team.phase(place, iter((1, 2)), sessions=2, clicks=2, pause_s=0.5, drop_s=0.1)
        team.settled(place)
        assert (len(done.waits), done.errors, done.dropped) == (4, 0, 2)
        assert team_parts.states(place) == {"ready": 4}
        told = {line.partition(":")[0] for line in team_parts.told(team_parts.memory())}
        assert {"server", "worker", "postgres", "rclone", "nginx"} <= told
        assert 0 < team.first_touch(place, tmp_path / "new") < 60
