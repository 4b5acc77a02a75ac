"""A format that no tool writes needs its module alone: the worker knows its files, and every page that fits shows its
report. The numbers expected are worked out by hand."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.page_list import VIEWS
from ingest import formats
from ingest.conversion import limits
from ingest.format_detection import detect
from ingest.worker import Worker
from profiledb import config
from profiledb.errors import ConversionError
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from profiledb.query.captures import CAPTURES
from tests.app.conftest import Dashboard
from tests.app.test_ranges_page import said
from tests.support.made_up import MATMUL, OWN, SOFTMAX, TRACE, Make, Report, make_report

__all__ = ["make_report"]  # a fixture


@pytest.fixture
def report(empty: Path, make: Make) -> Report:
    """The trace, in the library of the dashboard."""
    empty.mkdir()
    return make(TRACE, empty)


def table(at: AppTest, *columns: str) -> list[tuple[object, ...]]:
    """These columns of the first table that has them."""
    frame: pd.DataFrame = next(one.value for one in at.dataframe if set(columns) <= set(one.value.columns))
    return list(frame[list(columns)].itertuples(index=False, name=None))


def test_its_module_alone_makes_its_files_known(make: Make, tmp_path: Path) -> None:
    """What the module declares holds wherever files are judged by their names."""
    samples = tmp_path / "samples"
    samples.mkdir()
    (samples / "run.madeup").write_text("something else")
    (samples / "notes.txt").write_text("something else")
    with pytest.raises(ConversionError, match=r"run\.madeup does not start like a made-up trace") as refused:
        detect(samples / "run.madeup")
    assert refused.value.hint == "Make it up again."
    with pytest.raises(ConversionError) as unknown:
        detect(samples / "notes.txt")
    assert "made-up trace (.madeup)" in unknown.value.hint
    settings = config.load(inbox=tmp_path / "inbox", library=tmp_path / "library", samples=samples)
    worker = Worker(Library(tmp_path / "library"), settings, open_inbox(settings), on_done=lambda _: None)
    assert [path.name for path in worker.samples()] == ["run.madeup"]
    assert not limits.is_small(Path("a.MadeUp"), 100_000)  # it unpacks to a thousand times its size
    assert limits.is_small(Path("a.other"), 100_000)
    assert formats.needs_arrays("a.madeup")
    assert not formats.needs_arrays("a.other")


def test_all_modules_of_the_folder_are_formats() -> None:
    for one in formats.all_formats():
        assert one.NAME
        assert one.KIND
        assert all(ending == ending.lower() and factor >= 1 for ending, factor in one.ENDINGS.items())
        assert all(one.MISNAMED) or not one.ENDINGS
    costs = [one.COST for one in formats.all_formats()]
    assert costs == sorted(costs)


def test_every_page_opens_and_misses_nothing_that_the_report_holds(dashboard: Dashboard, report: Report) -> None:
    held = [capture.title for capture in CAPTURES if report.manifest.rows.get(capture.table)]
    assert held == ["CUDA kernels", "CUDA API calls", "NVTX ranges"]
    for view in VIEWS:
        at = dashboard(view.url, report=report.id)
        texts = said(at)
        assert (view.url, list(at.exception), list(at.error)) == (view.url, [], [])
        assert ("which it does not have" in texts) == (not view.fits(report.manifest)), view.url
        assert view.fits(report.manifest) == (view.subject in (None, TIMELINE))
        missed = [name for name in held if f"no {name} in this".lower() in texts.lower() or f"**{name}**: " in texts]
        assert (view.url, missed) == (view.url, [])


def test_its_kernels(dashboard: Dashboard, report: Report) -> None:
    at = dashboard("kernels", report=report.id)
    assert "500 ns in 10 launches" in said(at)
    assert table(at, "name", "share_pct", "total_ns", "calls", "avg_ns", "median_ns", "min_ns", "max_ns") == [
        (MATMUL, 68, 340, 5, 68, 50, 50, 100),
        (SOFTMAX, 18, 90, 2, 45, 45, 30, 60),
        (OWN, 14, 70, 3, pytest.approx(70 / 3), 20, 10, 40),
    ]


def test_its_ranges(dashboard: Dashboard, report: Report) -> None:
    """By process, as pages show it: the backward pass has what its helper thread launched."""
    at = dashboard("ranges", report=report.id)
    facts = {one.label: one.value for one in at.metric[:4]}
    assert facts == {"Ranges": "5", "Paths": "5", "Threads": "1", "CPU time": r"1\.00 µs"}
    assert [(str(name).strip(), *row) for name, *row in table(
        at, "tree", "busy_ns", "gpu_ns", "cpu_ns", "self_ns", "operations", "instances"
    )] == [
        ("step", 420, 860, 1000, 120, 9, 1),
        ("forward", 180, 240, 300, 200, 4, 1),
        ("attention", 80, 90, 100, 100, 2, 1),
        ("backward", 210, 240, 500, 500, 3, 1),
        ("optimizer", 30, 50, 80, 80, 2, 1),
    ]  # fmt: skip
