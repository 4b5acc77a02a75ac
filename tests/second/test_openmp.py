"""OpenMP regions of the sample, against the second computation."""

from collections.abc import Callable

import pytest

from tests.second import openmp
from tests.second.agree import agree, keyed
from tests.second.conftest import Sample

NAMES = {"balanced", "unbalanced", "dynamic", "tasks", "critical"}


@pytest.fixture
def sample(sample_of: Callable[[str], Sample]) -> Sample:
    return sample_of("openmp_regions")


def test_regions_by_range(sample: Sample) -> None:
    second = openmp.by_range(sample.capture)
    assert set(second) == {(f"round_*/{name}",) for name in NAMES}
    agree(keyed(sample.ask("openmp_regions", limit=10**6), "range"), second)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_regions_of_a_selected_range(sample: Sample, name: str) -> None:
    (row,) = sample.ask("openmp_regions", range=f"round_3/{name}")
    of_all = openmp.regions(sample.capture)
    around = [one for one in sample.capture.ranges if one.name in ("round_3", name)]
    low = next(one.start for one in around if one.name == "round_3")
    start, end = next((one.start, one.end) for one in around if one.name == name and one.start > low)
    (one,) = (region for region in of_all if start <= region.start < end)
    assert (row["regions"], row["wall_ns"], row["lost_ns"]) == (1, one.end - one.start, one.lost)
    assert row["work_ns"] == sum(one.work.values())


def test_regions_of_a_time(sample: Sample) -> None:
    """A whole region belongs to the time in which it starts."""
    of_all = sorted(openmp.regions(sample.capture), key=lambda one: one.start)
    low, high = of_all[7].start - sample.capture.start, of_all[19].start - sample.capture.start
    rows = sample.ask("openmp_regions", from_ns=low, to_ns=high)
    assert sum(row["regions"] for row in rows) == 12
    assert sum(row["wall_ns"] for row in rows) == sum(one.end - one.start for one in of_all[7:19])


def test_what_the_program_was_made_for(sample: Sample) -> None:
    """With 64 iterations of i units, the last of 4 threads has 1.74 times the mean; one by one, the load is even."""
    found = {row["range"].removeprefix("round_*/"): row for row in sample.ask("openmp_regions")}
    assert found["unbalanced"]["imbalance"] == pytest.approx(4 * sum(range(48, 64)) / sum(range(64)), rel=0.03)
    assert max(found[name]["imbalance"] for name in NAMES - {"unbalanced"}) < 1.15
    assert found["critical"]["lock_ns"] > found["critical"]["work_ns"]
