"""Timers of the samples against their ranges: the figures worked out in plain Python from the raw files."""

import csv
import sqlite3
from collections import defaultdict
from contextlib import closing
from statistics import mean

import pytest

from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.support.page_reports import run

NAMES = ("energy", "tasks", "streams_serial")
FILES = [SAMPLES / f"{name}{ending}" for name in NAMES for ending in (".sqlite", ".timings.csv")]
pytestmark = pytest.mark.skipif(not all(path.exists() for path in FILES), reason="no sample reports here")

Key = tuple[str, str]
"""Label and step, as the program's timer writes them."""


@pytest.fixture(scope="module")
def samples(with_sidecars: Library) -> Library:
    return with_sidecars


def timers(name: str) -> dict[Key, list[float]]:
    """What the timers measured in ns, in the order of the file."""
    found = defaultdict(list)
    with (SAMPLES / f"{name}.timings.csv").open() as file:
        for row in csv.DictReader(file):
            found[row["label"], row["step"]].append(float(row["seconds"]) * 1e9)
    return found


def ranges(name: str) -> dict[Key, list[int]]:
    """Durations of the ranges in ns in the order of their ends, named as workloads.ranges.Stopwatch names them."""
    query = """
        SELECT globalTid, start, end, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
        WHERE eventType = 59 AND end IS NOT NULL ORDER BY start, end DESC
    """
    with closing(sqlite3.connect(f"file:{SAMPLES / name}.sqlite?mode=ro&immutable=1", uri=True)) as db:
        rows = db.execute(query).fetchall()
    around: dict[int, list[tuple[int, str]]] = defaultdict(list)
    ended = []
    for thread, start, end, text in rows:
        stack = around[thread]
        while stack and stack[-1][0] <= start:
            stack.pop()
        stack.append((end, text))
        path = [one for _, one in stack]
        step = next((one for one in path if one.startswith("step_") or one == "warmup"), "")
        label = "/".join(one for one in path if one != step) or step
        ended.append((end, (label, step.removeprefix("step_")), end - start))
    found = defaultdict(list)
    for _, key, duration in sorted(ended):
        found[key].append(duration)
    return found


def row_of(label: str, step: str) -> str:
    """The row of `timing_compare` that counts a measurement: a size has one for its steps."""
    return f"{label}/step_*" if label.startswith("batch_") and step else label


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("warmup", ["include", "exclude"])
def test_every_measurement_has_its_range(samples: Library, name: str, warmup: str) -> None:
    expected: dict[str, list[float]] = defaultdict(list)
    ran = ranges(name)
    for (label, step), measured in timers(name).items():
        if warmup == "include" or step != "warmup":
            expected[row_of(label, step)] += [m - r for m, r in zip(measured, ran[label, step], strict=True)]
    rows = {
        row["label"]: row for row in run(samples, samples.find(f"{name}.nsys-rep").id, "timing_compare", warmup=warmup)
    }
    assert set(rows) == set(expected)
    for label, over in expected.items():
        row = rows[label]
        assert (row["timings"], row["ranges"], row["pairs"]) == (len(over),) * 3, label
        assert row["over_cpu_ns"] == pytest.approx(mean(over), abs=1), label


def test_a_batch_size_is_no_step(samples: Library) -> None:
    """The whole of batch_1 was measured once, 7.4 µs shorter than its range; its steps are others."""
    rows = {row["label"]: row for row in run(samples, samples.find("energy.nsys-rep").id, "timing_compare")}
    assert rows["batch_1"]["over_cpu_ns"] == pytest.approx(-7427, abs=1)
    assert rows["batch_1"]["over_cpu_pct"] == pytest.approx(-7427 / 1_460_219_299 * 100, rel=1e-3)
