"""PostgreSQL or the bucket goes for some seconds while reports are taken in and looked at (bench/team_losses.py)."""

import pytest

from bench import team_losses
from bench.team_losses import KILLED, STANDS_STILL
from tests.support.composed import Composed

pytestmark = pytest.mark.slow
FILES, SECONDS = 4, 6.0


@pytest.mark.parametrize(("part", "way"), [("database", STANDS_STILL), ("storage", KILLED)])
def test_pages_that_can_go_on_do_and_every_file_becomes_a_report(composed: Composed, part: str, way: str) -> None:
    loss = team_losses.lose(composed, part, way, SECONDS, FILES)
    assert loss.left > 0, "it went in the middle"
    assert loss.pages["list"].said.keys() == {"shown"}
    assert loss.pages["open report"].said.keys() == {"shown"}
    assert loss.pages["other report"].said.keys() == {"said what is missing"}
    assert loss.states.keys() == {"ready"}
    assert loss.reports == (loss.states.total(),) * 2
    assert loss.traces == 0
    assert all(composed.alive(name) for name in composed.ours), "none was started again"
