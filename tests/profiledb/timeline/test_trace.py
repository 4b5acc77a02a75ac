"""Traces for Perfetto, read again with Perfetto's own messages, against the events of the report."""

import io
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.selection.model import Selection
from profiledb.timeline import spans, trace
from profiledb.timeline.store import Timelines
from tests.support.timelines import NAMES, REPORT, TIDS, calls, joined, kernels, library, report_row, timelines

ORIGIN = 5_000_000_000
COUNT = 9_000
EVIL = "</script>\x1b[31m\u202e\ud83d\ude80".encode("utf-16", "surrogatepass").decode("utf-16")


def content() -> dict[str, Any]:
    """Kernels with their calls, of which one launches two kernels, and ranges in each other around them."""
    starts = ORIGIN + np.arange(COUNT) * 10_000
    launches = calls(starts - 5_000, starts - 4_000, TIDS[0])
    launched = kernels(starts, starts + 7_000) | {"process_range": np.where(np.arange(COUNT) < 100, 2, 0)}
    twice = kernels([starts[-1] + 8_000], [starts[-1] + 9_000], first=COUNT + 1) | {
        "call_id": [COUNT], "process_range": [0]
    }  # fmt: skip
    first, last = int(starts[0]) - 6_000, int(starts[99]) + 100
    ranges = {
        "range_id": [1, 2], "start_ns": [first, first + 10], "end_ns": [last, last - 10], "global_tid": [TIDS[0]] * 2,
        "level": [0, 1], "name_id": [1, 2], "path_id": [1, 2], "pre": [1, 2], "post": [2, 2], "parent_id": [None, 1],
    }  # fmt: skip
    return NAMES | {
        "report": report_row(ORIGIN - 10_000, int(starts[-1]) + 10_000), "kernel": joined(launched, twice),
        "api_call": launches, "range": ranges,
        "range_name": {"name_id": [1, 2], "name": [EVIL, "inner"]},
        "range_path": {
            "path_id": [1, 2], "parent_id": [None, 1], "name": [EVIL, "inner"],
            "path": [EVIL, f"{EVIL}/inner"], "level": [0, 1],
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Timelines:
    return timelines(library(tmp_path_factory.mktemp("trace"), content()))


class Pieces(io.BytesIO):
    """A file that notes how much was written at once."""

    largest = 0

    def write(self, data: Any, /) -> int:
        self.largest = max(self.largest, len(data))
        return super().write(data)


class Read:
    """A trace as Perfetto reads it: tracks by number, and slices with their texts."""

    def __init__(self, data: bytes) -> None:
        whole = Trace()
        whole.ParseFromString(data)
        assert whole.packet[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self.tracks: dict[int, Any] = {}
        self.slices: list[dict[str, Any]] = []
        texts: dict[str, dict[int, Any]] = defaultdict(dict)
        opened: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for packet in whole.packet:
            for field, entries in packet.interned_data.ListFields():
                texts[field.name] |= {one.iid: getattr(one, "name", "") or getattr(one, "str", b"") for one in entries}
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            event = packet.track_event
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                one = {
                    "track": self.tracks[event.track_uuid], "start": packet.timestamp,
                    "name": texts["event_names"][event.name_iid],
                    "class": texts["event_categories"][event.category_iids[0]],
                    "flows": list(event.flow_ids), "ends": list(event.terminating_flow_ids),
                    "notes": {
                        texts["debug_annotation_names"][note.name_iid]:
                            texts["debug_annotation_string_values"][note.string_value_iid].decode()
                        for note in event.debug_annotations
                    },
                }  # fmt: skip
                before = opened[event.track_uuid]
                assert not before, "slices of a track do not overlap"
                before.append(one)
            elif event.type == TrackEvent.TYPE_SLICE_END:
                one = opened[event.track_uuid].pop()
                one["end"] = packet.timestamp
                assert one["end"] >= one["start"]
                self.slices.append(one)
        assert not any(opened.values())

    def under(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self.slices if one["track"].name == name]


def written(shelf: Timelines, selection: Selection | None = None, most: int | None = None) -> tuple[Read, int]:
    opened, file = shelf.wait(REPORT), Pieces()
    with shelf.cursor(REPORT) as cursor:
        count = trace.write_trace(
            cursor, opened, file, spans.find_spans(cursor, opened, selection or Selection()), most
        )
    assert file.largest < 10_000, "nothing is gathered before it is written"
    return Read(file.getvalue()), count


@pytest.fixture(scope="module")
def whole(shelf: Timelines) -> tuple[Read, int]:
    return written(shelf)


def test_every_event_is_a_slice_at_its_own_times(whole: tuple[Read, int]) -> None:
    read, count = whole
    assert count == len(read.slices)
    told = content()
    for name, table in (("Stream 7", "kernel"), ("CUDA API", "api_call")):
        times = [(one["start"], one["end"]) for one in read.under(name)]
        assert times == list(
            zip(*(np.asarray(told[table][key]).tolist() for key in ("start_ns", "end_ns")), strict=True)
        )
    assert [one["name"] for one in read.under("Stream 7")[:3]] == ["kernel_1", "kernel_2", "kernel_3"]
    assert {one["class"] for one in read.under("Stream 7")} == {"Matmul", "Softmax"} or read.under("Stream 7")[0][
        "class"
    ]
    (outer,) = read.under("Ranges")
    assert outer["name"] == words.visible(EVIL)
    assert "\x1b" not in outer["name"]
    assert [one["name"] for one in read.under("Level 2")] == ["inner"]


def test_arrows_lead_from_a_call_to_what_it_launched(whole: tuple[Read, int]) -> None:
    read, _ = whole
    started = {flow: one for one in read.under("CUDA API") for flow in one["flows"]}
    kernels_ = read.under("Stream 7")
    assert all(len(one["ends"]) == 1 for one in kernels_)
    assert len(started) == len(kernels_)
    assert all(started[one["ends"][0]]["start"] == one["start"] - 5_000 for one in kernels_[:-1])
    assert started[kernels_[-1]["ends"][0]]["flows"] == [*kernels_[-2]["ends"], *kernels_[-1]["ends"]]


def test_operations_say_which_range_launched_them(whole: tuple[Read, int]) -> None:
    read, _ = whole
    notes = [one["notes"].get("Range") for one in read.under("Stream 7")]
    assert notes == [f"{words.visible(EVIL)}/inner"] * 100 + [None] * (COUNT - 99)


def test_a_part_holds_what_lies_in_it_whole(shelf: Timelines) -> None:
    read, count = written(shelf, Selection(from_ns=25_000, to_ns=40_001))
    found = [(one["start"] - ORIGIN, one["end"] - ORIGIN) for one in read.under("Stream 7")]
    assert found == [(10_000, 17_000), (20_000, 27_000), (30_000, 37_000)]
    assert count == len(read.slices) < 20
    inner, _ = written(shelf, Selection(ranges=("inner",)))
    assert 95 <= len(inner.under("Stream 7")) <= 100
    for wrong in (
        Selection(device=0),
        Selection(from_ns=5, to_ns=5),
        Selection(from_ns=1 << 60),
        Selection(ranges=("no",)),
    ):
        with pytest.raises(AnalysisError):
            written(shelf, wrong)
    with pytest.raises(AnalysisError, match="More than 10 events"):
        written(shelf, most=10)


def test_stretches_that_meet_are_one() -> None:
    assert trace.merge_spans([(5, 9), (0, 3), (3, 4), (6, 20)]) == [(0, 4), (5, 20)]
