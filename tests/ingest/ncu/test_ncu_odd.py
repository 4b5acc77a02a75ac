"""Nsight Compute reports with missing parts: real ones, and real ones with a few changed bytes."""

import struct
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.formats import ncu_csv, ncu_report
from ingest.ncu import wheel
from ingest.ncu.messages import decode_message
from tests.support.every_report import slow_but
from tests.support.ncu_fixtures import CORPUS, blocks, converted, needs_corpus, some_reports, with_values, write

pytestmark = [
    needs_corpus,
    pytest.mark.skipif(not wheel.is_available(), reason="the ncu-report wheel does not exist for this platform"),
]
REPORT = CORPUS / "vec_add_1660s_full.ncu-rep"
ODD = pytest.mark.slow("reads one more odd report")
DURATION = "gpu__time_duration.sum"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"


def double(value: float) -> bytes:
    """A value as a message."""
    return b"\x19" + struct.pack("<d", value)


def one(db: duckdb.DuckDBPyConnection, columns: str) -> tuple[Any, ...]:
    """Columns of the only launch."""
    (row,) = db.execute(f"SELECT {columns} FROM ncu_launch").fetchall()
    return tuple(row)


@pytest.mark.parametrize(
    ("value", "duration"),
    [
        (None, None),
        pytest.param(b"", None, marks=ODD),
        (double(float("nan")), None),
        pytest.param(double(float("inf")), None, marks=ODD),
        pytest.param(b"\x0a\x03n/a", None, marks=ODD),
        (b"\x0a\x05never", None),
        pytest.param(double(0), 0, marks=ODD),
        pytest.param(b"\x28\x00", 0, marks=ODD),
        (b"\x0a\x031.5", 2),
    ],
)
def test_a_duration_that_was_not_measured_is_null(tmp_path: Path, value: bytes | None, duration: int | None) -> None:
    # Where the sum is not there, .max and .avg fill in.
    others = {DURATION.replace("sum", part): None for part in ("max", "avg")}
    path = with_values(REPORT, tmp_path / "odd.ncu-rep", {DURATION: value, **others})
    db = converted(ncu_report, path, tmp_path)
    assert one(db, "duration_ns, grid_x") == (duration, 4096)
    kept = "SELECT count(*) FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE name = ? AND value IS NOT NULL"
    assert db.execute(kept, [DURATION]).fetchone() == (int(duration is not None),)


def test_a_text_where_a_number_should_be_is_kept_as_text(tmp_path: Path) -> None:
    path = with_values(REPORT, tmp_path / "odd.ncu-rep", {OCCUPANCY: b"\x0a\x05never"})
    db = converted(ncu_report, path, tmp_path)
    assert one(db, "occupancy_pct") == (None,)
    found = "SELECT value, text FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE name = ?"
    assert db.execute(found, [OCCUPANCY]).fetchall() == [(None, "never")]


def test_metrics_of_sections_that_were_not_collected_are_null(tmp_path: Path) -> None:
    columns = "duration_ns, sm_throughput_pct, occupancy_pct, waves_per_sm, dram_bytes_per_s, l2_hit_pct"
    path = CORPUS / "silu_triton_2025.ncu-rep"
    assert one(converted(ncu_report, path, tmp_path), columns) == (141920, None, None, 2.0, None, None)


def test_several_passes_are_one_launch(tmp_path: Path) -> None:
    db = converted(ncu_report, REPORT, tmp_path)
    passes = "SELECT value FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE name LIKE '%replayer_passes'"
    assert db.execute(passes).fetchall()[0][0] > 1
    assert db.execute("SELECT count(*) FROM ncu_launch").fetchone() == (1,)


def other_workload(report: Path, target: Path, count: str) -> Path:
    """Writes a report again with each kernel as a range or a graph, of which a message has less and other numbers."""
    written = []
    for header, parts in blocks(report):
        kernels = header.kernels
        for at in range(len(parts) - kernels, len(parts)):
            result = decode_message("Result").FromString(parts[at])
            fields = [b"\x08\x07\x10\x09"]
            fields += [b"\x22" + varint(len(blob)) + blob for blob in result.metrics]
            fields += [b"\x3a" + varint(len(blob)) + blob for blob in result.sections]
            parts[at] = b"".join(fields)
        header.kernels = 0
        if kernels:
            setattr(header, count, kernels)
        written.append((header, parts))
    return write(target, written)


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


@pytest.mark.parametrize(("count", "workload"), [("ranges", "range"), ("graphs", "graph")])
def test_a_range_has_metrics_and_no_grid(tmp_path: Path, count: str, workload: str) -> None:
    shape = {f"launch__{size}_dim_{axis}": None for size in ("grid", "block") for axis in "xyz"}
    shape |= {"launch__grid_size": None, "launch__block_size": None, "launch__registers_per_thread": None}
    kernel = with_values(REPORT, tmp_path / "kernel.ncu-rep", shape)
    path = other_workload(kernel, tmp_path / "other.ncu-rep", count)
    db = converted(ncu_report, path, tmp_path)
    columns = "workload, grid_x, block_x, grid_size, block_size, registers_per_thread, duration_ns, pid"
    assert one(db, columns) == (workload, None, None, None, None, None, 41696, 46976)
    assert one(db, "kernel")[0]


def test_two_processes_are_numbered_by_their_id_as_ncu_does(tmp_path: Path) -> None:
    written = list(blocks(REPORT))
    for header, parts in list(blocks(REPORT)):
        if header.kernels:
            header.process = b"\x08\x2a" + b"\x1a\x0a/bin/other"
            header.ClearField("strings")
            written.append((header, parts))
    db = converted(ncu_report, write(tmp_path / "two.ncu-rep", written), tmp_path)
    columns = "launch_id, pid, process_name, kernel LIKE 'vec_add%', duration_ns"
    assert db.execute(f"SELECT {columns} FROM ncu_launch ORDER BY launch_id").fetchall() == [
        (0, 42, "other", True, 41696),
        (1, 46976, "vec_add.out", True, 41696),
    ]
    assert db.execute("SELECT pid, name FROM process ORDER BY pid").fetchall() == [
        (42, "other"),
        (46976, "vec_add.out"),
    ]


@pytest.mark.parametrize("path", some_reports(), ids=lambda path: path.stem)
def test_reports_of_every_year(tmp_path: Path, path: Path) -> None:
    """2021 to 2025 as .ncu-rep; 2020 is a text, in test_ncu_csv."""
    db = converted(ncu_report, path, tmp_path)
    (version,) = db.execute("SELECT tool_version FROM report").fetchone() or ("",)
    assert 2021 <= int(version.split(".")[0]) <= 2026
    launches, kernels, zero = db.execute(
        "SELECT count(*), count(*) FILTER (kernel <> '(unnamed)' AND workload = 'kernel' AND cc IS NOT NULL), "
        "count(*) FILTER (duration_ns = 0) FROM ncu_launch"
    ).fetchall()[0]
    assert launches == kernels > 0
    assert zero == 0
    assert db.execute("SELECT count(*) FROM ncu_metric WHERE isnan(value) OR isinf(value)").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM ncu_metric WHERE value IS NULL AND text IS NULL").fetchone() == (0,)


@pytest.mark.parametrize(
    "cell", slow_but(["", "-nan(ind)"], ["n/a", "nan", "", "no data", "-nan(ind)", "inf"], "reads one more odd table")
)
def test_a_cell_without_a_value(tmp_path: Path, cell: str) -> None:
    text = (CORPUS / "details_page_4090.csv").read_text()
    assert text.count("\n0,17.619936,") == 1
    (tmp_path / "odd.csv").write_text(text.replace("\n0,17.619936,", f"\n0,{cell},"))
    db = converted(ncu_csv, tmp_path / "odd.csv", tmp_path)
    found = db.execute("SELECT launch_id, duration_ns FROM ncu_launch ORDER BY launch_id LIMIT 2").fetchall()
    assert found == [(0, None), (1, 17572320)]


def test_the_third_size_follows_from_the_others(tmp_path: Path) -> None:
    db = converted(ncu_csv, CORPUS / "details_page_4090.csv", tmp_path)
    columns = "grid_x, grid_y, grid_z, grid_size, block_x, block_y, block_z, block_size"
    first = db.execute(f"SELECT {columns} FROM ncu_launch ORDER BY launch_id LIMIT 1").fetchall()
    assert first == [(32, 32768, 1, 1048576, 1024, 1, 1, 1024)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("got 40 (1.13x) at PC @source:15065afbc160:0x15065afbc160@", "got 40 (1.13x) at PC 0x15065afbc160"),
        ("in @source:abc:12:line 12: the loop@", "in line 12: the loop"),
        (
            "see @section:Memory:Memory Workload@ and @url:the guide:https://a.b/c@",
            "see Memory Workload and the guide (https://a.b/c)",
        ),
        ("a@b", "a@b"),
    ],
)
def test_links_in_rules_are_what_ncu_shows(text: str, shown: str) -> None:
    assert wheel.to_plain_value(text) == shown
