"""The cached access of pages to the library: what is kept goes by the file that it was read from."""

from pathlib import Path

import pytest

from app import session
from profiledb.query import analysis
from profiledb.report.library import Library
from tests.support.memory_reports import fill, make_gaps
from tests.support.page_reports import Publish, kernel, make_library, make_publish

__all__ = ["make_gaps", "make_library", "make_publish"]  # fixtures


@pytest.fixture(autouse=True)
def _of_this_test(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_LIBRARY", str(library.folder))
    monkeypatch.setenv("WARPDECK_INBOX", str(tmp_path / "inbox"))


def lacked(report_id: str) -> set[str]:
    return {capture.table for capture in session.missing(report_id)}


def test_what_a_report_lacks_goes_by_its_file(library: Library, publish: Publish) -> None:
    first = publish(fill)
    assert {"kernel", "cpu_sample"} <= lacked(first)
    library.delete(first)
    assert publish(lambda db: fill(db, kernel=[kernel(0, 1, 0, 10)])) == first  # taken in again, by a newer converter
    assert "kernel" not in lacked(first)
    assert "cpu_sample" in lacked(first)


def test_analyses_of_idle_time_are_answered_together(library: Library, gaps: str) -> None:
    for name in ("idle_gaps", "idle_reasons", "idle_ranges"):
        assert session.whole(gaps, name).equals(analysis.run(library, gaps, name)), name
    assert session.whole(gaps, "idle_gaps", limit=2).equals(analysis.run(library, gaps, "idle_gaps", {"limit": 2}))
    assert analysis.rows_or_none(session.run, gaps, "idle_code").empty  # without CPU samples
