"""The page "Scaling": the whole family of the samples, one report alone, and reports without ranks."""

from pathlib import Path
from typing import Any

import pytest

from app.views.scaling import charts
from profiledb.library.library import Library
from profiledb.studies.scaling import rows as scaling_rows
from tests.app.conftest import Dashboard, _use, metrics, plain_texts, use_copy
from tests.conftest import ingest_files
from tests.profiledb.studies.test_scaling import gather, report
from tests.support.ddp_samples import list_files, needs_ddp
from tests.support.page_reports import Publish, insert, kernel, name
from tests.support.torch_samples import FOLDER, RANKS, needs_torch_samples


@pytest.fixture
def shelf(ddp: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A copy of the library of the samples; the dashboard of the test reads it."""
    return use_copy(ddp.folder, tmp_path, monkeypatch)


@pytest.mark.slow("draws a page of fifteen reports, twice")
@needs_ddp
def test_one_report_opens_its_family(dashboard: Dashboard, shelf: Library) -> None:
    at = dashboard("scaling", report=shelf.find("ddp_1.sqlite").id)
    assert not at.exception
    assert "ddp_weak_4 96.7 % (weak), ddp_strong_4 72.8 % (strong), ddp_overlap_4 66.6 % (strong)" in plain_texts(at)
    assert "relative to ddp_1" in plain_texts(at)
    assert [tuple(row) for row in at.dataframe[0].value[["run", "ranks"]].itertuples(index=False)] == [
        ("ddp_1", 1), ("ddp_strong_2", 2), ("ddp_overlap_4", 4), ("ddp_strong_4", 4), ("ddp_weak_4", 4)
    ]  # fmt: skip
    assert metrics(at)["Tokens/s"].replace(",", "").startswith("1177")
    assert "busbw_gb_per_s" in at.dataframe[1].value
    box = next(one for one in at.selectbox if one.key == "scaling-run")
    assert box.value == "ddp_weak_4"
    box.select("ddp_overlap_4").run()
    assert not at.exception
    assert at.query_params["run"] == "ddp_overlap_4"
    assert "Rank 2 of ddp_overlap_4 is the last to arrive" in plain_texts(at)


@pytest.mark.slow("takes the traces of two ranks in")
@needs_torch_samples
def test_traces_of_two_ranks_are_one_run(dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_files(tmp_path / "data", [FOLDER / name for name in RANKS])
    library = Library(_use(tmp_path / "data", monkeypatch) / "library")
    at = dashboard("scaling", report=library.find(RANKS[1]).id)
    assert not at.exception
    assert metrics(at)["Ranks"] == "2"
    assert "Each wait is accurate to" in plain_texts(at)
    assert "warpdeck profile" not in plain_texts(at)
    sizes = next(table.value for table in at.dataframe if "size_bytes" in table.value)
    assert [int(size) for size in sizes["size_bytes"]] == [25_165_824, 26_744_832, 28_339_200]
    assert (sizes["busbw_gb_per_s"] == sizes["algbw_gb_per_s"]).all(), "2 (n - 1) / n of two ranks is 1"


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library of one GPU alone, of both ranks of two, and of one rank of four; the dashboard of the test reads it."""
    names = ("ddp_1", "ddp_strong_2_rank0", "ddp_strong_2_rank1", "ddp_strong_4_rank1")
    ingest_files(tmp_path / "data", list_files(*names))
    return Library(_use(tmp_path / "data", monkeypatch) / "library")


@needs_ddp
def test_one_report_opens_what_belongs_to_it(dashboard: Dashboard, few: Library) -> None:
    at = dashboard("scaling", report=few.find("ddp_1.sqlite").id, run="ddp_strong_2")
    assert not at.exception
    assert "relative to ddp_1" in plain_texts(at)
    assert [tuple(row) for row in at.dataframe[0].value[["run", "ranks"]].itertuples(index=False)] == [
        ("ddp_1", 1), ("ddp_strong_2", 2), ("ddp_strong_4", 4)
    ]  # fmt: skip
    assert "busbw_gb_per_s" in at.dataframe[1].value


@needs_ddp
def test_one_rank_alone_says_what_is_needed(dashboard: Dashboard, few: Library) -> None:
    at = dashboard("scaling", report=few.find("ddp_strong_4_rank1.sqlite").id, **{"with": "alone"})
    assert not at.exception
    assert "Efficiency needs another run of the same program" in plain_texts(at)
    assert "reports of 1 of 4 ranks" in plain_texts(at)
    assert "Steps of ddp_strong_4 take 9.56 ms" in plain_texts(at)
    assert "algbw_gb_per_s" in at.dataframe[1].value
    at.multiselect("scaling-with").select(few.find("ddp_1.sqlite").id).run()
    assert at.query_params["with"] == few.find("ddp_1.sqlite").id
    assert metrics(at)["Efficiency"].startswith("72.8")


@needs_ddp
def test_without_nccl_on_one_gpu(dashboard: Dashboard, few: Library) -> None:
    at = dashboard("scaling", report=few.find("ddp_1.sqlite").id, **{"with": "alone"})
    assert not at.exception
    assert "One GPU and no NCCL kernels" in plain_texts(at)
    assert len(at.dataframe) == 1


@pytest.fixture(name="library")
def make_empty_library(empty: Path) -> Library:
    """One of its own for the reports that a test publishes."""
    return Library(empty / "library")


def test_reports_with_little_in_them(dashboard: Dashboard, publish: Publish) -> None:
    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "kernel_name", [name(1, "<b>*odd*</b>"), name(2, "ncclDevKernel_Generic")])
        insert(db, "kernel", [kernel(1, 1, 0, 10), kernel(2, 2, 5, 30), kernel(3, 1, 5, 6, device_id=1)])

    bare = publish(lambda db: insert(db, "report", [{"kind": "nsys"}]))
    some = publish(fill)
    at = dashboard("scaling", report=bare)
    assert not at.exception
    assert "No CUDA kernels in this report." in plain_texts(at)
    at = dashboard("scaling", report=some)
    assert not at.exception
    assert "no steps found" in plain_texts(at)


def test_names_in_the_charts_are_text() -> None:
    names = ("<b>x</b>_1", "<b>x</b>_2_rank0", "<b>x</b>_2_rank1")
    runs, _ = gather(report(names[0]), *[report(one, 60, exposed=5) for one in names[1:]])
    rows = scaling_rows.run_rows(runs)
    figures = [
        charts.plot_scaling(rows, [run.curve for run in runs], "efficiency_pct", "light"),
        charts.plot_steps(rows, {"other": "#777777"}, "dark"),
    ]
    assert all("<b>x</b>" not in figure.to_json().replace("\\u003c", "<") for figure in figures)
