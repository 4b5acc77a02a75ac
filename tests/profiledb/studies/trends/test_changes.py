"""Change points: by hand, against Apache Otava, and the numbers of found and invented ones in known series."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profiledb.studies.trends import change_points
from profiledb.studies.trends.change_points import Floats
from tests.support.every_report import slow_but

# Written with Apache Otava 0.8.0: compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.02).
OTAVA = json.loads(Path(__file__).with_name("otava.json").read_text())


def noise(random: np.random.Generator, n: int, share: float) -> Floats:
    return 100 * (1 + share * random.standard_normal(n))


@pytest.mark.parametrize("case", OTAVA, ids=[f"{at}-{one['kind'].replace(' ', '-')}" for at, one in enumerate(OTAVA)])
def test_they_are_where_otava_finds_them(case: dict[str, Any]) -> None:
    found = [one.index for one in change_points.find_changes(case["values"]).changes]
    if case["kind"] == "none":
        assert found == []  # Otava finds one in the last of these, of 0.5 % in noise of 1 %
        return
    assert len(found) == len(case["otava"])
    assert all(abs(mine - theirs) <= 1 for mine, theirs in zip(found, case["otava"], strict=True))


def test_otava_was_asked_for_all_kinds() -> None:
    assert {one["kind"] for one in OTAVA} == {"none", "step", "two steps", "up and back"}
    assert sum(len(one["otava"]) for one in OTAVA) > 30


@pytest.mark.slow("200 series")
def test_a_step_of_five_percent_in_noise_of_two_is_found() -> None:
    random, found, wrong = np.random.default_rng(7), 0, 0
    for _ in range(200):
        at = int(random.integers(25, 75))
        values = noise(random, 100, 0.02)
        values[at:] *= 1.05
        told = change_points.find_changes(values).changes
        near = [one for one in told if abs(one.index - at) <= 5]
        found += bool(near)
        wrong += len(told) - len(near[:1])
    assert found >= 0.95 * 200
    assert wrong <= 2


@pytest.mark.parametrize("outliers", slow_but([0.05], [0.0, 0.05], "300 series each"))
@pytest.mark.parametrize("n", slow_but([20], [20, 50, 100], "300 series each"))
def test_where_nothing_changes_hardly_anything_is_found(n: int, outliers: float) -> None:
    random, wrong = np.random.default_rng(n), 0
    for share in (0.01, 0.02, 0.05):
        for _ in range(100):
            values = noise(random, n, share)
            values[random.random(n) < outliers] *= 1.5
            wrong += bool(change_points.find_changes(values).changes)
    assert wrong <= 3, "at most one series in a hundred"


def test_what_rises_all_along_is_a_drift() -> None:
    random = np.random.default_rng(3)
    told = [change_points.find_changes(noise(random, 100, 0.02) * (1 + 0.3 * np.arange(100) / 100)) for _ in range(20)]
    assert sum(one.drifts for one in told) == 20
    assert not any(one.changes for one in told)


def test_size_and_interval_are_those_of_the_step() -> None:
    random, inside = np.random.default_rng(5), 0
    for _ in range(60):
        values = noise(random, 80, 0.01)
        values[40:] *= 1.1
        (one,) = change_points.find_changes(values).changes
        assert one.low is not None
        assert one.high is not None
        assert one.share is not None
        assert one.share == pytest.approx(0.1, abs=0.02)
        assert one.low < one.share < one.high
        inside += one.low <= 0.1 <= one.high
        assert one.before == pytest.approx(100, rel=0.01)
        assert one.after == pytest.approx(110, rel=0.01)
        assert one.p < change_points.P
    assert inside >= 53, "a 95 % interval"


def test_by_hand() -> None:
    (one,) = change_points.find_changes(
        [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.0, 12.0, 12.1, 11.9, 12.0, 12.1, 11.9, 12.0, 12.0]
    ).changes
    assert (one.index, one.before, one.after) == (8, 10.0, 12.0)
    assert one.share == pytest.approx(0.2)
    assert change_points.find_changes([5.0] * 50) == change_points.ChangePoints(())
    assert change_points.find_changes([]) == change_points.ChangePoints(())
    assert change_points.find_changes([1.0, 2.0, 3.0]) == change_points.ChangePoints(())
    from_zero = change_points.find_changes([0.0] * 20 + [4.0] * 20).changes
    assert [(one.index, one.share) for one in from_zero] == [(20, None)]


def test_three_reports_are_too_few_for_a_new_level() -> None:
    values = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98] * 3
    assert change_points.find_changes([*values, 12.0]).changes == ()
    (one,) = change_points.find_changes([*values, 12.0, 12.1, 11.9, 12.0, 12.05]).changes
    assert one.index == 21


def test_of_a_long_series_the_last_values_count() -> None:
    random = np.random.default_rng(1)
    values = noise(random, 700, 0.01)
    values[:100] *= 2
    values[600:] *= 1.2
    assert [one.index for one in change_points.find_changes(values).changes] == [600]


def test_what_is_no_number_is_refused() -> None:
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="no number"):
            change_points.find_changes([1.0, wrong])


def test_the_split_is_that_of_the_formula() -> None:
    """Every split and end of the second side, with distances summed as in the paper."""
    random = np.random.default_rng(2)
    for _ in range(20):
        values = random.permutation(np.arange(1.0, 13.0))
        best, where = -np.inf, -1
        for split in range(2, 11):
            for end in range(split + 2, 13):
                x, y = values[:split], values[split:end]
                n, m = len(x), len(y)
                across = sum(abs(a - b) for a in x for b in y)
                in_x = sum(abs(a - b) for i, a in enumerate(x) for b in x[i + 1 :])
                in_y = sum(abs(a - b) for i, a in enumerate(y) for b in y[i + 1 :])
                apart = 2 / (n * m) * across - 2 / (n * (n - 1)) * in_x - 2 / (m * (m - 1)) * in_y
                if n * m / (n + m) * apart > best + 1e-9:
                    best, where = n * m / (n + m) * apart, split
        assert change_points.find_candidate(values) == where


def test_chance_is_as_often_below_a_share_as_that_says() -> None:
    random = np.random.default_rng(4)
    told = np.array([change_points.estimate_chance(random.standard_normal(40)) for _ in range(800)])
    for share in (0.02, 0.05, 0.2):
        assert (told < share).mean() == pytest.approx(share, abs=3 * np.sqrt(share / 800) + 0.005)
