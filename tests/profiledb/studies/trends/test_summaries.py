"""The summary of a real report: Compare's figures, computed again when a file beside the report changes."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.studies.compare import answer, totals
from profiledb.studies.summary import document
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.summary_store import Summaries
from tests.conftest import SAMPLES, Once, ingest_files
from tests.support import series_summaries

SAMPLE = SAMPLES / "transformer_inference.sqlite"
pytestmark = pytest.mark.skipif(not SAMPLE.is_file(), reason="no sample reports here")


@pytest.fixture
def library(once: Once) -> Library:
    """A library of one sample, whose sidecars a test may change."""
    return Library(once("trends", lambda folder: ingest_files(folder, [SAMPLE])) / "library")


def test_figures_are_those_of_compare_and_parts_add_up(library: Library) -> None:
    (report,) = library.list()
    assert summary_refresh.refresh(library) <= 1, "another test may have made it"
    assert summary_refresh.refresh(library) == 0
    kept = Summaries(library.folder)
    rows = {(row.measure, row.name): row for row in kept.of([report.id])[report.id]}
    side = answer.gather_side(library, report, document.get_page_params(library, report, {}))
    told = totals.measure(side)
    for name in ("wall_ns", "busy_ns", "kernel_ns", "idle_ns", "copy_ns", "launches", "copy_bytes"):
        assert rows[name, ""].value == pytest.approx(told[f"{name}_per_step"]), name
    assert {measure for measure, name in rows if not name} <= set(MEASURES)
    wall = rows["wall_ns", ""]
    assert wall.low is not None
    assert wall.high is not None
    assert 0 < wall.low <= wall.high
    for kind in ("class", "range"):
        parts = sum(row.value for (measure, _), row in rows.items() if measure == kind)
        assert parts == pytest.approx(rows["kernel_ns", ""].value, rel=0.01), kind
    assert kept.facts()[report.id].basis == "step_*"
    (series,) = series_summaries.all_series(Board(library)).values()
    assert series.name.startswith("python3 -m workloads run transformer")


def test_a_summary_is_made_again_where_a_file_beside_the_report_changes(library: Library, tmp_path: Path) -> None:
    (report,) = library.list()
    summary_refresh.refresh(library)
    beside = sidecar.get_path(library.reports, report.id, "meta")
    try:
        beside.write_text('{"workload": "said later", "commit": "0123abcd"}')
        assert summary_refresh.refresh(library) == 1
        (series,) = series_summaries.all_series(Board(library)).values()
        assert series.name.startswith("said later")
        assert series.points[0].commit == "0123abcd"
    finally:
        beside.unlink()
