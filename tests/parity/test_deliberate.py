"""Deliberate differences from nsys are documented, and docs/coverage.md has no other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, ROOT
from tests.support import deliberate_differences, nsys_oracle
from tests.support.nsys_oracle import Case

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")


@pytest.mark.parametrize("key", deliberate_differences.TOLD, ids="-".join)
def test_a_header_tells_the_difference(key: tuple[str, str]) -> None:
    assert deliberate_differences.TOLD[key] in deliberate_differences.reason(*key)


def test_the_page_has_no_other_difference() -> None:
    page = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert " 0 differences unexplained." in page
    assert "scripts/coverage_table.py" in page.partition("##")[0]


def asked(export: Path, nsys: Path, case: Case, folder: Path) -> nsys_oracle.Table:
    nsys_oracle.ask(nsys, export, [case], folder)
    return nsys_oracle.asked(folder, case)


@pytest.mark.slow("asks nsys of more reports")
@needs_corpus
@pytest.mark.parametrize("report", ["ranges_without_name.nsys-rep", "ranges_never_popped.nsys-rep"])
def test_ranges_without_a_name(
    every_report: Library, nsys: Path, sqlite_export: Callable[[str], Path], tmp_path: Path, report: str
) -> None:
    case = Case("nvtx_pushpop_trace", "nvtx_pushpop_trace")
    expected = asked(sqlite_export(report), nsys, case, tmp_path)
    assert len(expected) > 5
    assert nsys_oracle.differences(expected, nsys_oracle.ours(every_report, report, case)) == []


@pytest.mark.slow("asks nsys of more reports")
@needs_corpus
@pytest.mark.parametrize("name", ["nvtx_sum", "nvtx_startend_sum"])
def test_a_range_that_never_ends_lasts_until_the_end(
    every_report: Library, nsys: Path, sqlite_export: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    report, case = "start_end_unclosed.qdrep", Case(name, name)
    expected = asked(sqlite_export(report), nsys, case, tmp_path)
    found = nsys_oracle.ours(every_report, report, case)
    assert len(expected) == len(found) == 2
    cells = dict(zip(found[0], zip(expected[1], found[1], strict=True), strict=True))
    assert {column for column, (theirs, ours) in cells.items() if theirs != ours} == {
        column for column in found[0] if column.endswith(("(ns)", "(%)")) and column != "StdDev (ns)"
    }
    assert cells["Total Time (ns)"] == ("", "2890482655")
    assert deliberate_differences.reason(report, name)
