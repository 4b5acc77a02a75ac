"""Steps, the time of each and their total, against the second computation."""

import pytest

from tests.second import steps
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample
from tests.second.nesting import MODES, Mode

pytestmark = EVERY


@pytest.mark.parametrize("mode", MODES)
def test_every_step(sample: Sample, mode: Mode) -> None:
    agree(keyed(sample.ask("iterations", mode=mode), "rank", "number"), steps.step_rows(sample.capture, mode))


def test_steps_in_numbers(sample: Sample) -> None:
    second = {(rank,): steps.row(loop) for rank, loop in enumerate(steps.loops(sample.capture, "process"), 1)}
    agree(keyed(sample.ask("iteration_summary", mode="process"), "rank"), second)
