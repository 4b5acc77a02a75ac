"""The size from which the GPU is faster: by hand, against a plain computation, and the coverage of the interval."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from profiledb.studies.cpu_vs_gpu import crossing as crossover
from profiledb.studies.cpu_vs_gpu import sentences
from profiledb.studies.cpu_vs_gpu.crossing import Crossover

POWERS = tuple(2**n for n in range(4, 12))
Times = Mapping[int, NDArray[np.float64]]


def law(sizes: Sequence[int], of: Callable[[int], float], repetitions: int = 5, scatter: float = 0.0) -> Times:
    """Times by size, each ``repetitions`` times, with steps of ``scatter`` around the middle one."""
    steps = 1 + scatter * (np.arange(repetitions) - (repetitions - 1) / 2)
    return {size: np.asarray(of(size) * steps, dtype=np.float64) for size in sizes}


def found(cpu: Times, gpu: Times) -> Crossover:
    return crossover.find_crossover("t", "total", cpu, gpu)


def test_a_square_against_a_constant() -> None:
    """size² = 1,000 at the root of 1,000; both are straight on logarithmic axes, so the result is exact."""
    one = found(law(POWERS, lambda size: size**2), law(POWERS, lambda _: 1000.0))
    assert (one.state, one.crossings, one.repetitions) == ("crossed", 1, 5)
    assert one.crossing == pytest.approx(math.sqrt(1000))
    assert one.low == one.high == one.crossing, "nothing scatters"
    assert one.threshold == 32
    decimal = found(law((10, 30, 100), lambda size: size**2), law((10, 30, 100), lambda _: 2500.0))
    assert decimal.crossing == pytest.approx(50)
    assert decimal.threshold == 50


def test_the_interval_holds_the_crossing_and_ends_where_the_repetitions_do() -> None:
    """CPU 0.8 to 1.2 times size², GPU constant: resampled medians stay within these, and so do the ends."""
    one = found(law(POWERS, lambda size: size**2, scatter=0.1), law(POWERS, lambda _: 1000.0))
    assert one.low is not None
    assert one.high is not None
    assert one.crossing is not None
    assert math.sqrt(1000 / 1.2) <= one.low < one.crossing < one.high <= math.sqrt(1000 / 0.8)
    assert one.threshold == 64, "the upper end, 35, rounded up"
    again = found(law(POWERS, lambda size: size**2, scatter=0.1), law(POWERS, lambda _: 1000.0))
    assert again == one, "the same seed each time"
    scaled = found(law(POWERS, lambda size: 7 * size**2, scatter=0.1), law(POWERS, lambda _: 7000.0))
    assert scaled.high == pytest.approx(one.high)


@pytest.mark.parametrize(
    ("ratios", "state", "crossings", "crossing", "threshold"),
    [
        ((0.5, 0.9, 0.7), "never", 0, None, None),
        ((1.0, 1.0, 1.0), "never", 0, None, None),
        ((1.1, 2.0, 3.0), "always", 0, None, 16),
        ((0.5, 2.0, 4.0), "crossed", 1, math.sqrt(16 * 32), 32),
        ((0.5, 1.0, 2.0), "crossed", 1, 32, 32),
        ((2.0, 0.5, 2.0), "crossed", 2, math.sqrt(32 * 64), 64),
        ((0.5, 2.0, 0.5), "back", 2, None, None),
        ((2.0, 2.0, 1.0), "back", 1, None, None),
    ],
)
def test_states_and_ties(
    ratios: tuple[float, ...], state: str, crossings: int, crossing: float | None, threshold: int | None
) -> None:
    sizes = (16, 32, 64)
    by_size = dict(zip(sizes, ratios, strict=True))
    one = found(law(sizes, lambda size: 1000 * by_size[size]), law(sizes, lambda _: 1000.0))
    assert (one.state, one.crossings, one.threshold) == (state, crossings, threshold)
    assert one.crossing == (None if crossing is None else pytest.approx(crossing))


def test_one_device_no_common_size_and_no_time() -> None:
    cpu = law((16, 32), float)
    assert found(cpu, {}).state == "one device"
    assert sentences.describe_crossover(found(cpu, {})) == "Only the CPU was measured."
    assert sentences.describe_crossover(found({}, cpu)) == "Only the GPU was measured."
    for gpu in (law((64,), float), law((16, 32), lambda _: 0.0)):
        one = found(cpu, gpu)
        assert (one.state, one.threshold, one.sizes) == ("nothing in common", None, ())
        assert "no measured size in common" in sentences.describe_crossover(one)
    odd = found(law((0, 8, 16), lambda _: 5.0), law((0, 8, 32), lambda _: 1.0))
    assert (odd.sizes, odd.state) == ((8,), "always"), "a size of 0 has no logarithm"


def test_few_repetitions_have_no_interval() -> None:
    for many in (1, 2):
        one = found(law(POWERS, lambda size: size**2, many), law(POWERS, lambda _: 1000.0, 9))
        assert (one.repetitions, one.low_place, one.high_place, one.low, one.high) == (many, "", "", None, None)
        assert one.crossing == pytest.approx(math.sqrt(1000))
        assert one.threshold == 32
        assert "No interval" in sentences.describe_measurement(one)
        assert sentences.format_interval(one) == ""


def test_an_interval_may_end_outside_of_what_was_measured() -> None:
    close = law((16, 32, 64), lambda size: {16: 500, 32: 700, 64: 1010}[size], scatter=0.1)
    one = found(close, law((16, 32, 64), lambda _: 1000.0))
    assert (one.state, one.low_place, one.high_place, one.threshold) == ("crossed", "inside", "above", None)
    assert sentences.format_interval(one).endswith("to beyond 64")
    assert "scatter too much" in sentences.recommend(one)
    lucky = found(law((16, 32), lambda _: 1010.0, scatter=0.1), law((16, 32), lambda _: 1000.0))
    assert (lucky.state, lucky.low_place, lucky.high_place, lucky.threshold) == ("always", "below", "above", None)
    assert "within the scatter" in sentences.recommend(lucky)


@pytest.mark.parametrize(
    ("size", "sizes", "rounded"),
    [
        (512.0000000001, POWERS, 512), (513, POWERS, 1024), (0.3, POWERS, 1), (1.5, (1, 2), 2), (583, (100, 500), 600),
        (600, (100, 500), 600), (101, (100, 500), 120), (9.5, (3, 30), 10), (1.1, (3, 30), 2), (23, (3, 30), 25),
        (1_000_001, (3, 30), 1_200_000),
    ],
)  # fmt: skip
def test_round_sizes(size: float, sizes: tuple[int, ...], rounded: int) -> None:
    assert crossover.round_up(size, sizes) == rounded


def test_a_threshold_is_never_beyond_what_was_measured() -> None:
    one = found(law((100, 300), lambda size: size**2), law((100, 300), lambda _: 85_000.0))
    assert one.crossing == pytest.approx(math.sqrt(85_000))
    assert one.threshold == 300


def test_the_last_crossing_against_a_plain_computation() -> None:
    random = np.random.default_rng(3)
    logs = np.log([3.0, 10.0, 12.0, 100.0, 700.0])
    rows = random.normal(0.2, 1, (500, 5)).round(0 if random.random() < 0.5 else 1)
    for row, at in zip(rows, crossover.find_last_crossing(logs, rows), strict=True):
        behind = [n for n in range(5) if row[n] <= 0]
        if not behind:
            assert at == -math.inf
        elif behind[-1] == 4:
            assert at == math.inf
        else:
            n = behind[-1]
            assert at == pytest.approx(np.interp(0, row[n : n + 2], logs[n : n + 2]))


@pytest.mark.parametrize(("repetitions", "gpu_scatter"), [(3, 0.15), (5, 0.15), (5, 0.0), (12, 0.15)])
def test_what_the_interval_covers(repetitions: int, gpu_scatter: float) -> None:
    """Times scatter around a power law that crosses at 300: the interval has it in about 95 of 100 captures."""
    random = np.random.default_rng(11)
    captures, held = 150, 0
    for _ in range(captures):
        cpu = {s: (s / 300) ** 0.8 * np.exp(random.normal(0, 0.15, repetitions)) for s in POWERS}
        gpu = {s: np.exp(random.normal(0, gpu_scatter, repetitions)) for s in POWERS}
        one = found(cpu, gpu)
        assert one.low is not None
        assert one.high is not None
        held += one.low <= 300 <= one.high
    assert held / captures >= (0.9 if repetitions > 3 else 0.85)


def test_the_rows_of_an_analysis() -> None:
    rows = pd.DataFrame(
        [
            ("b", size, device, n, float(size**2 if device == "cpu" else 1000), None if device == "cpu" else 5.0)
            for size in POWERS for device in ("gpu", "cpu") for n in (1, 2, 3)
        ]
        + [("a", 8, "cpu", 1, 4.0, 4.0)],
        columns=["task", "size", "device", "repetition", "total_ns", "compute_ns"],
    )  # fmt: skip
    made = crossover.find_crossovers(rows)
    assert [(one.task, one.basis, one.state) for one in made] == [
        ("b", "total", "crossed"), ("b", "compute", "one device"), ("a", "total", "one device"),
        ("a", "compute", "one device"),
    ]  # fmt: skip
    frame = crossover.build_frame(made)
    assert list(frame.columns) == [column.name for column in crossover.COLUMNS]
    assert frame["threshold"].tolist() == [32, pd.NA, pd.NA, pd.NA]
    assert crossover.build_frame([]).empty
    assert crossover.find_crossovers(rows.head(0)) == []


def test_words() -> None:
    square = found(law(POWERS, lambda size: size**2, scatter=0.1), law(POWERS, lambda _: 1000.0))
    assert sentences.describe_crossover(square).startswith("Use the GPU from 64 on. By medians, the GPU is faster from")
    never = found(law(POWERS, lambda _: 1.0), law(POWERS, lambda _: 2.0))
    assert sentences.recommend(never) == "Use the CPU for all measured sizes (up to 2,048)."
    assert sentences.format_crossing(never) == sentences.format_interval(never) == "beyond 2,048"
    always = found(law(POWERS, lambda _: 2.0), law(POWERS, lambda _: 1.0))
    assert sentences.recommend(always) == "Use the GPU from 16 on, perhaps earlier."
    only = found(law((16,), lambda _: 2.0), law((16,), lambda _: 1.0))
    assert "the only size measured" in sentences.describe_measurement(only)
    waves = found(law((1, 2, 4), lambda size: {1: 2, 2: 0.5, 4: 2}[size]), law((1, 2, 4), lambda _: 1.0))
    assert "changes 2 times from size to size; this is the last" in sentences.describe_measurement(waves)
