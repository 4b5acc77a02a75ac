"""Nsight Compute reports: whole, compressed, and other files with their suffix."""

import builtins
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ingest import tools
from ingest.formats import ncu_report
from ingest.ncu import container, wheel
from profiledb.errors import ConversionError
from tests.support.ncu_fixtures import CORPUS, DATA, converted, metrics, needs_corpus

pytestmark = needs_corpus
REPORT = CORPUS / "vec_add_1660s_full.ncu-rep"


def test_a_report(tmp_path: Path) -> None:
    assert ncu_report.matches(REPORT)
    db = converted(ncu_report, REPORT, tmp_path)
    assert db.execute("""
        SELECT launch_id, pid, process_name, kernel, cc, grid_x, block_x, registers_per_thread, duration_ns,
               round(sm_throughput_pct, 2), round(memory_throughput_pct, 2), round(occupancy_pct, 2)
        FROM ncu_launch""").fetchall() == [
        (
            0,
            46976,
            "vec_add.out",
            "vec_add(float *, float *, float *, int)",
            "7.5",
            4096,
            256,
            16,
            41696,
            19.5,
            91.68,
            89.18,
        )
    ]
    assert db.execute(
        "SELECT name, sm_count, clock_hz, memory_bandwidth_bytes_per_s, l2_bytes FROM gpu"
    ).fetchall() == [("NVIDIA GeForce GTX 1660 SUPER", 22, 1815000000, 336048000000, 1572864)]


def test_who_captured_it_and_when(tmp_path: Path) -> None:
    db = converted(ncu_report, REPORT, tmp_path)
    tool, version, when, command = db.execute("SELECT tool, tool_version, captured_at, command FROM report").fetchall()[
        0
    ]
    assert (tool, version, str(when)) == ("Nsight Compute", "2024.1.1.0", "2025-09-06 19:16:49")
    assert command.endswith("ncu --set full -o stage1/reps/vec_add.ncu-rep -f stage1/build/vec_add.out")


def test_numbers_have_all_their_digits(tmp_path: Path) -> None:
    if not wheel.is_available():
        pytest.skip("the ncu-report wheel does not exist for this platform")
    found = metrics(converted(ncu_report, REPORT, tmp_path))
    assert found["launch__waves_per_multiprocessor"][0] == pytest.approx(46.54545454545455, rel=1e-15)


def test_a_compressed_report_is_the_same_report(tmp_path: Path) -> None:
    path = tmp_path / "any name"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(REPORT.read_bytes())
    assert ncu_report.matches(path)
    assert metrics(converted(ncu_report, path, tmp_path)) == metrics(converted(ncu_report, REPORT, tmp_path))


def test_a_compressed_report_that_is_cut_off(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    with pa.CompressedOutputStream(str(whole), "zstd") as stream:
        stream.write(REPORT.read_bytes())
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(ConversionError, match="truncated"):
        converted(ncu_report, cut, tmp_path)


@pytest.mark.parametrize("keep", [0.01, 0.5, 0.999999])
@pytest.mark.parametrize("ncu", ["", "off"])
def test_a_truncated_report_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: float, ncu: str
) -> None:
    monkeypatch.setenv("WARPDECK_NCU", ncu)
    data = REPORT.read_bytes()
    path = tmp_path / "half.ncu-rep"
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(ConversionError, match="truncated"):
        converted(ncu_report, path, tmp_path)


def test_junk_after_a_report_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "junk.ncu-rep"
    path.write_bytes(REPORT.read_bytes() + b"more")
    with pytest.raises(ConversionError, match="damaged"):
        converted(ncu_report, path, tmp_path)


@pytest.mark.parametrize("ncu", ["", "off"])
def test_a_report_without_kernels_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ncu: str) -> None:
    monkeypatch.setenv("WARPDECK_NCU", ncu)
    path = tmp_path / "none.ncu-rep"
    path.write_bytes(REPORT.read_bytes()[:10])
    with pytest.raises(ConversionError, match="no kernel"):
        converted(ncu_report, path, tmp_path)


@pytest.mark.parametrize(
    ("ncu", "sentence"), [pytest.param("", "Neither ncu nor", marks=pytest.mark.nsight("ncu")), ("off", "damaged")]
)
def test_a_name_that_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ncu: str, sentence: str) -> None:
    monkeypatch.setenv("WARPDECK_NCU", ncu)
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(
        REPORT.read_bytes().replace(b"launch__waves_per_multiprocessor", b"launch__waves_per\xffmultiprocessor")
    )
    with pytest.raises(ConversionError, match=sentence) as caught:
        converted(ncu_report, path, tmp_path)
    assert caught.value.detail


def test_what_is_no_report_is_not_taken(tmp_path: Path) -> None:
    assert not ncu_report.matches(CORPUS / "corrupt.ncu-rep")
    assert not ncu_report.matches(tmp_path)
    (tmp_path / "zstd").write_bytes(b"\x28\xb5\x2f\xfdnothing")
    assert not ncu_report.matches(tmp_path / "zstd")


def test_the_frame_says_why_a_file_is_no_report() -> None:
    with pytest.raises(ConversionError, match="not a complete Nsight Compute report"):
        container.read_frame(CORPUS / "corrupt.ncu-rep")


def test_ncu_is_not_asked_where_the_wheel_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not wheel.is_available():
        pytest.skip("the ncu-report wheel does not exist for this platform")
    monkeypatch.setenv("WARPDECK_NCU", str(_ncu(tmp_path, "echo \"==ERROR== Failed to load report file 'x'.\"")))
    db = converted(ncu_report, REPORT, tmp_path)
    assert db.execute("SELECT converter FROM report").fetchall() == [(wheel.label(),)]
    assert db.execute("SELECT count(*) FROM diagnostic").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM ncu_rule").fetchone() == (9,)


def test_ncu_reads_what_the_wheel_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(REPORT.read_bytes().replace(b"launch__waves_per_multi", b"launch__waves_per\xffmulti"))
    monkeypatch.setenv("WARPDECK_NCU", str(_ncu(tmp_path, f"cat '{DATA / 'raw_scaled.csv'}'")))
    db = converted(ncu_report, path, tmp_path)
    assert db.execute("SELECT converter FROM report").fetchall() == [("ncu 2020.1.0 --csv",)]
    said = str(db.execute("SELECT text FROM diagnostic").fetchall())
    assert "could not read the report" in said
    assert "two decimals" in said


def _ncu(folder: Path, command: str) -> Path:
    """A program that answers as an ncu of 2020 and otherwise runs a command."""
    script = folder / "ncu"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Version 2020.1.0.0" && exit 0\n{command}\n')
    script.chmod(0o755)
    return script


def test_the_module_that_comes_with_ncu_is_not_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nsight Compute ships one of any version in its extras, which people put on PYTHONPATH."""
    (tmp_path / "ncu_report.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ncu_report", raising=False)

    def find(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", find)
    assert importlib.util.find_spec("ncu_report") is not None
    assert not wheel.is_available()


@pytest.mark.usefixtures("ncu")
def test_ncu_alone_says_that_it_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "is_available", lambda: False)
    db = converted(ncu_report, REPORT, tmp_path)
    assert metrics(db)["launch__waves_per_multiprocessor"][0] == 46.55
    assert "two decimals" in str(db.execute("SELECT text FROM diagnostic").fetchall())


def test_ncu_prints_whole_names_where_it_would_shorten_them(
    tmp_path: Path, ncu: tools.Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 2025 on it does, and the names of PyTorch's kernels would no longer match those of Nsight Systems."""
    newer, asked = tmp_path / "ncu", tmp_path / "asked"
    newer.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"with open({str(asked)!r}, 'a') as file:\n    print(*sys.argv[1:], file=file)\n"
        "words = ' '.join(sys.argv[1:]).replace(' --rename-kernels off', '').split(' ')\n"
        f"os.execv({str(ncu.path)!r}, [{str(ncu.path)!r}, *words])\n"
    )
    newer.chmod(0o755)
    monkeypatch.setenv("WARPDECK_NCU", str(newer))
    monkeypatch.setattr(wheel, "is_available", lambda: False)
    db = converted(ncu_report, REPORT, tmp_path)
    pages = [line for line in asked.read_text().splitlines() if "--page" in line]
    assert len(pages) == 2, "an option that it knows is not asked for again without"
    assert all(line.endswith(" --rename-kernels off") for line in pages)
    assert db.execute("SELECT count(*) FROM ncu_metric_instance").fetchone() != (0,)


@pytest.mark.usefixtures("ncu")
def test_an_option_that_ncu_does_not_know_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's ncu does not know --rename-kernels, but prints the instances of metrics."""
    monkeypatch.setattr(wheel, "is_available", lambda: False)
    db = converted(ncu_report, REPORT, tmp_path)
    assert db.execute("SELECT count(*) FROM ncu_metric_instance").fetchone() != (0,)


def test_with_neither_road_the_user_learns_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "is_available", lambda: False)
    monkeypatch.setenv("WARPDECK_NCU", "off")
    with pytest.raises(ConversionError, match="neither") as caught:
        converted(ncu_report, REPORT, tmp_path)
    assert "WARPDECK_NCU" in caught.value.hint


def test_the_wheel_is_loaded_only_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        assert name != "ncu_report"
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert ncu_report.matches(REPORT)
