"""A team loses its parts one after another while files are dropped (docs/team.md, Losses)."""

import pytest

from bench import team_losses
from tests.support.compose_services import Composed

FILES = 24
LEAST_S = 60.0
"""In which a file is at hand again that its worker left."""


@pytest.mark.slow("a whole team of services whose parts are killed")
def test_every_file_is_one_report_whatever_is_killed(composed: Composed) -> None:
    done = team_losses.run_load(composed, FILES, [("worker-1", 1), ("database", 12), ("storage", 2), ("app1", 0)])
    assert done.states == {"ready": FILES}
    assert done.reports == (FILES, FILES, FILES)
    assert done.left_s < LEAST_S
    assert sum(composed.log(name).count("Traceback") for name in composed.ours) == 0
