"""Traces of the older rocprof (results.json), in the form that its scripts write, read by the real worker."""

import json
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import Ingest
from tests.support.bounded_conversion import converted, notes

NAME = "results.json"
PROCESSES = {2: "1 CPU HIP API", 3: "2 CPU HSA API", 0: "0 Markers and Ranges", 1: "3 COPY", 7: "5 GPU1"}


def slice_of(pid: int, name: str, begin: int, end: int, **more: Any) -> dict[str, Any]:
    args = {"BeginNs": begin, "EndNs": end, "pid": 4242, "tid": 4243, "Name": name, "DurationNs": end - begin, **more}
    return {
        "ph": "X", "name": name, "pid": pid, "tid": 0, "ts": str(begin // 1000), "dur": str((end - begin) // 1000),
        "args": {key: str(value) for key, value in args.items()},
    }  # fmt: skip


def trace() -> list[dict[str, Any]]:
    on_gpu = {"dev-id": 1, "queue-id": 0, "stream-id": 3}
    return [
        {},
        *({"args": {"name": name}, "ph": "M", "pid": pid, "name": "process_name"} for pid, name in PROCESSES.items()),
        slice_of(0, "step", 1_000_100, 1_009_000),
        slice_of(3, "hsa_signal_store", 1_000_200, 1_000_300),
        slice_of(1, "CopyHostToDevice", 1_002_001, 1_002_999, Index=8, **on_gpu),
        slice_of(1, "FillBuffer", 1_003_000, 1_003_100, Index=9, **on_gpu),
        slice_of(2, "hipLaunchKernel", 1_001_000, 1_001_500, Index=7, args="( ... )"),
        slice_of(2, "hipMemcpy", 1_001_600, 1_003_050, Index=8),
        slice_of(7, "_Z3addPfS_.kd", 1_001_601, 1_001_800, Index=7, **on_gpu),
        {"ts": "1001", "ph": "s", "cat": "DataFlow", "id": 0, "pid": 2, "tid": 0, "name": "dep"},
    ]


def write(path: Path, events: list[Any]) -> Path:
    path.write_text('{ "traceEvents":[{}\n,' + "\n,".join(map(json.dumps, events[1:])) + "\n]}\n")
    return path


def test_a_trace(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write(inbox / NAME, trace())
    query = converted(ingest, inbox, empty_library, NAME)
    columns = "start_ns, end_ns, device_id, stream_id, demangled, call_id"
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id)") == [
        (1501, 1700, 1, 3, "add(float*, float*)", 1)
    ]
    assert query("SELECT operation, end_ns - start_ns, device_id, stream_id, call_id FROM memop ORDER BY 1") == [
        ("[CUDA memcpy Host-to-Device]", 998, 1, 3, 2), ("[CUDA memset]", 100, 1, 3, None)
    ]  # fmt: skip
    calls = "SELECT value, start_ns, end_ns FROM api_call JOIN string ON string_id = name_id ORDER BY start_ns"
    assert query(calls) == [("hipLaunchKernel", 900, 1400), ("hipMemcpy", 1500, 2950)]
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id)") == [("step", 0, 8900)]
    assert query("SELECT kind, tool FROM report") == [("rocprof", "rocprof")]
    assert query("SELECT pid, tid FROM thread") == [(4242, 4243)]
    assert "1 record of CPU HSA API not read." in notes(query)


@pytest.mark.parametrize("at", [0.6, 0.9])
def test_a_trace_that_is_cut(ingest: Ingest, inbox: Path, empty_library: Library, at: float) -> None:
    whole = write(inbox / NAME, trace() + trace()[-2:-1] * 1000).read_text()
    (inbox / NAME).write_text(whole[: int(len(whole) * at)])
    query = converted(ingest, inbox, empty_library, NAME)
    assert any("The trace is cut off" in note for note in notes(query))
    assert 1 < query("SELECT count(*) FROM kernel")[0][0] < 1001


def test_odd_values_and_names_are_left_out(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    good = trace()[-2]
    odd: list[Any] = [None, -1, 2**70, 1.5, "x", [], {}, True, "9" * 5000]
    events = trace()
    for value in odd:
        events += [
            {**good, "args": value}, {**good, "pid": value}, value,
            {**good, "args": {**good["args"], "BeginNs": value}},
            {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": value}},
        ]  # fmt: skip
    events.append({**good, "name": "'); DROP TABLE kernel; --\0<script>"})
    write(inbox / NAME, events)
    query = converted(ingest, inbox, empty_library, NAME)
    names = {name for (name,) in query("SELECT demangled FROM kernel JOIN kernel_name USING (name_id)")}
    assert names == {"add(float*, float*)", "'); DROP TABLE kernel; -- <script>"}
