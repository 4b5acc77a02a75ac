"""The page "Memory": a real report, and reports that lack most of the data."""

from profiledb.library.library import Library
from tests.app.conftest import Open, calls_alone, check_empty_page, nothing, of, texts
from tests.support.page_reports import Publish


def test_a_report_with_everything(page: Open, library: Library) -> None:
    at = page("memory", of(library, "transformer_training.nsys-rep"), warmup="include")
    assert [element.value for element in at.subheader] == ["Memcpy and memset", "GPU memory"]
    assert "blocked the CPU" in texts(at)


def test_a_report_with_nothing_says_so_once(page: Open, small_report: Publish) -> None:
    check_empty_page(
        page("memory", small_report(nothing)), "Memcpy and memset", "No memcpy and memset in", "No GPU memory use in"
    )


def test_a_report_without_gpu_activity(page: Open, small_report: Publish) -> None:
    at = page("memory", small_report(calls_alone))
    assert [element.value for element in at.subheader] == ["Memcpy and memset"]
    assert texts(at).count("No GPU activity was recorded, although CUDA calls were") == 1
    assert "WSL2" not in texts(at), "it was not captured there"
