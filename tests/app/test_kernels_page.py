"""The page "Kernels": filters in its address, and a report without kernels."""

from profiledb.library.library import Library
from tests.app.conftest import Open, nothing, of, texts
from tests.support.page_reports import Publish


def test_the_address_filters_kernels(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    every = page("kernels", report_id).dataframe[0].value
    some = page("kernels", report_id, search="SOFTMAX").dataframe[0].value
    assert 0 < len(some) < len(every)
    assert set(some["name"]) <= set(every["name"])
    none = page("kernels", report_id, search="no such kernel")
    assert "No kernels match" in none.info[0].value
    assert len(page("kernels", report_id, **{"class": "nonsense"}).dataframe[0].value) == len(every)


def test_an_empty_report_says_what_to_capture(page: Open, small_report: Publish) -> None:
    at = page("kernels", small_report(nothing))
    assert "No CUDA kernels in this report." in texts(at).replace("\\", "")
    assert not at.dataframe
    assert not at.metric
