"""Timers against ranges, by the second computation."""

import pytest

from tests.second import timings
from tests.second.agree import agree, keyed
from tests.second.conftest import EXPORTS, ONE_A_RUN, Sample

TIMED = [name for name in ONE_A_RUN if EXPORTS[name].with_suffix(".timings.csv").exists()]
WRONG = {
    "energy": "the number of batch_64 is taken for that of a step",
    "tasks": "a range with a slash in its name is not found in the label of what lies in it",
}


@pytest.mark.parametrize(
    "sample",
    [pytest.param(n, marks=[pytest.mark.xfail(strict=True, reason=WRONG[n])] if n in WRONG else []) for n in TIMED],
    indirect=True,
)
def test_timings(sample: Sample) -> None:
    second = timings.rows(sample.capture, sample.facts.with_name(f"{sample.name}.timings.csv"))
    agree(keyed(sample.ask("timing_compare", mode="process"), "label"), second)
