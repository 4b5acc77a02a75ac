"""Texts of ``ncu --csv``: small made-up ones, and published ones of strangers."""

import csv
import time
from pathlib import Path

import pytest

from ingest.formats import ncu_csv
from profiledb.errors import ConversionError
from tests.support.ncu_fixtures import CORPUS, DATA, converted, metrics, needs_corpus


def test_a_details_page_among_program_output(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "details_2024.csv", tmp_path)
    assert metrics(db) == {
        "gpu__time_duration.sum": (1234500, "ns"),
        "gpc__cycles_elapsed.avg.per_second": (1.5e9, "hz"),
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (91.68, "%"),
        "dram__bytes.sum.per_second": (2.5e9, "byte/s"),
        "launch__func_cache_config": ("CachePreferNone", ""),
        "launch__shared_mem_per_block_dynamic": (32770, "byte/block"),
    }
    assert db.execute("""
        SELECT launch_id, pid, process_name, kernel, cc, block_x, grid_x, grid_y, grid_size, duration_ns,
               memory_throughput_pct, sm_throughput_pct, sm_frequency_hz, shared_dynamic_bytes, occupancy_pct
        FROM ncu_launch""").fetchall() == [
        (0, 41, "app", "scale(float *, int)", "9.0", 256, 4, 2, 8, 1234500, 91.68, None, 1.5e9, 32770, None)
    ]


def test_rows_of_the_details_page_are_all_kept(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "details_2024.csv", tmp_path)
    rows = db.execute("SELECT label, metric IS NULL, unit, value FROM ncu_detail ORDER BY position").fetchall()
    assert len(rows) == 8
    assert rows[3] == ("Compute (SM) Throughput", False, "%", None)
    assert rows[7] == ("Number of Wheels", True, "", 4)


def test_a_rule_is_kept_word_for_word(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "details_2024.csv", tmp_path)
    message = 'The grid is too small,\nit says "8 blocks".'
    assert db.execute("FROM ncu_rule").fetchall() == [
        (0, 0, "LaunchStats", "LaunchConfiguration", "OPT", message, "global", 93.94)
    ]


def test_a_raw_page_with_scaled_units(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "raw_scaled.csv", tmp_path)
    assert metrics(db, 0) == {
        "gpu__time_duration.sum": (2500, "ns"),
        "dram__bytes.sum.per_second": (1555.2e9, "byte/s"),
        "sm__warps_active.avg.pct_of_peak_sustained_active": (50.25, "%"),
        "launch__waves_per_multiprocessor": (0.07, ""),
        "launch__occupancy_per_block_size": (96, ""),
        "launch__func_cache_config": ("CachePreferNone", ""),
    }
    second = db.execute(
        "SELECT pid, duration_ns, occupancy_pct, waves_per_sm, l2_hit_pct FROM ncu_launch WHERE launch_id = 1"
    )
    assert second.fetchall() == [(1041, 3000, None, None, None)]


def test_instances_and_ranges_of_a_raw_page(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "raw_scaled.csv", tmp_path)
    found = db.execute(
        "SELECT launch_id, position, key, key_text, value FROM ncu_metric_instance ORDER BY ALL"
    ).fetchall()
    assert found == [(0, 0, 32, None, 16), (0, 1, 64, None, 80), (1, 0, 32, None, 16), (1, 1, 64, None, 80)]
    assert db.execute("SELECT nvtx FROM ncu_launch ORDER BY launch_id").fetchall() == [("forward/a:b",), (None,)]
    assert db.execute("FROM ncu_nvtx ORDER BY level").fetchall() == [
        (0, "<default domain>", "push_pop", 0, "forward"),
        (0, "<default domain>", "push_pop", 1, "a:b"),
    ]


def test_a_table_saved_again_without_quotes(tmp_path: Path) -> None:
    db = converted(ncu_csv, DATA / "unquoted.csv", tmp_path)
    assert metrics(db, 0) == {"gpu__time_duration.sum": (500000, "ns"), "dram__bytes.sum": (1024e6, "byte")}
    assert metrics(db, 1) == {"dram__bytes.sum": (2048e6, "byte")}


def test_two_runs_in_one_text_are_numbered_on(tmp_path: Path) -> None:
    text = (DATA / "raw_scaled.csv").read_text()
    (tmp_path / "twice.txt").write_text(text + text)
    db = converted(ncu_csv, tmp_path / "twice.txt", tmp_path)
    found = db.execute("SELECT launch_id, duration_ns FROM ncu_launch ORDER BY launch_id").fetchall()
    assert found == [(0, 2500), (1, 3000), (2, 2500), (3, 3000)]


def test_raw_and_details_of_the_same_launches_are_joined(tmp_path: Path) -> None:
    text = (DATA / "details_2024.csv").read_text() + (DATA / "raw_scaled.csv").read_text()
    (tmp_path / "both.txt").write_text(text)
    db = converted(ncu_csv, tmp_path / "both.txt", tmp_path)
    assert db.execute("SELECT launch_id, duration_ns FROM ncu_launch ORDER BY launch_id").fetchall() == [
        (0, 2500),
        (1, 3000),
    ]
    assert db.execute("SELECT count(*), count(DISTINCT (launch_id, metric_id)) FROM ncu_metric").fetchall() == [
        (10, 10)
    ]


def test_text_from_a_windows_shell(tmp_path: Path) -> None:
    path = tmp_path / "utf16.csv"
    path.write_bytes((DATA / "raw_scaled.csv").read_text().encode("utf-16"))
    assert ncu_csv.matches(path)
    assert metrics(converted(ncu_csv, path, tmp_path))["gpu__time_duration.sum"] == (2500, "ns")


def test_a_row_that_is_cut_off_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv"
    path.write_text((DATA / "raw_scaled.csv").read_text().replace(',"CachePreferNone","no data"\nbye', ""))
    db = converted(ncu_csv, path, tmp_path)
    assert db.execute("SELECT count(*) FROM ncu_launch").fetchone() == (1,)
    assert "1 row of the text" in str(db.execute("SELECT text FROM diagnostic WHERE severity = 'warning'").fetchall())


def test_an_error_of_ncu_is_the_reason(tmp_path: Path) -> None:
    assert ncu_csv.matches(DATA / "error.csv")
    with pytest.raises(ConversionError, match="no kernel") as caught:
        converted(ncu_csv, DATA / "error.csv", tmp_path)
    assert "ERR_NVGPUCTRPERM" in caught.value.detail


def test_a_header_without_rows_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("".join((DATA / "raw_scaled.csv").read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(ConversionError, match="no kernel"):
        converted(ncu_csv, path, tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b,c\n1,2,3\n",
        b"Kernel Name: k\n",
        b"\x00\x01ncu",
        b'Range,Kernel Name,Total Time (ns)\n"a","k",1\n',
        b'"' * 300_000,
    ],
)
def test_other_content_is_not_taken(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    assert not ncu_csv.matches(path)


def test_what_is_no_file_is_not_taken(tmp_path: Path) -> None:
    assert not ncu_csv.matches(tmp_path)
    assert not ncu_csv.matches(tmp_path / "gone")


@needs_corpus
def test_a_details_page_of_2020(tmp_path: Path) -> None:
    path = CORPUS / "details_page_v100.csv"
    assert ncu_csv.matches(path)
    db = converted(ncu_csv, path, tmp_path)
    assert db.execute("""
        SELECT kernel, pid, launched_at, duration_ns, sm_throughput_pct, memory_throughput_pct, dram_throughput_pct,
               elapsed_cycles, sm_frequency_hz, occupancy_pct, theoretical_occupancy_pct, cc
        FROM ncu_launch""").fetchall() == [
        (
            "calculate_temp",
            36267,
            "2020-Apr-20 14:58:41",
            6624,
            3.67,
            3.36,
            3.36,
            6204,
            935940016.10,
            12.35,
            75,
            None,
        )
    ]


@needs_corpus
def test_a_table_of_metrics_without_kernel_names(tmp_path: Path) -> None:
    path = CORPUS / "details_page_4090.csv"
    assert ncu_csv.matches(path)
    db = converted(ncu_csv, path, tmp_path)
    assert db.execute("SELECT count(*), min(kernel), count(cc) FROM ncu_launch").fetchall() == [(35, "(unnamed)", 0)]
    first = metrics(db)
    assert first["gpu__time_duration.sum"] == (17619936, "ns")
    value, unit = first["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second"]
    assert value == pytest.approx(454.0311610666476e9)
    assert unit == "byte/s"


@pytest.mark.integration
def test_two_hundred_launches_of_two_thousand_metrics(tmp_path: Path) -> None:
    launches = 200
    path = tmp_path / "large.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["ID", "Kernel Name", *(f"unit__counter_{i}.sum" for i in range(2000))])
        writer.writerow(["", "", *["Kbyte"] * 2000])
        writer.writerows([[i, "k", *[f"{i * 1000 + j:,}.25" for j in range(2000)]] for i in range(launches)])
    begin = time.process_time()
    db = converted(ncu_csv, path, tmp_path)
    assert time.process_time() - begin < 1 + launches / 100
    # Sum of (1000 i + j + 0.25) kB over launches i and 2000 metrics j.
    expected = 1000 * (2000 * 1000 * sum(range(launches)) + launches * (sum(range(2000)) + 2000 * 0.25))
    assert db.execute("SELECT count(*), sum(value) FROM ncu_metric").fetchall() == [(2000 * launches, expected)]
