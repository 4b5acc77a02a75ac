"""The page "What if": a sample, a choice of changes, and a report that it cannot replay."""

import pytest
from streamlit.testing.v1 import AppTest

from profiledb.library.library import Library
from profiledb.replay import prediction
from tests.app.conftest import Dashboard

pytestmark = pytest.mark.slow("replays a report for each choice of changes")


def test_the_page_shows_what_the_command_predicts(dashboard: Dashboard, library: Library) -> None:
    report = library.find("dataloader_starved.nsys-rep").id
    at = dashboard("what_if", report=report)
    assert not at.exception
    found = prediction.predict(library, report)
    assert at.multiselect[0].value == ["host_code=next_batch"]
    rows = at.dataframe[0].value
    assert len(rows) == len(found.predictions)
    metrics = {metric.label: str(metric.value) for metric in at.metric}
    assert {"8 steps now", "Then", "Between", "Saves", "Unexplained"} <= metrics.keys()
    assert metrics["Saves"].startswith("77")


def test_chosen_changes_are_applied_together_and_stand_in_the_address(dashboard: Dashboard, library: Library) -> None:
    report = library.find("dataloader_starved.nsys-rep").id
    alone = dashboard("what_if", report=report, change="host_code=next_batch")
    saved = _saved(alone)
    at = alone.multiselect[0].select("cuda_graph").run()
    assert not at.exception
    assert at.query_params["change"] == ["host_code=next_batch", "cuda_graph"]
    assert _saved(at) > saved
    nothing = dashboard("what_if", report=report, change="fly")
    assert nothing.multiselect[0].value == ["host_code=next_batch"]


def _saved(at: AppTest) -> float:
    return next(float(str(one.value).replace("\\", "").split()[0]) for one in at.metric if one.label == "Saves")


def test_a_report_without_calls_says_what_it_lacks(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("what_if", report=library.find("openmp_regions.nsys-rep").id)
    assert not at.exception
    assert any("Nothing ran on a GPU" in str(one.value) for one in at.markdown)
