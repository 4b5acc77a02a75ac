"""Bootstrap intervals: against a plain loop, and their coverage."""

import numpy as np
import pytest

from profiledb.studies.compare import significance
from profiledb.studies.compare.significance import Floats, compute_intervals

TRIALS = 200
# sqrt(n / (n - 1)) times the quantile of Student's distribution (from a table) over that of the normal one
WIDER = {
    n: (n / (n - 1)) ** 0.5 * t / 1.959964 for n, t in ((10, 2.262157), (12, 2.200985), (40, 2.022691), (400, 1.965927))
}


def durations(rng: np.random.Generator, mean: float, spread: float, size: int) -> Floats:
    return rng.normal(mean, spread * mean, size).clip(1)


def looped(a: Floats, b: Floats, seed: int) -> tuple[float, float]:
    """The same interval, one resample after the other and with other draws."""
    rng = np.random.default_rng(seed)
    ratios = []
    for _ in range(4000):
        means = [one.mean() + (rng.choice(one, len(one)).mean() - one.mean()) * WIDER[len(one)] for one in (a, b)]
        ratios.append(means[1] / means[0])
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("sizes", [(10, 12), (40, 400)])
def test_intervals_are_those_of_a_plain_loop(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.gamma(4, 250, sizes[0]), rng.gamma(4, 300, sizes[1])
    ((low, high),) = compute_intervals([(a, b)])
    expected = looped(a, b, 7)
    width = expected[1] - expected[0]
    assert low == pytest.approx(expected[0], abs=0.08 * width)
    assert high == pytest.approx(expected[1], abs=0.08 * width)


@pytest.mark.parametrize("size", [20, 200])
def test_equal_distributions_are_rarely_significant(size: int) -> None:
    rng = np.random.default_rng(11)
    pairs = [(durations(rng, 1000, 0.1, size), durations(rng, 1000, 0.1, size)) for _ in range(TRIALS)]
    ends = compute_intervals(pairs)
    spans = int(((ends[:, 0] <= 1) & (ends[:, 1] >= 1)).sum())
    assert spans >= 0.93 * TRIALS


def test_a_small_shift_with_little_spread_is_significant() -> None:
    rng = np.random.default_rng(12)
    pairs = [(durations(rng, 1000, 0.02, 50), durations(rng, 1050, 0.02, 50)) for _ in range(TRIALS)]
    ends = compute_intervals(pairs)
    assert (ends[:, 0] > 1).all()
    assert ((ends[:, 0] <= 1.05) & (ends[:, 1] >= 1.05)).mean() >= 0.93


def test_swapped_sides_give_reciprocals_and_the_seed_is_fixed() -> None:
    rng = np.random.default_rng(13)
    pairs = [(rng.gamma(3, 10, 30), rng.gamma(3, 11, size)) for size in (30, 30, 9)]
    ends, back = compute_intervals(pairs), compute_intervals([(b, a) for a, b in pairs])
    np.testing.assert_allclose(back, 1 / ends[:, ::-1], rtol=1e-12)
    np.testing.assert_array_equal(ends, compute_intervals(pairs))
    np.testing.assert_allclose(compute_intervals(pairs[1:2]), ends[1:2], rtol=1e-12)


def test_what_is_too_few_or_of_no_length_has_none() -> None:
    enough, few = np.arange(1.0, 10), np.ones(significance.FEWEST - 1)
    ends = compute_intervals([(enough, few), (few, enough), (enough, np.zeros(9)), (enough, enough + 0)])
    assert np.isnan(ends[:3]).all()
    assert not np.isnan(ends[3]).any()
    assert compute_intervals([]).shape == (0, 2)
