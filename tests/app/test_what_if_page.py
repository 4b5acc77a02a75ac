"""The page What if: what it shows of a sample, a choice of changes, and a report that it cannot replay."""

import pytest

from profiledb.library.library import Library
from profiledb.replay import prediction
from tests.app.conftest import Dashboard

pytestmark = pytest.mark.slow


def test_the_page_shows_what_the_command_predicts(dashboard: Dashboard, nsys_samples: Library) -> None:
    report = nsys_samples.find("dataloader_starved.nsys-rep").id
    at = dashboard("what_if", report=report)
    assert not at.exception
    found = prediction.predict(nsys_samples, report)
    assert at.multiselect[0].value == ["host_code=next_batch"]
    rows = at.dataframe[0].value
    assert len(rows) == len(found.predictions)
    metrics = {metric.label: str(metric.value) for metric in at.metric}
    assert {"8 steps now", "Then", "Between", "Saves", "Unexplained"} <= metrics.keys()
    assert metrics["Saves"].startswith("77")


def test_changes_in_the_address_are_applied_together(dashboard: Dashboard, nsys_samples: Library) -> None:
    report = nsys_samples.find("dataloader_starved.nsys-rep").id
    at = dashboard("what_if", report=report, change=["host_code=next_batch", "cuda_graph"])
    assert not at.exception
    assert at.multiselect[0].value == ["host_code=next_batch", "cuda_graph"]
    alone = dashboard("what_if", report=report, change="host_code=next_batch")
    saves = [float({one.label: str(one.value) for one in page.metric}["Saves"].split()[0]) for page in (at, alone)]
    assert saves[0] > saves[1]
    nothing = dashboard("what_if", report=report, change="fly")
    assert nothing.multiselect[0].value == ["host_code=next_batch"]


def test_a_report_without_calls_says_what_it_lacks(dashboard: Dashboard, nsys_samples: Library) -> None:
    at = dashboard("what_if", report=nsys_samples.find("openmp_regions.nsys-rep").id)
    assert not at.exception
    assert any("Nothing ran on a GPU" in str(one.value) for one in at.markdown)
