"""The rules of ``nsys analyze``: cell by cell against the real one, and on a tiny report computed by hand."""

import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from profiledb import analysis
from profiledb.errors import AnalysisError
from profiledb.library import Library
from tests import oracle, test_parity
from tests.conftest import CORPUS, SAMPLES, run_ingest
from tests.page_reports import Publish, insert, kernel, make_library, make_publish, picked, run

__all__ = ["make_library", "make_publish"]  # fixtures

sqlite_export = test_parity.sqlite_export

Option = tuple[str, str, str]
"""An option of nsys, our parameter of the same meaning, and the value."""

RULES: dict[str, tuple[Option, ...]] = {
    "gpu_gaps": (("gap", "gap_ms", "1"),),
    "gpu_time_util": (("threshold", "threshold", "100"),),
    "cuda_api_sync": (),
    "cuda_memcpy_async": (),
    "cuda_memcpy_sync": (),
    "cuda_memset_sync": (),
}
"""Thresholds that let the small reports of the corpus have rows."""

WITHOUT_ROWS = {"cuda_memcpy_async", "cuda_memset_sync"}
"""Rules that no report of the corpus has rows for. The samples have asynchronous copies of pageable memory; synchronous
memory sets are in no report there is, so the generated exports and the report by hand stand for them."""


def real(nsys: Path, export: Path, rule: str, options: Sequence[Option] = ()) -> list[list[str]]:
    """Rows that ``nsys analyze`` prints, header first; none where it finds nothing or the report lacks the tables.

    Without ``rows=-1`` it would limit the rows before it sorts them.
    """
    with_options = ":".join([rule, *(f"{name}={value}" for name, _, value in options), "rows=-1"])
    argv = [str(nsys), "analyze", "-q", "-r", with_options, "--format", "csv", str(export)]
    return oracle.rows(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def ours(
    library: Library, report: str, capsys: pytest.CaptureFixture[str], rule: str, options: Sequence[Option] = ()
) -> list[list[str]]:
    params = [word for _, name, value in options for word in ("--param", f"{name}={value}")]
    return test_parity.ours(library, report, capsys, rule, *params)


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("rule", RULES)
def test_equals_the_installed_nsys(
    every_report: Library,
    nsys: Path,
    sqlite_export: Callable[[str], Path],
    rule: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_rows = set()
    for report in test_parity.READABLE:
        expected = real(nsys, sqlite_export(report), rule, RULES[rule])
        found = ours(every_report, report, capsys, rule, RULES[rule])
        assert oracle.differences(expected, found) == [], report
        if expected:
            with_rows.add(report)
    assert bool(with_rows) == (rule not in WITHOUT_ROWS), with_rows


@pytest.mark.parametrize("sample", test_parity.ORACLES)
@pytest.mark.parametrize(
    ("rule", "options", "printed"),
    [
        *((rule, (), rule) for rule in RULES),
        ("gpu_gaps", RULES["gpu_gaps"], "gpu_gaps_from_1_ms"),
    ],
)
def test_equals_what_nsys_printed_about_the_samples(
    every_report: Library,
    sample: str,
    rule: str,
    options: Sequence[Option],
    printed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A rule that printed nothing about a sample has no file, and no rows here."""
    path = SAMPLES / "oracle" / sample / f"{printed}.csv"
    expected = oracle.rows(path.read_text(encoding="utf-8")) if path.exists() else []
    assert bool(expected) == (
        printed in {"gpu_time_util", "cuda_api_sync", "cuda_memcpy_async"}
        or (printed, sample) == ("gpu_gaps_from_1_ms", "transformer_training")
    )
    assert oracle.differences(expected, ours(every_report, f"{sample}.nsys-rep", capsys, rule, options)) == []


# Real captures have one process, one GPU and few ties. Exports with random rows have what they lack: several processes
# that count the same correlations, two GPUs, several contexts, flushes of the profiler, equal times and every memory
# kind, on all of which the real nsys says what is right.

SEEDS = range(6)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Library]:
    folder = tmp_path_factory.mktemp("generated")
    (folder / "inbox").mkdir()
    for seed in SEEDS:
        _generate(folder / "inbox" / f"{seed}.sqlite", random.Random(seed))
    done = run_ingest(folder / "inbox", folder / "library")
    assert done.status == 0, done.lines
    return folder / "inbox", Library(folder / "library")


@pytest.mark.parametrize("rule", RULES)
def test_equals_nsys_on_generated_exports(
    generated: tuple[Path, Library], nsys: Path, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, library = generated
    varied: dict[str, tuple[Sequence[Option], ...]] = {
        "gpu_gaps": ((("gap", "gap_ms", "0"),), (("gap", "gap_ms", "2"),)),
        "gpu_time_util": (
            (("threshold", "threshold", "80"),),
            (("threshold", "threshold", "150"), ("chunks", "chunks", "7")),
        ),
    }
    compared = 0
    for seed in SEEDS:
        for options in varied.get(rule, ((),)):
            expected = real(nsys, folder / f"{seed}.sqlite", rule, options)
            found = ours(library, f"{seed}.sqlite", capsys, rule, options)
            assert oracle.differences(expected, found) == [], (seed, options)
            compared += len(expected)
    assert compared > 20


NAMES = (
    "cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "CUDAMEMCPY2DASYNC_x", "cudaMemset_v3020", "cudaMemsetAsync_v3020",
    "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz_v7000", "cudaLaunchKernel_v7000",
)  # fmt: skip
FLUSHES = ("CUDA profiling data flush overhead", "CUDA profiling stop overhead", "CUDA profiling overhead", "dlopen")


def _generate(path: Path, chance: random.Random) -> None:
    """Writes an export of nsys 2023.4: a sample with its operations and calls replaced by random ones."""
    shutil.copyfile(SAMPLES / "transformer_inference.sqlite", path)
    with closing(sqlite3.connect(path)) as db:
        # The installed nsys 2023.4 is what reads it, and newer ones round in another way
        db.execute("UPDATE META_DATA_EXPORT SET value = '3.7.2' WHERE name = 'EXPORT_SCHEMA_VERSION'")
        columns = [row[1] for row in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
        values = db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1").fetchone()
        a_kernel = dict(zip(columns, values, strict=True))
        for table in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME"):
            db.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_{table}")
        db.execute("DELETE FROM PROFILER_OVERHEAD")
        ids = {}
        for text in NAMES + FLUSHES:
            known = db.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
            ids[text] = known[0] if known else db.execute("SELECT max(id) + 1 FROM StringIds").fetchone()[0]
            if not known:
                db.execute("INSERT INTO StringIds VALUES (?, ?)", (ids[text], text))
        for table, row in _random_rows(chance, a_kernel, ids):
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
            db.execute(sql, list(row.values()))
        db.commit()


def _random_rows(
    chance: random.Random, a_kernel: dict[str, object], ids: dict[str, int]
) -> Iterator[tuple[str, dict[str, object]]]:
    pick = chance.choice
    pids = [1 << 48 | pid << 24 for pid in chance.sample(range(10, 99), pick([1, 2, 3]))]
    count, unit, span = pick([5, 30, 80]), pick([1000, 10**6]), pick([50, 300])

    def times() -> dict[str, object]:
        start = chance.randrange(span)  # 0 as well: nsys leaves such operations out
        return {"start": start * unit, "end": (start + chance.randrange(pick([2, 6, 20]))) * unit}

    def operation() -> dict[str, object]:
        place = {"deviceId": pick([0, 0, 1]), "contextId": chance.randrange(1, 4), "globalPid": pick(pids)}
        return times() | place | {"correlationId": chance.randrange(count)}

    def memory() -> dict[str, object]:
        size = pick([4, 500, 1500, 64000, 64001, chance.randrange(10**7)])
        return {"bytes": size, "greenContextId": pick([None, 0, 3]), "streamId": chance.randrange(3)}

    def kind() -> int | None:
        return pick([0, 1, 2, 3, 4, None])

    for _ in range(count):
        yield "CUPTI_ACTIVITY_KIND_KERNEL", a_kernel | operation()
        devices = {"srcDeviceId": pick([None, 0, 1]), "dstDeviceId": pick([None, 0, 1])}
        kinds = {"copyKind": pick([1, 2, 8]), "srcKind": kind(), "dstKind": kind()}
        yield "CUPTI_ACTIVITY_KIND_MEMCPY", operation() | memory() | kinds | devices
        yield "CUPTI_ACTIVITY_KIND_MEMSET", operation() | memory() | {"memKind": kind(), "value": 0}
        for _ in range(2):
            call = {"eventClass": 0, "returnValue": 0, "correlationId": chance.randrange(count)}
            who = {"globalTid": pick(pids) | chance.randrange(100, 103), "nameId": ids[pick(NAMES)]}
            yield "CUPTI_ACTIVITY_KIND_RUNTIME", times() | call | who
        if chance.random() < 0.1:
            flush = {"globalTid": pick(pids) | 7, "nameId": ids[pick(FLUSHES)], "returnValue": 0}
            yield "PROFILER_OVERHEAD", times() | flush


# By hand: process 1 on GPU 0. Kernels from 1 to 2 ms and from 1.5 to 3 ms, a flush from 5 to 6 ms, a copy from 9 to
# 10 ms. With three chunks of 3 ms the use is 2.5 of 3, 1 of 3 and 1 of 3.

MS = 10**6
PID = 1 << 24


@pytest.fixture
def small(publish: Publish) -> str:
    return publish(fill_small)


def fill_small(db: duckdb.DuckDBPyConnection) -> None:
    insert(db, "report", [{"kind": "nsys", "export_schema_version": "3.7.2"}])
    names = ["CUDA profiling data flush overhead", "cudaMemcpyAsync_v1", "cudaMemcpy_v1", "cudaMemset_v1"]
    names += ["cudaStreamSynchronize_v1", "cudaMemsetAsync_v1"]
    insert(db, "string", [{"string_id": i, "value": text} for i, text in enumerate(names)])
    kinds = ["Pageable", "Pinned", "Device", "Array", "Managed"]
    insert(db, "enum_value", [{"enum": "CUDA_MEM_KIND", "id": i, "label": text} for i, text in enumerate(kinds)])
    who = {"global_pid": PID, "context_id": 4}
    insert(db, "kernel", [kernel(0, 1, MS, 2 * MS, **who), kernel(1, 1, MS * 3 // 2, 3 * MS, **who)])
    flush = {"start_ns": 5 * MS, "end_ns": 6 * MS, "global_tid": PID | 8, "name_id": 0}
    insert(db, "profiler_overhead", [flush, flush | {"end_ns": 11 * MS}])  # one reaches beyond the operations

    def memop(number: int, start: int, end: int, **more: object) -> dict[str, object]:
        place = {"device_id": 0, "stream_id": 7, "correlation_id": number, "bytes": 64001, "green_context_id": 0}
        return {"memop_id": number, "start_ns": start, "end_ns": end} | who | place | more

    copy = {"kind": "memcpy", "copy_kind": 1, "src_kind": 0, "dst_kind": 2}
    zero = {"kind": "memset", "dst_kind": 4}
    none = 10 * MS  # of no length, so that gaps and use stay as they are
    copies = [
        memop(10, 9 * MS, 10 * MS, **copy),  # with cudaMemcpyAsync
        memop(11, none, none, **copy),  # with cudaMemcpy
        memop(12, none, none, **copy | {"bytes": 64000}),  # too small to count as synchronous
        memop(13, none, none, **copy | {"copy_kind": 8, "src_device_id": 0, "dst_device_id": 0}),  # stays on its GPU
        memop(14, none, none, **copy | {"src_kind": 1}),  # with cudaMemcpyAsync, but pinned
        memop(15, none, none, **zero),  # with cudaMemset
        memop(16, none, none, **zero | {"dst_kind": 2}),  # memory of the device
        memop(17, none, none, **zero | {"dst_kind": 1}),  # with cudaMemsetAsync
    ]
    insert(db, "memop", copies)
    called = [(10, 1), (11, 2), (12, 2), (13, 2), (14, 1), (15, 3), (16, 3), (17, 5), (18, 4), (19, 4)]
    calls = [{"call_id": c, "correlation_id": c, "name_id": n, "global_tid": PID | 8} for c, n in called]
    insert(db, "api_call", [c | {"start_ns": 100, "end_ns": 100 + int(str(c["call_id"]))} for c in calls])


def test_gaps_by_hand(library: Library, small: str) -> None:
    columns = ("Row#", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID")
    found = run(library, small, "gpu_gaps", gap_ms="1.5")
    assert picked(found, *columns) == [(1, 3 * MS, 6 * MS, 1, 0, 4), (2, 2 * MS, 3 * MS, 1, 0, 4)]
    assert picked(run(library, small, "gpu_gaps", gap_ms=2), "Start (ns)") == [(6 * MS,)], "longer, not as long"
    assert run(library, small, "gpu_gaps") == []


def test_time_use_by_hand(library: Library, small: str) -> None:
    columns = ("Row#", "In-Use (%)", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID")
    found = run(library, small, "gpu_time_util", chunks="3")
    assert picked(found, *columns) == [(1, 33.3, 6 * MS, 4 * MS, 1, 0, 4)]
    found = run(library, small, "gpu_time_util", chunks=3, threshold=100)
    assert picked(found, "In-Use (%)", "Duration (ns)") == [(50.0, 9 * MS)]
    assert run(library, small, "gpu_time_util", threshold=0) == []


@pytest.mark.parametrize("chunks", ["0", "1001", "many"])
def test_chunks_have_the_limits_of_nsys(library: Library, small: str, chunks: str) -> None:
    with pytest.raises(AnalysisError, match="wrong kind"):
        analysis.run(library, small, "gpu_time_util", {"chunks": chunks})


def test_synchronous_work_by_hand(library: Library, small: str) -> None:
    columns = ("Duration (ns)", "PID", "Green Context ID", "API Name")
    (copy,) = run(library, small, "cuda_memcpy_async")
    assert picked([copy], *columns) == [(MS, 1, None, "cudaMemcpyAsync_v1")]
    assert (copy["Src Kind"], copy["Dst Kind"], copy["Bytes (MB)"]) == ("Pageable", "Device", 0.064001)
    assert picked(run(library, small, "cuda_memcpy_sync"), *columns) == [(0, 1, None, "cudaMemcpy_v1")]
    found = run(library, small, "cuda_memset_sync")
    assert picked(found, *columns, "Memory Kind") == [(0, 1, None, "cudaMemset_v1", "Managed")]
    found = run(library, small, "cuda_api_sync")
    assert picked(found, "Duration (ns)", "PID", "TID") == [(19, 1, 8), (18, 1, 8)]
