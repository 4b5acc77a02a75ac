"""Captures of rocprofv3, as database and as JSON, read by the real worker."""

import gzip
import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, Ingest
from tests.support.bounded_conversion import Query, converted, notes
from tests.support.dropped_files import job_of, needs_corpus
from tests.support.every_report import slow_but
from tests.support.page_reports import run
from tests.support.rocpd import write_rocpd

LAUNCH = ("hipLaunchKernel", 100, 600)
COPY = ("hipMemcpy", 1100, 1700)
STRINGS = {
    "buffer_records": [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["NONE", "hipLaunchKernel", "hipMemcpy"]},
        {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
        {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxThreadRangeA"]},
    ],
    "marker_api": [{"key": 9, "value": "step"}],
}


def record(kind: int, operation: int, start: int, end: int, correlation: int, **rest: Any) -> dict[str, Any]:
    return {
        "kind": kind, "operation": operation, "thread_id": 4242, "start_timestamp": start, "end_timestamp": end,
        "correlation_id": {"internal": correlation, "external": 0}, **rest,
    }  # fmt: skip


def sizes(x: int) -> dict[str, int]:
    return {"x": x, "y": 1, "z": 1}


def counted(start: int, end: int, dispatch: dict[str, Any]) -> dict[str, Any]:
    """The counters of a dispatch: two instances of one, a whole other, a value that is no number."""
    values = (31, 64.0), (31, 128.5), (32, 12.25), (33, "x")
    return {
        "thread_id": 4242, "stream_id": {"handle": 5},
        "dispatch_data": {
            "correlation_id": {"internal": 7, "external": 0}, "start_timestamp": start, "end_timestamp": end,
            "dispatch_info": dispatch,
        },
        "records": [{"counter_id": {"handle": handle}, "value": value} for handle, value in values],
    }  # fmt: skip


def capture() -> dict[str, Any]:
    """The launch, the copy and the range of tests/support/rocpd.py as JSON."""
    dispatch = {
        "agent_id": {"handle": 77}, "queue_id": {"handle": 1}, "kernel_id": 1, "group_segment_size": 64,
        "workgroup_size": sizes(256), "grid_size": sizes(1000), "dispatch_id": 1,
    }  # fmt: skip
    stream = {"stream_id": {"handle": 5}}
    agent = {
        "id": {"handle": 77}, "type": 2, "gpu_index": 0, "product_name": "AMD Instinct MI300X", "cu_count": 304,
        "wave_front_size": 64, "max_waves_per_cu": 32,
    }  # fmt: skip
    process = {
        "metadata": {"pid": 4242, "command": ["./app", "--token=abc"]},
        "agents": [{"id": {"handle": 76}, "type": 1}, agent],
        "strings": STRINGS,
        "kernel_symbols": [{"kernel_id": 1, "kernel_name": "_Z3addPfS_.kd"}],
        "counters": [
            {"id": {"handle": 31}, "name": "TCC_HIT", "description": "Number of cache hits"},
            {"id": {"handle": 32}, "name": "OccupancyPercent"},
        ],
        "callback_records": {"counter_collection": [counted(1601, 1800, dispatch), {"dispatch_data": {}}]},
        "buffer_records": {
            "kernel_dispatch": [record(11, 2, 1601, 1800, 7, dispatch_info=dispatch, **stream)],
            "hip_api": [record(1, 1, 1000, 1500, 7), record(1, 2, 2000, 2600, 8)],
            "memory_copy": [
                record(
                    2, 1, 2100, 2500, 8, bytes=4096, dst_agent_id={"handle": 77}, src_agent_id={"handle": 76}, **stream
                )
            ],
            "marker_api": [record(3, 0, 900, 3000, 9)],
            "hsa_api": [record(4, 1, 1100, 1200, 10)],
        },
    }
    return {"rocprofiler-sdk-tool": [process]}


def check(query: Query) -> None:
    """Check the capture against values worked out by hand; its clock starts at 900."""
    columns = "start_ns, end_ns, device_id, stream_id, grid_x, block_x, demangled, call_id"
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id)") == [
        (701, 900, 0, 5, 4, 256, "add(float*, float*)", 1)
    ]
    assert query("SELECT operation, start_ns, end_ns, bytes, device_id, call_id FROM memop") == [
        ("[CUDA memcpy Host-to-Device]", 1200, 1600, 4096, 0, 2)
    ]
    calls = "SELECT value, start_ns, end_ns FROM api_call JOIN string ON string_id = name_id ORDER BY start_ns"
    assert query(calls) == [LAUNCH, COPY]
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id)") == [("step", 0, 2100)]
    assert query("SELECT name, sm_count, threads_per_warp, max_warps_per_sm FROM gpu") == [
        ("AMD Instinct MI300X", 304, 64, 32)
    ]
    assert query("SELECT kind, tool FROM report") == [("rocprof", "rocprofv3")]
    assert query("SELECT pid, tid FROM thread") == [(4242, 4242)]
    assert query("SELECT count(*) FROM kernel WHERE process_range IS NOT NULL") == [(1,)]
    assert query("SELECT kernel_id, name, value FROM counter_value JOIN counter USING (counter_id) ORDER BY name") == [
        (1, "OccupancyPercent", 12.25), (1, "TCC_HIT", 192.5)
    ]  # fmt: skip


@pytest.mark.parametrize("tracks", [False, True])
def test_databases(ingest: Ingest, inbox: Path, empty_library: Library, *, tracks: bool) -> None:
    write_rocpd(inbox / "run_results.db", tracks=tracks)
    query = converted(ingest, inbox, empty_library, "run_results.db")
    check(query)
    assert {"1 record of HSA_CORE_API not read.", "2 records of performance counters not read."} <= set(notes(query))
    assert query("SELECT name, unit, description FROM counter ORDER BY name") == [
        ("OccupancyPercent", "percent", None), ("TCC_HIT", None, "Number of cache hits")
    ]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_json(ingest: Ingest, inbox: Path, empty_library: Library, *, packed: bool) -> None:
    text = json.dumps(capture()).encode()
    name = f"run_results.json{'.gz' * packed}"
    (inbox / name).write_bytes(gzip.compress(text) if packed else text)
    query = converted(ingest, inbox, empty_library, name)
    check(query)
    assert {"1 record of hsa_api not read.", "1 record of counter_collection not read."} <= set(notes(query))
    assert query("SELECT unit, description FROM counter WHERE name = 'TCC_HIT'") == [(None, "Number of cache hits")]


def test_counters_without_a_trace_of_kernels(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """`rocprofv3 --pmc` alone: the counter records hold the dispatches."""
    whole = capture()
    process = whole["rocprofiler-sdk-tool"][0]
    dispatches = process["buffer_records"].pop("kernel_dispatch")
    info = dispatches[0]["dispatch_info"]
    process["callback_records"]["counter_collection"] = [
        counted(1601 + 1000 * number, 1800 + 1000 * number, info | {"dispatch_id": number}) for number in range(3)
    ]
    (inbox / "pmc_results.json").write_text(json.dumps(whole))
    query = converted(ingest, inbox, empty_library, "pmc_results.json")
    assert query("SELECT count(*), min(end_ns - start_ns), any_value(block_x) FROM kernel") == [(3, 199, 256)]
    report = empty_library.find("pmc_results.json").id
    rows = run(empty_library, report, "kernel_counters")
    assert [(row["counter"], row["launches"], row["avg_value"], row["total_value"]) for row in rows] == [
        ("OccupancyPercent", 3, 12.25, 36.75), ("TCC_HIT", 3, 192.5, 577.5)
    ]  # fmt: skip
    assert run(empty_library, report, "kernel_counters", kernel=rows[0]["kernel"]) == rows


def test_two_processes_of_a_database(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write_rocpd(inbox / "two.db")
    write_rocpd(inbox.parent / "other.db", run="_ffffffff_1")
    with closing(sqlite3.connect(inbox / "two.db")) as db:
        db.execute("ATTACH ? AS other", [str(inbox.parent / "other.db")])
        for (name,) in db.execute("SELECT name FROM other.sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f"CREATE TABLE main.{name} AS SELECT * FROM other.{name}")
        db.commit()
    query = converted(ingest, inbox, empty_library, "two.db")
    assert query("SELECT count(*) FROM kernel") == [(2,)]


@pytest.mark.parametrize("at", slow_but([0.8], [0.5, 0.8, 0.95], "takes a cut capture in"))
def test_json_that_is_cut(ingest: Ingest, inbox: Path, empty_library: Library, at: float) -> None:
    whole = capture()
    dispatches = whole["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
    dispatches *= 1000
    text = json.dumps(whole)
    (inbox / "cut_results.json").write_text(text[: int(len(text) * at)])
    query = converted(ingest, inbox, empty_library, "cut_results.json")
    assert any("The capture is cut off" in note and "could be read" in note for note in notes(query))
    ((kernels,),) = query("SELECT count(*) FROM kernel")
    assert 0 < kernels <= len(dispatches)


ODD: list[Any] = [None, -1, 2**63, 2**70, 1.5, "x", [], {}, True]


def test_odd_values_are_left_out(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    whole = capture()
    process = whole["rocprofiler-sdk-tool"][0]
    good = process["buffer_records"]["kernel_dispatch"][0]
    for odd in ODD:
        process["buffer_records"]["kernel_dispatch"] += [
            {**good, "start_timestamp": odd}, {**good, "dispatch_info": odd}, {**good, "correlation_id": odd},
            {**good, "dispatch_info": {**good["dispatch_info"], "kernel_id": str(odd), "grid_size": odd}},
        ]  # fmt: skip
        process["agents"].append({"type": 2, "id": odd, "gpu_index": odd, "product_name": odd, "cu_count": odd})
        process["buffer_records"]["memory_copy"].append(odd)
        process["buffer_records"]["hip_api"].append({**process["buffer_records"]["hip_api"][0], "operation": odd})
    (inbox / "odd_results.json").write_text(json.dumps(whole))
    query = converted(ingest, inbox, empty_library, "odd_results.json")
    assert query("SELECT count(*) FROM kernel WHERE end_ns - start_ns = 199")[0][0] > len(ODD)
    assert query("SELECT name FROM gpu WHERE gpu_id = 0") == [("AMD Instinct MI300X",)]


def test_a_database_with_views_that_never_end(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Only real tables are read."""
    write_rocpd(inbox / "endless.db")
    with closing(sqlite3.connect(inbox / "endless.db")) as db:
        db.execute("DROP TABLE rocpd_event_00aa11bb_22cc")
        db.execute("""
            CREATE VIEW rocpd_event_00aa11bb_22cc AS
            WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT id, 2 AS category_id, 1 AS stack_id, 1 AS correlation_id, '{}' AS extdata FROM n
        """)
        db.commit()
    query = converted(ingest, inbox, empty_library, "endless.db")
    assert query("SELECT count(*), count(call_id) FROM kernel") == [(1, 0)]


def test_a_database_that_is_cut(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write_rocpd(inbox / "whole.db")
    data = (inbox / "whole.db").read_bytes()
    (inbox / "whole.db").unlink()
    (inbox / "cut.db").write_bytes(data[: len(data) // 2])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.db")
    assert (job.state, "damaged" in job.message) == ("failed", True)


@needs_corpus
@pytest.mark.slow("a stranger's run, converted for it alone")
def test_dispatches_of_a_strangers_run_equal_those_of_the_file(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    name = "rocprof_908_results.json.gz"
    shutil.copy(CORPUS / name, inbox)
    (process,) = json.loads(gzip.decompress((CORPUS / name).read_bytes()))["rocprofiler-sdk-tool"]
    agents = {agent["id"]["handle"]: agent["gpu_index"] for agent in process["agents"] if agent["type"] == 2}
    mangled = {one["kernel_id"]: one["kernel_name"] for one in process["kernel_symbols"]}
    told: Counter[tuple[int, int, str]] = Counter()
    for one in process["buffer_records"]["kernel_dispatch"]:
        info = one["dispatch_info"]
        key = (agents[info["agent_id"]["handle"]], one["stream_id"]["handle"], mangled[info["kernel_id"]])
        told[key] += one["end_timestamp"] - one["start_timestamp"]
    query = converted(ingest, inbox, empty_library, name)
    rows = query("""
        SELECT device_id, stream_id, coalesce(mangled, demangled), sum(end_ns - start_ns)::BIGINT
        FROM kernel JOIN kernel_name USING (name_id) GROUP BY ALL
    """)
    assert {(device, stream, kernel): ns for device, stream, kernel, ns in rows} == dict(told)
    assert query("SELECT count(*) FROM kernel") == [(len(process["buffer_records"]["kernel_dispatch"]),)]
