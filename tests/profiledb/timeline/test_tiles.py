"""Tiles of a report against its events, one by one: every bin of every lane, at any zoom and place."""

import os
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiledb.errors import AnalysisError
from profiledb.timeline import area, build, event, events, gaps, neighbors, search, tiles
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import BuildingError, Timelines
from tests.support.every_report import slow_but
from tests.support.timelines import NAMES, PID, REPORT, TIDS, calls, joined, kernels, library, report_row, timelines

ORIGINS = (0, 1_000, (1 << 62) - (1 << 40))
LENGTH = 300_000_000


def content(origin: int) -> dict[str, Any]:
    """Dense, sparse, overlapping and nested lanes, events without length and longer than any tile."""
    rng = np.random.default_rng(7)
    gaps, lengths = rng.integers(0, 9_000, 30_000), rng.integers(0, 9_000, 30_000)
    ends = np.cumsum(gaps + lengths)
    dense = kernels(origin + ends - lengths, origin + ends)
    at = origin + np.sort(rng.integers(0, LENGTH, 3_000))
    crossing = kernels(at, at + rng.integers(0, 400_000, 3_000), stream=8, first=50_001)
    moments = origin + np.sort(rng.integers(0, LENGTH, 500))
    empty = kernels(moments, moments, stream=9, first=60_001)
    whole = kernels([origin], [origin + LENGTH], stream=10, first=70_001)
    outer = origin + np.arange(0, LENGTH, 20_000)
    nested = calls(
        np.concatenate([outer, outer + 2_000]), np.concatenate([outer + 15_000, outer + 9_000]), TIDS[1], 100_001
    )
    shallow = calls(dense["start_ns"] - 500, dense["start_ns"] - 400 + dense["kernel_id"] % 90, TIDS[0])
    last = int(max(dense["end_ns"][-1], (at + 400_000).max()))
    return NAMES | {
        "report": report_row(origin, last), "kernel": joined(dense, crossing, empty, whole),
        "api_call": joined(shallow, nested),
        "busy": {"device_id": np.zeros(1, dtype=np.int32), "start_ns": [origin], "end_ns": [origin + LENGTH]},
    }  # fmt: skip


@pytest.fixture(scope="module", params=slow_but(ORIGINS[-1:], ORIGINS, "more origins of time"))
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Timelines:
    folder = tmp_path_factory.mktemp("tiles")
    made = timelines(library(folder, content(request.param)))
    made.wait(REPORT)
    return made


@cache
def of_lane(shelf: Timelines, lane: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin and end of all events of a lane, from the report's own tables."""
    opened = shelf.wait(REPORT)
    shown = opened.listed[lane]
    if shown["kind"] == "stream":
        query = f"SELECT start_ns, end_ns FROM kernel WHERE stream_id = {shown['stream']}"
    else:
        query = f"SELECT start_ns, end_ns FROM api_call WHERE global_tid = {shown['tid']}"
    with shelf.cursor(REPORT) as cursor:
        rows = cursor.execute(query).fetchnumpy()
    return np.asarray(rows["start_ns"]) - opened.origin_ns, np.asarray(rows["end_ns"]) - opened.origin_ns


def checked(opened: Opened) -> list[int]:
    return [lane.id for lane in opened.lanes if lane.kind in ("stream", "api")]


def seconds(start: NDArray[Any], end: NDArray[Any], low: int, z: int) -> NDArray[Any]:
    """The sum of the time of some stretches in each bin of a tile."""
    edges = low + (np.arange(tiles.BINS + 1) << z)
    order = np.sort(start), np.sort(end)
    before = [np.concatenate([[0], np.cumsum(times)]) for times in order]
    # of all that began by an edge, the time until it, less that of all that ended
    at = [np.searchsorted(times, edges) for times in order]
    until = (at[0] * edges - before[0][at[0]]) - (at[1] * edges - before[1][at[1]])
    return np.diff(until)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), z=st.integers(0, 34), where=st.floats(-0.1, 1.1))
def test_every_bin_of_a_tile(shelf: Timelines, data: st.DataObject, z: int, where: float) -> None:
    opened = shelf.wait(REPORT)
    i = int(where * opened.end_ns) // (tiles.BINS << z)
    low, high = i * tiles.BINS << z, (i + 1) * tiles.BINS << z
    lane = data.draw(st.sampled_from(checked(opened)))
    start, end = of_lane(shelf, lane)
    with shelf.cursor(REPORT) as cursor:
        found = tiles.read_items(cursor, opened, [opened.lanes[lane]], z, low, high)
    n, s, e = found["n"], found["s"], found["e"]
    whole = n < 2
    time = seconds(s[whole], e[whole], low, z)
    np.add.at(time, (s[~whole] - low) >> z, found["busy"][~whole] * (1 << z))
    assert np.allclose(time, seconds(start, end, low, z), rtol=1e-9, atol=0.01)
    begun = (s >= low) & (s < high)
    assert n[begun].sum() == ((start >= low) & (start < high)).sum()
    for row in np.unique(found["row"]):  # nothing overlaps in a row, so that sums are unions
        mine = (found["row"] == row) & (n < 2)
        assert (e[mine][:-1] <= s[mine][1:]).all()
    long = (end - start >= 1 << z) & (end > low) & (start < high)
    own = (n == 1) & (e - s >= 1 << z)
    assert sorted(zip(start[long], end[long], strict=True)) == sorted(zip(s[own], e[own], strict=True))
    assert len(s) <= 4 * tiles.BINS * opened.lanes[lane].rows


def test_tiles_of_a_zoom_hold_every_event_once(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    for z in (14, 17, 18, 20, 23):
        span = tiles.BINS << z
        counted = dict.fromkeys(checked(opened), 0)
        for i in range(opened.begin_ns // span, opened.end_ns // span + 1):
            with shelf.cursor(REPORT) as cursor:
                lanes = [opened.lanes[lane] for lane in counted]
                found = tiles.read_items(cursor, opened, lanes, z, i * span, (i + 1) * span)
            begun = (found["s"] >= i * span) & (found["s"] < (i + 1) * span)
            for lane in counted:
                counted[lane] += int(found["n"][begun & (found["lane"] == lane)].sum())
        assert counted == {lane: len(of_lane(shelf, lane)[0]) for lane in counted}


def test_an_area_is_what_its_events_are(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    whole = (opened.begin_ns, opened.end_ns + 1)
    for low, high in (whole, (12_345_678, 98_765_432), (1 << 22, 1 << 24), (5_000, 5_001), (-9_000, 2_500_000)):
        with shelf.cursor(REPORT) as cursor:
            answer = area.measure_area(cursor, opened, low, high, checked(opened))
        operations = counted = 0
        for row in answer["lanes"]:
            start, end = of_lane(shelf, row["lane"])
            here = (start < high) & ((end > low) | (start >= low))
            ns, inside = (end - start)[here], (np.minimum(end, high) - np.maximum(start, low))[here]
            nested = opened.lanes[row["lane"]].kind in ("range", "projection")
            assert (row["count"], row["sum_ns"]) == (len(ns), None if nested else inside.sum())
            if len(ns):
                assert (row["min_ns"], row["median_ns"], row["max_ns"]) == (ns.min(), np.median(ns), ns.max())
                assert row["mean_ns"] == pytest.approx(ns.mean())
            assert row["busy_ns"] == union(np.clip(start, low, high), np.clip(end, low, high))
            if opened.lanes[row["lane"]].kind == "stream":
                operations, counted = operations + inside.sum(), counted + len(ns)
            if opened.lanes[row["lane"]].kind == "range":
                spans = (start <= low) & (end >= high)
                spanning = sorted(zip(start[spans], end[spans], strict=True))
                told = [(one["start"], one["end"]) for one in answer["around"] if one["lane"] == row["lane"]]
                assert sorted(told) == spanning
        assert sum(answer["histogram"]["counts"]) == counted
        assert sum(one["sum_ns"] for one in answer["classes"]) == operations


@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_an_area_from_sums_is_an_area_from_events(shelf: Timelines, data: st.DataObject) -> None:
    opened = shelf.wait(REPORT)
    edge = st.one_of(
        st.integers(opened.begin_ns - 1000, opened.end_ns + 1000),
        st.builds(lambda z, k, off: (k << z) + off, st.integers(18, 24), st.integers(0, 200), st.integers(-1, 1)),
    )
    low, high = sorted(data.draw(st.tuples(edge, edge).filter(lambda two: two[0] != two[1])))
    read = [replace(lane, sum_z=None) for lane in opened.lanes]
    assert any(lane.sum_z is not None for lane in opened.lanes)
    with shelf.cursor(REPORT) as cursor:
        answer = area.measure_area(cursor, opened, low, high, [])
        assert answer == area.measure_area(cursor, replace(opened, lanes=read), low, high, [])


def test_what_hardly_repeats_is_not_summed(tmp_path: Path) -> None:
    starts = np.arange(20_000) * 1_000
    rows = kernels(starts, starts + 500) | {"name_id": np.arange(20_000, dtype=np.int32)}
    made = timelines(library(tmp_path, {"report": report_row(0, 20_000_000), "kernel": rows}))
    opened = made.wait(REPORT)
    assert [lane.sum_z for lane in opened.lanes if lane.kind == "stream"] == [None]
    with made.cursor(REPORT) as cursor:
        assert area.measure_area(cursor, opened, 0, 1 << 30, [])["lanes"][0]["count"] == 20_000


@pytest.mark.slow("starts two processes")
def test_two_processes_may_make_the_same_file(tmp_path: Path) -> None:
    starts = np.arange(9_000) * 1_000
    shelf = library(tmp_path, {"report": report_row(0, 9_000_000), "kernel": kernels(starts, starts + 500)})
    left = build.get_timeline_path(shelf.derived.timelines, REPORT).with_name(f"{REPORT}.timeline1.duckdb")
    killed = left.with_name(f"{left.name}.0.making")
    fresh = left.with_name(f"{left.name}.1.making")
    left.parent.mkdir(parents=True, exist_ok=True)
    for path in (left, killed, fresh):
        path.write_text("left")
    os.utime(killed, (0, 0))
    both = [timelines(shelf) for _ in range(2)]
    for made in both:
        with pytest.raises(BuildingError):
            made.open(REPORT)
    for made in both:
        made.wait(REPORT)
        with made.cursor(REPORT) as cursor:
            assert cursor.execute("SELECT count(*) FROM level").fetchall()[0][0] > 0
    assert sorted(path.name for path in shelf.derived.timelines.glob("*")) == sorted(
        [fresh.name, build.get_timeline_path(shelf.derived.timelines, REPORT).name]
    )


@pytest.mark.parametrize("kept", slow_but([5], [4_096, 5], "a second timeline"))
def test_gaps_are_found_beyond_those_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    rng = np.random.default_rng(3)
    ends = np.cumsum(rng.integers(3_000, 90_000, 80))
    busy = {"device_id": np.zeros(80, dtype=np.int32), "start_ns": ends - 1_000, "end_ns": ends}
    content = {"report": report_row(0, int(ends[-1])), "busy": busy, "kernel": kernels(ends - 1_000, ends)}
    longest = sorted(
        zip(ends[:-1].tolist(), (ends[1:] - 1_000).tolist(), strict=True), key=lambda gap: (gap[0] - gap[1], gap)
    )
    monkeypatch.setattr(gaps, "KEPT", kept)
    made = timelines(library(tmp_path, content))
    opened = made.wait(REPORT)
    for low, high in (
        (0, int(ends[-1])),
        (int(ends[30]) + 500, int(ends[50])),
        (int(ends[3]) + 1, int(ends[3]) + 2),
    ):
        with made.cursor(REPORT) as cursor:
            told = area.measure_area(cursor, opened, low, high, [])["gaps"]
        here = [gap for gap in longest if gap[1] > low and gap[0] < high]
        assert [(gap["start"], gap["end"]) for gap in told] == here[:10]


def test_copies_keep_their_names_where_the_report_is_read(tmp_path: Path) -> None:
    starts = np.arange(9_000) * 1_000
    rows = {
        name: column for name, column in kernels(starts, starts + 500).items() if name not in ("kernel_id", "name_id")
    }
    rows |= {"memop_id": np.arange(9_000), "operation": ["[CUDA memset]"] * 9_000, "kind": ["memset"] * 9_000}
    made = timelines(library(tmp_path, {"report": report_row(0, 9_000_000), "memop": rows}))
    opened = made.wait(REPORT)
    (lane,) = [lane for lane in opened.lanes if lane.kind == "stream"]
    assert lane.direct
    with made.cursor(REPORT) as cursor:
        found = event.describe_event(cursor, opened, lane.id, 1)
        assert (found["name"], opened.classes[found["color"]].name) == ("[CUDA memset]", "memset")


def union(start: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """The time that some stretches cover together."""
    total = reached = int(start.min(initial=0)) - 1
    total = 0
    for s, e in sorted(zip(start.tolist(), end.tolist(), strict=True)):
        total += max(0, e - max(s, reached))
        reached = max(reached, e)
    return total


def test_steps_go_through_a_lane_in_its_order(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    lane = next(one for one in opened.lanes if one.kind == "stream" and opened.listed[one.id]["stream"] == 9)
    starts = sorted(set(of_lane(shelf, lane.id)[0].tolist()))
    with shelf.cursor(REPORT) as cursor:
        at, seen = -1, []
        while found := neighbors.find_neighbor(cursor, opened, lane.id, at, "next"):
            at = found[2]
            seen.append(at)
        assert seen == starts
        before = neighbors.find_neighbor(cursor, opened, lane.id, starts[7], "prev")
        assert before is not None
        assert before[2] == starts[6]
        assert neighbors.find_neighbor(cursor, opened, lane.id, starts[0], "prev") is None


def test_every_event_of_a_tile_can_be_asked_for(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    with shelf.cursor(REPORT) as cursor:
        for lane in checked(opened):
            found = tiles.read_items(cursor, opened, [opened.lanes[lane]], 20, 0, tiles.BINS << 20)
            for at in range(0, len(found["s"]), max(1, len(found["s"]) // 4)):
                one = event.describe_event(cursor, opened, lane, int(found["ref"][at]))
                assert found["s"][at] <= one["start"] < found["s"][at] + (1 << 20)
                assert one["name_id"] == found["name"][at]
        launched = event.describe_event(cursor, opened, events.find_lane(opened, checked(opened)[0]).id, 4)
        assert [arrow["kind"] for arrow in launched["arrows"]] == ["launch"]


def test_search_finds_what_names_say(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    with shelf.cursor(REPORT) as cursor:
        all_kernels = cursor.execute("SELECT count(*) FROM kernel").fetchall()[0][0]
        one = cursor.execute("SELECT count(*) FROM kernel WHERE name_id = 3").fetchall()[0][0]
        assert search.search_names(cursor, opened, "KERNEL_", "part")["hits"] >= all_kernels
        found = search.search_names(cursor, opened, "kernel_3", "exact")
        assert found["hits"] == one == sum(found["density"])
        assert len(found["first"]) == min(one, 200)
        assert search.search_names(cursor, opened, "^kernel_[3]$", "pattern")["hits"] == one
        assert search.search_names(cursor, opened, "'; DROP TABLE kernel; --\0", "part")["hits"] == 0
        for text, how in (("(", "pattern"), ("", "part"), ("x" * 257, "part"), ("x", "sql")):
            with pytest.raises(AnalysisError):
                search.search_names(cursor, opened, text, how)


def test_the_bytes_of_a_tile(shelf: Timelines) -> None:
    opened = shelf.wait(REPORT)
    with shelf.cursor(REPORT) as cursor:
        groups = list(opened.groups)
        body = tiles.make_tile(cursor, opened, groups, 16, 0)
        lanes = [lane for lane in opened.lanes if lane.group is not None]
        found = tiles.read_items(cursor, opened, lanes, 16, 0, tiles.BINS << 16)
        for group, z in ((max(groups) + 1, 3), (groups[0], 53), (groups[0], -1)):
            with pytest.raises(AnalysisError):
                tiles.make_tile(cursor, opened, [group], z, 0)
    magic, items, points, rest = struct.unpack_from("<IIII", body)
    assert (magic, items, points, rest) == (0x31544457, len(found["s"]), 0, 0)
    at = 16
    for name, kind in (
        ("s", "<f8"), ("e", "<f8"), ("lane", "<u4"), ("row", "<u2"), ("name", "<u4"), ("color", "<u2"), ("n", "<u4"),
        ("busy", "<f4"), ("ref", "<f8"),
    ):  # fmt: skip
        column = np.frombuffer(body, kind, items, at)
        sure = found["n"] < 2 if name in ("name", "color", "ref") else slice(None)  # of equally long ones any may stand
        assert np.array_equal(column[sure], found[name].astype(kind)[sure])
        at += -(-column.nbytes // 8) * 8
    assert at == len(body)
    assert opened.listed[lanes[0].id]["pid"] == PID or lanes[0].kind != "stream"
