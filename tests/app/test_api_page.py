"""The page "API": real reports, and reports that lack most of the data."""

import pytest

from profiledb.library.library import Library
from tests.app.conftest import HOSTILE, Open, calls_alone, check_empty_page, nothing, of, texts
from tests.support.page_reports import Publish


def test_a_report_with_everything(page: Open, library: Library) -> None:
    at = page("api", of(library, "transformer_training.nsys-rep"), warmup="include")
    assert [element.value for element in at.subheader] == ["CUDA API calls", "OS runtime calls"]
    assert "module loading" in texts(at)
    tables = [table.value for table in at.dataframe if "share_pct" in table.value]
    assert [table["share_pct"].sum() for table in tables] == [pytest.approx(100)] * 2


def test_a_report_with_nothing_says_so_once(page: Open, small_report: Publish) -> None:
    check_empty_page(
        page("api", small_report(nothing)), "CUDA API calls", "No CUDA API calls in", "No OS runtime calls in"
    )


def test_calls_of_a_report_without_gpu_activity(page: Open, small_report: Publish) -> None:
    at = page("api", small_report(calls_alone))
    assert [element.value for element in at.subheader] == ["CUDA API calls"]
    assert at.dataframe[0].value["function"].iloc[0] == HOSTILE


@pytest.mark.parametrize("name", ["wsl2_no_kernels.nsys-rep", "streams_4090.nsys-rep"])
def test_reports_of_strangers(page: Open, library: Library, name: str) -> None:
    assert "CUDA API calls" in [element.value for element in page("api", of(library, name)).subheader]
