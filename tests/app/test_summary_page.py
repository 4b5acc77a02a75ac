"""The page "Summary": a real report, reports without kernels or without any data, and hostile names."""

import re

import pandas as pd
import pytest

from app.views.summary.kernels import describe_others
from profiledb.library.library import Library
from tests.app.conftest import Open, check_names_are_text, hostile, nothing, of, texts
from tests.support.page_reports import Publish


def test_a_training(page: Open, library: Library) -> None:
    at = page("summary", of(library, "transformer_training.nsys-rep"))
    said = texts(at)
    busy = re.search(r"([\d.]+) % busy", said.replace("\\", ""))
    assert busy
    assert 0 < float(busy[1]) <= 100
    assert "Do first:" in said
    assert "Saves at most" in said
    for part in ("Time by kernel class", "Top kernels", "Memcpy and memset", "Ranges", "all classified"):
        assert part in said
    findings, classes, top = (at.dataframe[place].value for place in range(3))
    assert 0 < len(findings) <= 5
    assert {"title", "saving_ns", "saving_pct", "place"} <= set(findings)
    assert classes["share_pct"].sum() == pytest.approx(100)
    assert len(top) == 10
    assert top["share_pct"].is_monotonic_decreasing


def test_an_empty_report_says_what_to_capture(page: Open, small_report: Publish) -> None:
    at = page("summary", small_report(nothing))
    assert "No CUDA kernels in this report." in texts(at).replace("\\", "")
    assert not at.dataframe
    assert not at.metric


def test_hostile_names_stay_text(page: Open, small_report: Publish) -> None:
    check_names_are_text(page("summary", small_report(hostile)))


def test_the_share_of_other_is_said() -> None:
    rows = pd.DataFrame({"class": ["matmul", "other"], "total_ns": [990, 10], "share_pct": [99.0, 1.0]})
    names = {"name": ["gemm", "a`b", "c", "d", "e"], "share_pct": [99.0, 0.7, 0.2, 0.05, 0.05]}
    kernels = pd.DataFrame(names | {"class": ["matmul", *["other"] * 4]})
    assert describe_others(rows, kernels) == (
        "1.00 µs of kernel time; 1.0 % is in kernels without a class (Other):"
        " ``a`b`` (0.7 %), `c` (0.2 %), `d` (0.1 %) and 1 more."
    )
    assert "all classified" in describe_others(rows.head(1), kernels)


def test_calls_of_a_report_without_kernels(page: Open, library: Library) -> None:
    report_id = of(library, "wsl2_no_kernels.nsys-rep")
    at = page("summary", report_id)
    assert "CUDA API calls" in [element.value for element in at.subheader]
    assert at.dataframe[0].value["total_ns"].is_monotonic_decreasing
    assert f"{library.find(report_id).rows['api_call']:,} calls recorded" in texts(at)
    assert not [code.value for code in at.code if code.value.startswith("warpdeck profile -- ")], "it was used"
    assert "profile on native Linux" in texts(at)


@pytest.mark.slow("judges two reports by every rule")
def test_it_begins_with_findings(page: Open, library: Library) -> None:
    at = page("summary", of(library, "idle_host_bound.nsys-rep"))
    assert any("read_loss_item" in element.value and "Saves about" in element.value for element in at.markdown)
    clear = page("summary", of(library, "launches_graph.nsys-rep"))
    assert not any("Saves " in element.value for element in clear.markdown)


@pytest.mark.slow("judges a report by every rule, twice")
def test_it_covers_what_its_findings_judge(page: Open, library: Library) -> None:
    """One of 5 steps is a warm-up: the GPU is idle for 33.1 % of the other four, and for 33.7 % of all five."""
    at = page("summary", of(library, "transformer_steps.nsys-rep"))
    assert "Judged: 4 steps (45.9 ms)." in texts(at)
    assert "66.9 % busy, 33.1 % idle." in texts(at)
    at.toggle(key="findings-startup").set_value(True).run()
    assert not at.exception
    assert "66.3 % busy, 33.7 % idle." in texts(at)
