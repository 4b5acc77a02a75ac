"""The energy of random power lies within its bounds, and the rows of the classes add up to the whole."""

import random

import pytest

from profiledb.library.library import Library
from tests.support.every_report import slow_but
from tests.support.page_reports import Publish, picked, run
from tests.support.power_log_reports import Span, at_once, put_log, reading, report

LOW, HIGH, LENGTH = 80.0, 700.0, 3000


def curve(draw: random.Random) -> list[float]:
    """Power of each ms: the extremes first, then stretches of random length and power."""
    power = [LOW] * 250 + [HIGH] * 250
    while len(power) < LENGTH:
        power += [draw.uniform(LOW, HIGH)] * draw.randint(1, 120)
    return power[:LENGTH]


@pytest.mark.parametrize("seed", slow_but([0], range(4), "another random power"))
def test_the_true_energy_lies_within_the_bar(library: Library, publish: Publish, seed: int) -> None:
    """The counter changes about every 100 ms, and readings about every 25 ms see it later; the log has one hole."""
    draw = random.Random(seed)
    power = curve(draw)
    total = [0.0]
    for watts in power:
        total.append(total[-1] + watts / 1000)
    rows, shown, watts, moves, reads = [], 0.0, LOW, 50, 0
    for ms in range(LENGTH):
        if ms == moves:
            shown, watts, moves = total[ms], power[ms], moves + draw.randint(95, 105)
        if ms == reads:
            rows.append(reading(ms, shown, watts))
            reads += 400 if ms < 1500 <= ms + 25 else draw.randint(20, 27)
    spans: list[Span] = []
    for number in range(40):
        for _ in range(draw.randint(1, 6)):
            start = draw.randint(200, LENGTH - 300)
            spans.append((f"range {number}", start, min(start + draw.randint(1, 500), LENGTH - 150)))
    one = report(publish, spans, end_ms=LENGTH)
    put_log(library, one, rows)
    found = run(library, one, "energy_ranges")
    assert len(found) == 40
    for row in found:
        inside = {ms for name, a, b in spans if name == row["range"] for ms in range(int(a), int(b))}
        truth = sum(power[ms] for ms in inside) / 1000
        assert row["covered_pct"] == pytest.approx(100)
        assert row["low_j"] - 1e-6 <= truth <= row["high_j"] + 1e-6, row["range"]
        assert row["low_j"] <= row["joules"] <= row["high_j"]


WORK = [("matmul", 100, 150), ("reduction", 125, 175), ("memcpy", 180, 190), ("matmul", 290, 320)]
CHOSEN: tuple[dict[str, int], ...] = (
    {},
    {"from_ns": 130_000_000},
    {"to_ns": 301_000_000},
    {"device": 0},
    {"stream": 7},
)
CHANGES = [(0.0, 100.0), (100.0, 110.0), (200.0, 140.0), (300.0, 180.0), (400.0, 190.0)]


def test_classes_share_each_stretch_by_their_times(library: Library, publish: Publish) -> None:
    """From 100 to 200 ms, work covers 85: 50, 50 and 10 of 110 ms share it; the rest of the capture is idle."""
    one = report(publish, work=WORK, end_ms=350)
    put_log(library, one, at_once(CHANGES, 50, 500))
    rows = {row["class"]: row for row in run(library, one, "energy_classes")}
    share = 0.085 / 110
    assert rows["matmul"]["joules"] == pytest.approx(300 * 50 * share + 400 * 0.01 + 100 * 0.02, abs=1e-4)
    assert rows["reduction"]["joules"] == pytest.approx(300 * 50 * share, abs=1e-4)
    assert rows["memcpy"]["joules"] == pytest.approx(300 * 10 * share, abs=1e-4)
    assert rows["idle"]["joules"] == pytest.approx(300 * 0.015 + 400 * 0.09 + 100 * 0.03, abs=1e-4)
    assert sum(row["joules"] for row in rows.values()) == pytest.approx(30 + 40 + 5)
    assert sum(row["share_pct"] for row in rows.values()) == pytest.approx(100)
    (whole,) = run(library, one, "energy_summary")
    assert (whole["joules"], whole["seconds"]) == (pytest.approx(75), 0.35)


@pytest.mark.parametrize("chosen", slow_but([CHOSEN[1], CHOSEN[3]], CHOSEN, "more selections"))
def test_the_rows_add_up_to_the_selection(library: Library, publish: Publish, chosen: dict[str, int]) -> None:
    one = report(publish, work=WORK, gpus=(None, None), used=(0, 1), end_ms=350)
    more = at_once([(ms, 3 * joules) for ms, joules in CHANGES], 50, 1500, device=1)
    put_log(library, one, [*at_once(CHANGES, 50, 500), *more])
    whole = run(library, one, "energy_summary", **chosen)
    assert len(whole) == (1 if "device" in chosen else 2)
    rows = run(library, one, "energy_classes", **chosen)
    for name in ("joules", "seconds"):
        parts = [row["seconds"] * row["covered_pct"] / 100 if name == "seconds" else row[name] for row in whole]
        assert sum(row[name] for row in rows) == pytest.approx(sum(parts)), name


def test_a_part_of_the_time(library: Library, publish: Publish) -> None:
    one = report(publish, [("first", 100, 200), ("second", 220, 260)], work=WORK, end_ms=350)
    put_log(library, one, at_once(CHANGES, 50, 500))
    (row,) = run(library, one, "energy_summary", from_ns=150_000_000, to_ns=250_000_000)
    assert (row["joules"], row["seconds"]) == (pytest.approx(15 + 20), 0.1)
    assert picked(run(library, one, "energy_ranges", to_ns=210_000_000), "range") == [("first",)]


def test_power_over_time(library: Library, publish: Publish) -> None:
    """The readings during the selection, and one on each side."""
    one = report(publish, end_ms=350)
    put_log(library, one, [reading(ms, ms, 100 + ms) for ms in range(-100, 600, 50)])
    rows = run(library, one, "power_over_time", from_ns=110_000_000, to_ns=240_000_000)
    assert picked(rows, "time_ns", "power_w") == [(ms * 1_000_000, 100 + ms) for ms in (100, 150, 200, 250)]
    assert {(row["window_start_ns"], row["window_end_ns"]) for row in rows} == {(110_000_000, 240_000_000)}
    few = run(library, one, "power_over_time", bins=4)
    assert len(few) <= 4
    assert sum(row["readings"] for row in few) == 8, "0 to 350 ms, both ends included"
    assert (few[0]["time_ns"], min(row["lowest_w"] for row in few)) == (0, 100)
    assert max(row["highest_w"] for row in few) == 450


def test_ranges_beside_the_power(library: Library, publish: Publish) -> None:
    """The longest ones of a level; ranges without GPU work show their CPU time."""
    one = report(publish, [("long", 100, 300), ("short", 20, 30), ("long", 320, 330)], end_ms=350)
    rows = run(library, one, "power_ranges", most=2)
    assert picked(rows, "path", "start_ns", "end_ns", "on_gpu", "total", "levels") == [
        ("long", 100_000_000, 300_000_000, False, 3, 1), ("short", 20_000_000, 30_000_000, False, 3, 1),
    ]  # fmt: skip
    assert run(library, one, "power_ranges", level=1) == []
