"""Data beside the events: power and clock readings, steps, and the alignment of several reports."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.timeline import alignment, tiles
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import Timelines
from tests.support.every_report import slow_but
from tests.support.timelines import NAMES, REPORT, TIDS, kernels, library, report_row, timelines

EPOCH = 1_700_000_000_000_000_000
STEPS = 6


def content() -> dict[str, Any]:
    """A kernel a step of 1 ms, two of them collectives, from 10 ms on."""
    starts = np.arange(STEPS) * 1_000_000 + 10_000_000
    ran = kernels(starts, starts + 400_000)
    row = report_row(9_000_000, 9_000_000 + 20_000_000)
    names = {"name_id": np.arange(STEPS, dtype=np.int32), "name": [f"step_{n}" for n in range(STEPS)]}
    ranges = {
        "range_id": np.arange(STEPS), "start_ns": starts - 100_000, "end_ns": starts + 800_000,
        "name_id": np.arange(STEPS, dtype=np.int32), "path_id": np.arange(STEPS), "global_tid": np.full(STEPS, TIDS[0]),
        "level": np.zeros(STEPS, dtype=np.int32), "pre": np.arange(STEPS), "post": np.arange(STEPS),
        "closed": np.ones(STEPS, dtype=bool),
    }  # fmt: skip
    paths = {"path_id": np.arange(STEPS), "name": names["name"], "path": names["name"],
             "level": np.zeros(STEPS, dtype=np.int32)}  # fmt: skip
    short = ["kernel_0", "ncclDevKernel_AllReduce", "ncclDevKernel_SendRecv", *(f"kernel_{n}" for n in range(5))]
    return NAMES | {
        "report": row | {"captured_at": [np.datetime64(EPOCH // 1000, "us")]}, "kernel": ran, "range": ranges,
        "range_name": names, "range_path": paths, "kernel_name": NAMES["kernel_name"] | {"short": short},
    }  # fmt: skip


def log(rows: list[tuple[int, object, object, object]]) -> str:
    """A log of power of GPU 0: time on the report's clock, ns, watts, clocks in MHz."""
    lines = (f"{EPOCH + at},0,,{power},,{sm},{memory},,,,\n" for at, power, sm, memory in rows)
    return ",".join(sidecar.TABLES["power"]) + "\n" + "".join(lines)


DAMAGED = ("", "nonsense", "time_ns,device\n1,2\n", "\x00" * 500, log([(5, 1, 1, 1)])[:-20])


@pytest.fixture
def shelf(tmp_path: Path) -> Library:
    return library(tmp_path, content())


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Timelines:
    """The timelines of the report alone, for tests that put nothing beside it."""
    return timelines(library(tmp_path_factory.mktemp("beside"), content()))


def lines(opened: Opened) -> dict[str, dict[str, Any]]:
    return {str(lane["title"]): dict(lane) for lane in opened.listed if lane["kind"] == "line"}


def points(made: Timelines, opened: Opened, lane: Any) -> list[tuple[float, float]]:
    with made.cursor(REPORT) as cursor:
        info = opened.lanes[lane["id"]]
        found = tiles.read_points(cursor, opened, [info], 0, 0, 1 << 40)
    return [(float(s), float(mean)) for s, mean in zip(found["s"], found["mean"], strict=True)]


def test_readings_are_lanes_in_the_time_of_the_report(shelf: Library) -> None:
    made = timelines(shelf)
    assert lines(made.wait(REPORT)) == {}
    shelf.put_sidecar(
        REPORT, "power",
        log([
            (1, 100, 1000, 2000),
            (8_999_000, 200.5, 1100, 2000), (9_500_000, 300, 1200, ""), (12_000_000, "nan", 0, -5),
            (28_000_000, 400, 1300, 2000), (29_000_000, 999, 999, 999), (EPOCH, 1, 1, 1),
        ]),
    )  # fmt: skip
    opened = made.wait(REPORT)  # a log that came later is seen
    found = lines(opened)
    assert list(found) == ["Power", "SM clock", "Memory clock"]
    assert {lane["unit"] for lane in found.values()} == {"W", "Hz"}
    parent = opened.listed[found["Power"]["parent"]]
    assert (parent["kind"], parent["title"], parent["parent"]) == ("group", "Power and clocks", None)
    assert points(made, opened, found["Power"]) == [(-1_000, 200.5), (500_000, 300), (19_000_000, 400)]
    assert [value for _, value in points(made, opened, found["SM clock"])] == [1.1e9, 1.2e9, 0, 1.3e9]
    assert points(made, opened, found["Memory clock"]) == [(-1_000, 2e9), (19_000_000, 2e9)]


@pytest.mark.parametrize("text", slow_but(DAMAGED[-1:], DAMAGED, "a timeline for each of more damaged logs"))
def test_a_damaged_log_takes_nothing_else_along(shelf: Library, text: str) -> None:
    shelf.put_sidecar(REPORT, "power", text)
    opened = timelines(shelf).wait(REPORT)
    assert lines(opened) == {}
    assert "stream" in {lane.kind for lane in opened.lanes}


def test_steps_are_those_of_the_page_of_ranges(looked_at: Timelines) -> None:
    opened = looked_at.wait(REPORT)
    assert [(name, start, end) for start, end, name, _ in opened.steps] == [
        (f"step_{n}", 1_000_000 * (n + 1) - 100_000, 1_000_000 * (n + 1) + 800_000) for n in range(STEPS)
    ]


def test_moments_are_of_collectives_and_of_the_clock(looked_at: Timelines) -> None:
    opened = looked_at.wait(REPORT)
    with looked_at.cursor(REPORT) as cursor:
        told = alignment.read_alignment(cursor, opened)
    # SendRecv, the second kernel, ends on each rank when it is its turn
    ends = [["ncclDevKernel_AllReduce", 1_400_000]]
    assert told == {"epoch_ns": str(EPOCH + 9_000_000), "collectives": ends}


def test_a_report_without_a_clock_says_so(tmp_path: Path) -> None:
    made = timelines(library(tmp_path, NAMES | {"kernel": kernels([5], [9])}))
    opened = made.wait(REPORT)
    with made.cursor(REPORT) as cursor:
        assert alignment.read_alignment(cursor, opened) == {"epoch_ns": None, "collectives": []}
