"""The energy of the samples against the second computation; other tests cover its bounds."""

import pytest

from tests.second import energy
from tests.second.agree import agree, keyed
from tests.second.conftest import EXPORTS, REASON, Sample
from tests.support.every_report import slow_but

LOGGED = [name for name, path in EXPORTS.items() if path.with_suffix(".nvml.csv").exists()]
OF_SHORT_RANGES = 1e-8
"""How far figures may lie apart: those of microseconds are differences of sums over a log of minutes."""
pytestmark = pytest.mark.parametrize("sample", slow_but(["energy"], LOGGED, REASON), indirect=True)


def test_energy_of_the_capture(sample: Sample) -> None:
    (row,) = sample.ask("energy_summary", mode="process")
    agree({(): row}, {(): energy.of_capture(sample.capture)})
    rows = sample.ask("energy_classes", mode="process")
    assert sum(one["joules"] for one in rows) == pytest.approx(row["joules"] or 0)


def test_energy_of_ranges(sample: Sample) -> None:
    ours = sample.ask("energy_ranges", mode="process", most=10_000)
    agree(keyed(ours, "range"), energy.by_path(sample.capture), tolerance=OF_SHORT_RANGES)


def test_energy_of_steps(sample: Sample) -> None:
    ours = sample.ask("energy_steps", mode="process")
    agree(keyed(ours, "rank"), energy.by_loop(sample.capture))
