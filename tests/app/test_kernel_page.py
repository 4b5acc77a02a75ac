"""The page "Kernel": a real report, reports without kernels, hostile names, counters of AMD's GPUs."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.app.conftest import HOSTILE, Dashboard, Open, check_names_are_text, hostile, nothing, of, texts
from tests.conftest import ingest_files
from tests.support.page_reports import Publish
from tests.support.rocpd import write_rocpd


@pytest.mark.slow("draws the page of another report")
def test_a_kernel_of_an_amd_gpu_shows_its_counters(
    dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_files(tmp_path, [write_rocpd(tmp_path / "run_results.db")])
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    at = dashboard("kernel")
    assert not at.exception
    assert not [one for one in at.code if "ncu" in one.value], "NVIDIA's tool does not measure an AMD GPU"
    assert "Performance counters" in [one.value for one in at.subheader]
    rows = next(one.value for one in at.dataframe if "counter" in one.value.columns)
    assert dict(zip(rows["counter"], rows["avg_value"], strict=True)) == {"OccupancyPercent": 12.25, "TCC_HIT": 192.5}
    assert rows["unit"].fillna("").tolist() == ["percent", ""]


def test_a_training(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    at = page("kernel", report_id)
    assert "number 1 of" in texts(at)
    assert at.button(key="previous_kernel").disabled
    shapes = next(one.value for one in at.dataframe if "occupancy_pct" in one.value)
    assert shapes["occupancy_pct"].between(0, 100).all()


@pytest.mark.parametrize(
    "kernel",
    ["1; DROP TABLE kernel", pytest.param("987654", marks=pytest.mark.slow("draws a page with another number"))],
)
def test_an_unknown_kernel_is_said(page: Open, library: Library, kernel: str) -> None:
    at = page("kernel", of(library, "transformer_training.nsys-rep"), kernel=kernel)
    assert "no such kernel" in at.info[0].value


def test_an_empty_report_says_what_to_capture(page: Open, small_report: Publish) -> None:
    at = page("kernel", small_report(nothing))
    assert "No CUDA kernels in this report." in texts(at).replace("\\", "")
    assert not at.dataframe
    assert not at.metric


def test_hostile_names_stay_text(page: Open, small_report: Publish) -> None:
    at = page("kernel", small_report(hostile))
    check_names_are_text(at)
    assert "too little about its GPU" in texts(at)
    assert HOSTILE in [code.value for code in at.code]
