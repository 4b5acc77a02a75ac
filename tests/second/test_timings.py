"""Timers against ranges, by the second computation."""

import pytest

from tests.second import timings
from tests.second.agree import agree, keyed
from tests.second.conftest import EXPORTS, REASON, Sample
from tests.support.every_report import slow_but

TIMED = [name for name in EXPORTS if EXPORTS[name].with_suffix(".timings.csv").exists()]


@pytest.mark.parametrize("sample", slow_but(["energy"], TIMED, REASON), indirect=True)
def test_timings(sample: Sample) -> None:
    second = timings.rows(sample.capture, sample.facts.with_name(f"{sample.name}.timings.csv"))
    agree(keyed(sample.ask("timing_compare", mode="process", warmup="exclude"), "label"), second)
