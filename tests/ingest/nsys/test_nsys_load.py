"""Small made-up exports, with the expected rows of their reports."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.nsys import openmp
from ingest.nsys.attach import list_wanted_columns
from ingest.nsys.load import _list_needed
from profiledb.library.library import Library
from profiledb.query import analysis, views
from profiledb.report.schema import read_sql
from tests.conftest import Ingest
from tests.support import exports
from tests.support.exports import MAIN, NVTX, OTHER, PID, kernel, kernels

Load = Callable[..., Callable[[str], list[tuple[Any, ...]]]]


@pytest.fixture
def load(ingest: Ingest, inbox: Path, empty_library: Library) -> Load:
    """Ingests an export of these tables with the real worker, and returns a way to query the report."""

    def run(tables: Mapping[str, tuple[Sequence[str], exports.Rows]]) -> Callable[[str], list[tuple[Any, ...]]]:
        exports.write(inbox / "made.sqlite", tables)
        done = ingest(inbox, empty_library.folder)
        assert done.lines[0].startswith("ready"), done.lines
        report = empty_library.find("made.sqlite").id

        def query(sql: str) -> list[tuple[Any, ...]]:
            with empty_library.cursor(report, views=views.list_all()) as cursor:
                return cursor.execute(sql).fetchall()

        return query

    return run


def test_busy_is_the_union_of_what_overlaps_and_touches(load: Load) -> None:
    query = load(
        kernels(kernel(0, 10), kernel(5, 20), kernel(20, 30), kernel(40, 50), kernel(42, 43), kernel(0, 5, device=1))
    )
    assert query("FROM busy ORDER BY ALL") == [(0, 0, 30), (0, 40, 50), (1, 0, 5)]


def test_kernels_keep_their_order_names_and_sizes(load: Load) -> None:
    query = load(kernels(kernel(100, 130, name=2), kernel(10, 20, name=1)))
    rows = query(
        "SELECT kernel_id, start_ns, end_ns, demangled, block_x, registers_per_thread FROM selected_named_kernel"
        " ORDER BY kernel_id"
    )
    assert rows == [(1, 100, 130, "two", 32, 16), (2, 10, 20, "one", 32, 16)]


def test_impossible_times_are_left_out_counted_and_kept_aside(load: Load) -> None:
    query = load(kernels(kernel(10, 20), kernel(30, 20)))
    assert query("SELECT sum(end_ns - start_ns) FROM kernel") == [(10,)]
    assert query("SELECT source, row_json::JSON->>'start_ns' FROM rejected_row") == [("kernel", "30")]
    assert query("SELECT text FROM diagnostic WHERE severity = 'warning'") == [
        ("1 rows of kernel have impossible times and are excluded everywhere.",)
    ]


def test_range_names_come_from_either_place_and_domains_belong_to_a_process(load: Load) -> None:
    stranger = MAIN + (1 << 24)
    query = load(
        {
            "NVTX_EVENTS": (
                NVTX,
                [
                    (0, 0, 75, "mine", None, MAIN, 3),
                    (5, 9, 59, None, 1, MAIN, 3),
                    (6, 8, 59, "own text", None, OTHER, 3),
                    (5, 9, 59, None, 1, stranger, 3),
                    (7, 7, 34, "a mark", None, MAIN, 0),
                    (1, None, 60, "open", None, MAIN, 0),
                ],
            )
        }
    )
    assert query(
        "SELECT name, style, closed, start_ns, end_ns FROM range JOIN range_name USING (name_id) ORDER BY range_id"
    ) == [
        ("mine:one", "PushPop", True, 5, 9),
        ("mine:own text", "PushPop", True, 6, 8),
        ("one", "PushPop", True, 5, 9),
        ("open", "StartEnd", False, 1, 9),
    ]
    assert query("SELECT time_ns, name FROM mark JOIN range_name USING (name_id)") == [(7, "a mark")]


def test_two_processes_may_use_the_same_correlation_id(load: Load) -> None:
    second = PID + (1 << 24)
    calls = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
    rows = [(0, 1, MAIN, 9, 1, 0, 0), (2, 3, second + 80, 9, 2, 0, 0)]
    query = load(
        kernels(kernel(4, 6, correlation=9), kernel(5, 8, correlation=9, pid=second))
        | {"CUPTI_ACTIVITY_KIND_RUNTIME": (calls, rows)}
    )
    assert query("SELECT global_pid, correlation_id FROM kernel ORDER BY kernel_id") == [(PID, 9), (second, 9)]
    assert query("SELECT pid, tid FROM thread ORDER BY ALL") == [(7, 70), (8, 80)]


def test_numbers_that_no_table_takes_are_kept_and_unknown_tables_are_not(load: Load) -> None:
    columns, rows = kernels(kernel(0, 1))["CUPTI_ACTIVITY_KIND_KERNEL"]
    query = load(
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": ((*columns, "brandNew"), [(*row, 77) for row in rows]),
            "FUTURE_EVENTS": (("when", "what"), [(5, "thing")]),
            "CUDNN_EVENTS": (("start", "note", "nameId"), [(5, "thing", 2)]),
            "NVTX_EVENTS": (NVTX, [(3, 4, 99, "odd", None, MAIN, 0)]),
        }
    )
    assert query("FROM raw.CUPTI_ACTIVITY_KIND_KERNEL") == [(1, 77)]
    assert query("FROM raw.CUDNN_EVENTS") == [(1, 5, 2)]
    tables = {name for (name,) in query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'")}
    assert "FUTURE_EVENTS" not in tables
    assert query('SELECT start, "eventType", text FROM raw.NVTX_OTHER') == [(3, 99, "odd")]


def test_unsigned_addresses_survive_sqlite(load: Load) -> None:
    events = ("start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType")
    query = load({"CUDA_GPU_MEMORY_USAGE_EVENTS": (events, [(1, PID, 0, -1, 4096, 2, 0)])})
    assert query("SELECT address, bytes FROM memory_event") == [(2**64 - 1, 4096)]


def test_gpu_metrics_get_a_column_each(load: Load) -> None:
    names = ("typeId", "metricId", "metricName")
    samples = ("timestamp", "typeId", "metricId", "value")
    query = load(
        {
            "TARGET_INFO_GPU_METRICS": (names, [(256, 1, "SMs Active"), (256, 2, "Tensor"), (257, 1, "SMs Active")]),
            "GPU_METRICS": (
                samples,
                [(10, 256, 1, 50), (10, 256, 2, 7), (10, 257, 1, 90), (20, 256, 1, 60), (20, 257, 9, 3)],
            ),
        }
    )
    assert query('SELECT gpu_id, "metric 9" FROM gpu_metric WHERE "metric 9" IS NOT NULL') == [(1, 3.0)]
    assert query('SELECT gpu_id, time_ns, "SMs Active", "Tensor" FROM gpu_metric ORDER BY ALL') == [
        (0, 10, 50.0, 7.0),
        (0, 20, 60.0, None),
        (1, 10, 90.0, None),
        (1, 20, None, None),
    ]


def test_copies_are_called_as_nsys_calls_them(load: Load) -> None:
    copies = (
        "start",
        "end",
        "deviceId",
        "streamId",
        "correlationId",
        "globalPid",
        "bytes",
        "copyKind",
        "srcKind",
        "dstKind",
    )
    query = load(
        {
            "CUPTI_ACTIVITY_KIND_MEMCPY": (
                copies,
                [(0, 10, 0, 7, 1, PID, 1000, 1, 0, 2), (0, 10, 0, 7, 2, PID, 8, 99, 0, 2)],
            ),
            "CUPTI_ACTIVITY_KIND_MEMSET": (("start", "end", "deviceId", "bytes", "value"), [(20, 25, 0, 64, 0)]),
            "ENUM_CUDA_MEMCPY_OPER": (("id", "name", "label"), [(1, "HTOD", "Host-to-Device")]),
        }
    )
    assert query("SELECT memop_id, operation, bytes FROM memop ORDER BY memop_id") == [
        (1, "[CUDA memcpy Host-to-Device]", 1000),
        (2, None, 8),
        (3, "[CUDA memset]", 64),
    ]


def test_wrong_cells_are_left_out_and_their_columns_named(load: Load) -> None:
    odd = list(kernel(30, 40))
    odd[3] = "not a number"
    query = load(kernels(kernel(10, 20), tuple(odd)))
    assert query("SELECT context_id, end_ns - start_ns FROM kernel ORDER BY kernel_id") == [(1, 10), (None, 10)]
    (text,) = query("SELECT text FROM diagnostic")[0]
    assert text == "1 cells of CUPTI_ACTIVITY_KIND_KERNEL.contextId are not numbers and are excluded."


def test_broken_utf8_is_shown_as_such(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    path = exports.write(inbox / "made.sqlite", kernels(kernel(1, 2)))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE StringIds SET value = CAST(x'6bff72' AS TEXT) WHERE id = 1")
    db.close()
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    rows = analysis.run(empty_library, empty_library.find("made.sqlite").id, "cuda_gpu_kern_sum")
    assert list(rows["Name"]) == ["k\N{REPLACEMENT CHARACTER}r"]


def test_views_triggers_and_virtual_tables_are_not_read(load: Load, inbox: Path) -> None:
    query = load(kernels(kernel(1, 2)))
    with sqlite3.connect(inbox / "trap.sqlite") as db:
        (inbox / "made.sqlite").unlink()
        db.execute(
            "CREATE VIEW StringIds AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT * FROM c"
        )
        db.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER)")
    db.close()
    assert query("SELECT count(*) FROM kernel") == [(1,)]


def test_copies_of_an_export_without_enumerations_have_their_directions(load: Load) -> None:
    columns = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind", "srcKind")
    query = load(
        {"CUPTI_ACTIVITY_KIND_MEMCPY": (columns, [(0, 5, 0, 7, 1, PID, 64, 1, 0), (5, 9, 0, 7, 2, PID, 8, 2, 2)])}
    )
    assert query("SELECT direction, duration_ns FROM selected_copy ORDER BY start_ns") == [
        ("Host-to-Device", 5),
        ("Device-to-Host", 4),
    ]
    assert query("SELECT label FROM enum_value WHERE enum = 'CUDA_MEM_KIND' AND id IN (0, 2) ORDER BY id") == [
        ("Pageable",),
        ("Device",),
    ]


def test_call_chains_of_one_kind_keep_their_columns(load: Load) -> None:
    """The tables of the other kinds are not in the export."""
    columns = ("id", "symbol", "module", "unresolved", "originalIP", "stackDepth")
    query = load(
        kernels(kernel(0, 10)) | {"OSRT_CALLCHAINS": (columns, [(7, 1, 2, 1, 4096, 0), (7, 3, 2, 0, 8192, 1)])}
    )
    assert query("SELECT kind, callchain_id, depth, symbol_id, module_id, unresolved, address FROM callchain") == [
        ("osrt", 7, 0, 1, 2, True, 4096),
        ("osrt", 7, 1, 3, 2, False, 8192),
    ]


def test_the_columns_that_are_wanted_are_those_that_duckdb_reads() -> None:
    found: dict[str, dict[str, str]] = {}
    with duckdb.connect() as db:
        db.execute(read_sql("export.sql", "ingest.nsys"))
        query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        for table, column, type_ in db.execute(query).fetchall():
            found.setdefault(table, {})[column] = type_
    assert found | openmp.TABLES == list_wanted_columns()
    assert not found.keys() & openmp.TABLES.keys()


def test_statements_over_tables_that_an_export_lacks_are_left_out() -> None:
    script = read_sql("load.sql", "ingest.nsys")
    assert _list_needed(script, set(list_wanted_columns())) == script
    left = _list_needed(script, {"TARGET_INFO_GPU", "META_DATA_EXPORT"})
    inserted = re.findall(r"INSERT INTO (\w+)", left)
    assert inserted == ["capture_setting", "gpu", "kernel_name"], "the last one reads what was staged"
