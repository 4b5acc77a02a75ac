"""Exports that no profiler writes: each becomes a report in seconds, with correct numbers."""

import random
import shutil
import sqlite3
from bisect import bisect_left, bisect_right
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.nsys import lookups, metrics
from profiledb.library.library import Library
from tests.conftest import CORPUS, Ingest
from tests.support import exports, hostile_exports
from tests.support.bounded_conversion import Convert, converted, notes
from tests.support.dropped_files import needs_corpus
from tests.support.every_report import slow_but
from tests.support.exports import MAIN, NVTX, kernel, kernels


def projections(tables: exports.Tables) -> list[tuple[int, ...]]:
    """Return the work of each range of ``hostile_exports.capture``: id, first start, last end, operations, their sum
    and their union; kernel n begins 10 ns after kernel n - 1 and takes 15. Calls begin one after the other."""
    calls = [(row[0], row[1]) for row in tables["CUPTI_ACTIVITY_KIND_RUNTIME"][1]]
    starts = [start for start, _ in calls]
    assert starts == sorted(starts)
    ends = [end for _, end in calls]
    first_ns = tables["CUPTI_ACTIVITY_KIND_KERNEL"][1][0][0]
    last_ns = max(max(row[0], row[1] or 0) for row in tables["NVTX_EVENTS"][1])
    found: list[tuple[int, ...]] = []
    for number, (start, end, *_) in enumerate(tables["NVTX_EVENTS"][1], 1):
        low, high = bisect_left(starts, start), bisect_right(ends, last_ns if end is None else end)
        if count := high - low if high > low else 0:
            began = first_ns + 10 * low
            found.append((number, began, began + 10 * count + 5, count, 15 * count, 10 * count + 5))
    return found


PROJECTION = """
    SELECT range_id, start_ns, end_ns, operations, operation_ns, busy_ns FROM projection
    WHERE mode = '{}' ORDER BY range_id
"""

SHAPES = {
    "deep": hostile_exports.deep(10_000),
    "never popped": hostile_exports.never_popped(20_000),
    "crossing": hostile_exports.crossing(20_000, 50),
}


@pytest.mark.parametrize("shape", slow_but(["deep", "crossing"], SHAPES, "thousands of ranges"))
def test_ranges_are_added_up_whatever_their_depth(convert: Convert, shape: str) -> None:
    query = convert(SHAPES[shape])
    expected = projections(SHAPES[shape])
    assert len(expected) >= 10_000
    for mode in ("thread", "process"):
        assert query(PROJECTION.format(mode)) == expected
    assert query("SELECT count(*) FROM kernel WHERE thread_range IS NULL") == [(0,)]


def test_paths_of_deep_ranges_are_folded(convert: Convert) -> None:
    query = convert(hostile_exports.deep(3000))
    assert query("SELECT max(level), count(DISTINCT path_id) FROM range") == [(2999, 257 + 7)]
    assert query("SELECT max(level), max(length(path)) < 10_000 FROM range_path") == [(257, True)]
    assert query("SELECT path FROM range JOIN range_path USING (path_id) WHERE range_id = 3") == [
        ("level 0/level 1/level 2",)
    ]
    (path,) = query("SELECT path FROM range JOIN range_path USING (path_id) WHERE range_id = 2001")[0]
    assert path.startswith("level 0/level 1/")
    assert path.endswith("level 4/…/level 5")
    assert query("SELECT max(n) FROM (SELECT count(*) AS n FROM range_path GROUP BY path)") == [(1,)]
    assert "2,743 ranges are nested more than 256 deep. Their paths skip the ranges in between (…)." in notes(query)


def test_ranges_that_are_never_closed_are_named(convert: Convert) -> None:
    query = convert(hostile_exports.never_popped(10))
    assert query("SELECT count(*), max(end_ns) FROM range WHERE NOT closed") == [(10, 200)]
    words = "never closed (no pop). They last until the end of the capture."
    assert notes(query) == [f"{n} ranges `lost {name}` were {words}" for n, name in ((3, 1), (3, 2), (4, 0))]


@pytest.mark.slow("thousands of ranges")
def test_ranges_that_cross_thousands_of_others_hold_nothing(convert: Convert) -> None:
    tables = hostile_exports.crossing(5000, 5000)
    query = convert(tables)
    (lanes,) = query("SELECT count(DISTINCT range_id) FROM projection")[0]
    assert lanes >= 8
    assert query(PROJECTION.format("thread")) == projections(tables)[:lanes]
    assert query("SELECT count(*) FROM range") == [(5000,)]
    crossing = f"{5000 - lanes:,} ranges cross too many others of their thread."
    assert notes(query) == [f"{crossing} They are listed with their times but contain nothing."]


def test_things_of_no_length(convert: Convert) -> None:
    tables = hostile_exports.moments(20_000)
    query = convert(tables)
    ranges = query("SELECT range_id, start_ns, parent_id FROM range WHERE start_ns = end_ns ORDER BY range_id")
    last: dict[int, int] = {}
    for number, start, parent in ranges:
        # the point before it at the same moment, or the innermost of the ranges n to 5000 - n around
        assert parent == last.get(start, 20_000 + 1 + start)
        last[start] = number
    work = tables["CUPTI_ACTIVITY_KIND_RUNTIME"][1]
    at_500 = sum(row[0] >= 500 for row in work)
    assert query("SELECT operations FROM projection WHERE mode = 'thread' AND range_id = 20_501") == [(at_500,)]


@pytest.mark.slow("a thousand threads")
def test_threads_by_the_thousand(convert: Convert) -> None:
    query = convert(hostile_exports.threads(2000))
    assert query("SELECT count(*), min(share_pct) FROM thread_driver") == [(2000, 100.0)]


def test_calls_that_share_a_correlation_id(convert: Convert) -> None:
    query = convert(hostile_exports.one_correlation(5948))
    assert query("SELECT count(*), count(DISTINCT kernel_id), min(call_id), max(call_id) FROM kernel") == [
        (5948, 5948, 1, 1)
    ]


def test_ids_that_repeat_count_once(convert: Convert) -> None:
    count = 2000
    query = convert(hostile_exports.repeated_ids(count))
    for table in ("kernel", "memop", "range"):
        assert query(f"SELECT count(*) FROM {table}") == [(count,)]
    assert query("SELECT demangled FROM kernel_name") == [("one 0",)]
    assert query("SELECT DISTINCT operation FROM memop") == [("[CUDA memcpy label 0]",)]
    assert query("SELECT name FROM process") == [("program 0",)]
    assert query("SELECT name FROM thread") == [("one 0",)]
    assert query("SELECT name FROM gpu") == [("GPU 0",)]
    assert query("SELECT name FROM range_name") == [("domain 0:one 0",)]
    assert query('SELECT count("metric 0"), count(*) FROM gpu_metric') == [(count, count)]
    assert query("SELECT count(*) FROM diagnostic WHERE severity = 'error'") == [(count,)]
    assert "1,999 rows of StringIds repeat an id; only the first of each counts." in notes(query)


def test_any_cell_in_any_column(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    hostile_exports.write_extremes(inbox / "made.sqlite")
    query = converted(ingest, inbox, empty_library)
    assert query(
        "SELECT count(*) > 0, min(start_ns) >= -(1::BIGINT << 61), max(end_ns) <= 1::BIGINT << 61 FROM kernel"
    ) == [(True, True, True)]
    assert query("SELECT count(*) > 100 FROM rejected_row") == [(True,)]
    assert query("SELECT count(*) FROM diagnostic WHERE text LIKE '% rows of kernel have impossible times%'") == [(1,)]


@pytest.mark.parametrize(
    "ends", [[2**62, 2**63 - 1, -(2**63)], ["text", "1e30", b"\x00\xff"]], ids=["numbers", "no numbers"]
)
def test_a_time_that_cannot_be_fails_its_row(convert: Convert, ends: list[Any]) -> None:
    odd = [(30, end, *kernel(30, 40)[2:]) for end in ends]
    events = [(1, 90, 59, "good", None, MAIN, 0), *((5, end, 59, "bad", None, MAIN, 0) for end in ends)]
    query = convert({**kernels(kernel(10, 20), *odd), "NVTX_EVENTS": (NVTX, events)})
    assert query("SELECT start_ns, end_ns FROM kernel") == [(10, 20)]
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id)") == [("good", 1, 90)]
    assert sorted(query("SELECT source, count(*) FROM rejected_row GROUP BY source")) == [("kernel", 3), ("range", 3)]
    assert "3 rows of kernel have impossible times and are excluded everywhere." in notes(query)


def test_durations_that_overflow_a_sum(convert: Convert) -> None:
    query = convert(kernels(kernel(10, 20), *(kernel(0, 1 << 60) for _ in range(20))))
    assert query("SELECT sum(end_ns - start_ns) FROM kernel") == [(10,)]
    assert notes(query) == ["20 rows of kernel have impossible durations and are excluded everywhere."]


def test_facts_that_cannot_be_are_left_out(convert: Convert) -> None:
    query = convert(
        {
            **kernels(kernel(10, 20)),
            "TARGET_INFO_SESSION_START_TIME": (("utcEpochNs",), [(2**63 - 1,)]),
            "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(2**63 - 1, -(2**63), 2**63 - 1)]),
            "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("CudaDriverVersion", "new"), ("OsDescription", "Linux")]),
        }
    )
    assert query("SELECT captured_at, start_ns, stop_ns, duration_ns, cuda_version, os FROM report") == [
        (None, None, None, None, None, "Linux")
    ]


def test_long_texts_are_cut_and_counted(convert: Convert) -> None:
    long = "x" * 3_000_000
    query = convert(
        {
            **kernels(kernel(10, 20)),
            "NVTX_EVENTS": (NVTX, [(1, 9, 59, long, None, MAIN, 0)]),
            "DIAGNOSTIC_EVENT": (("timestamp", "source", "severity", "text"), [(1, 1, 1, long)]),
            "PROCESSES": (("globalPid", "pid", "name"), [(exports.PID, 7, long)]),
        }
    )
    cut = 1_000_000 + len(" [cut]")
    assert query("SELECT length(name) FROM process") == [(cut,)]
    assert query("SELECT length(text), ends_with(text, ' [cut]') FROM range_name") == [(cut, True)]
    assert query("SELECT max(length(text)) FROM diagnostic") == [(cut,)]
    assert "3 texts were cut after 1,000,000 characters." in notes(query)


@pytest.mark.slow("thousands of long names")
def test_long_names_are_not_repeated_in_every_path(convert: Convert) -> None:
    """The export has each text once, and rows would repeat it ten thousand times."""
    texts = [(n, f"{n}" + "long" * 50_000) for n in range(1, 4)]
    around: list[tuple[Any, ...]] = [(n * 100, n * 100 + 99, 59, f"{n}", None, MAIN, 0) for n in range(10_000)]
    inside: list[tuple[Any, ...]] = [(n * 100 + 10, n * 100 + 20, 59, None, 1 + n % 3, MAIN, 0) for n in range(10_000)]
    several = [(*kernel(n, n + 1)[:7], 1 + n % 3, n, *kernel(n, n + 1)[9:]) for n in range(10_000)]
    query = convert(
        {**kernels(*several), "StringIds": (("id", "value"), texts), "NVTX_EVENTS": (NVTX, around + inside)}
    )
    assert query("SELECT sum(length(path)) < 300_000_000, count(DISTINCT path) FROM range_path") == [(True, 20_000)]
    assert query("SELECT sum(length(demangled)) < 300_000_000, count(*) FROM kernel_name") == [(True, 10_000)]


@pytest.mark.slow("a thousand metrics")
def test_metrics_and_enumerations_by_the_thousand(convert: Convert) -> None:
    count = 20_000
    many: exports.Tables = {
        **kernels(kernel(10, 20)),
        "TARGET_INFO_GPU_METRICS": (
            ("typeId", "metricId", "metricName"), [(256, n, f"metric {n:05}") for n in range(count)]
        ),
        "GPU_METRICS": (("timestamp", "typeId", "metricId", "value"), [(n, 256, n, n) for n in range(count)]),
        **{f"ENUM_{n:04}": (("id", "label"), [(1, "one")]) for n in range(2000)},
    }  # fmt: skip
    query = convert(many)
    assert query('SELECT count("metric 00000"), count("metric 00255") FROM gpu_metric') == [(1, 1)]
    assert query("SELECT count(*) FROM gpu_metric_name") == [(256,)]
    known = ", ".join(f"'{enum}'" for enum in lookups.KNOWN)  # ours, where an export has none
    assert query(f"SELECT count(DISTINCT enum) FROM enum_value WHERE enum NOT IN ({known})") == [(500,)]
    assert "19,744 GPU metrics are excluded: 256 are read." in notes(query)
    assert any("enumerations are excluded" in text for text in notes(query))


@pytest.mark.slow("a thousand tables")
def test_tables_and_columns_by_the_thousand(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    exports.write(inbox / "made.sqlite", kernels(kernel(10, 20)))
    with closing(sqlite3.connect(inbox / "made.sqlite")) as db:
        for n in range(1500):
            db.execute(f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN more_{n} INTEGER")
        for n in range(1000):
            db.execute(f"CREATE TABLE OTHER_{n} (a INTEGER, b TEXT)")
        db.commit()
    query = converted(ingest, inbox, empty_library)
    assert query("SELECT start_ns, end_ns FROM kernel") == [(10, 20)]


@needs_corpus
@pytest.mark.nsight
@pytest.mark.slow("a stranger's report, converted for it alone")
def test_a_range_that_was_pushed_a_thousand_times(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(CORPUS / "ranges_never_popped.nsys-rep", inbox / "made.nsys-rep")
    query = converted(ingest, inbox, empty_library, "made.nsys-rep")
    told = notes(query)
    assert "999 ranges `test` were never closed (no pop). They last until the end of the capture." in told
    assert "1 range `test_outer` was never closed (no pop). It lasts until the end of the capture." in told
    assert query("SELECT max(level) FROM range") == [(1008,)]
    held = query("SELECT sum(end_ns - start_ns)::BIGINT FROM kernel WHERE thread_range IS NOT NULL")
    assert query("SELECT max(kernel_ns) FROM projection WHERE mode = 'thread'") == held


@pytest.mark.parametrize("cells", slow_but([70], [10, 70, 1000], "reads one more export in parts"))
def test_metrics_are_the_same_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    chance = random.Random(cells)
    samples = {(chance.randrange(40), chance.randrange(7)): chance.randrange(100) for _ in range(200)}
    names = [(256, n, f"metric {n}") for n in range(7)]
    path = exports.write(
        tmp_path / "made.sqlite",
        {
            "TARGET_INFO_GPU_METRICS": (("typeId", "metricId", "metricName"), names),
            "GPU_METRICS": (
                ("timestamp", "typeId", "metricId", "value"),
                [(t, 256, n, value) for (t, n), value in samples.items()],
            ),
        },
    )
    monkeypatch.setattr(metrics, "CELLS", cells)
    with exports.loaded(tmp_path / "made.duckdb", path) as db:
        rows = db.execute("SELECT * EXCLUDE (gpu_id) FROM gpu_metric ORDER BY time_ns").fetchall()
    moments = sorted({t for t, _ in samples})
    assert rows == [(t, *(samples.get((t, n)) for n in range(7))) for t in moments]
