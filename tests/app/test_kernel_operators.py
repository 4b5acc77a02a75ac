"""PyTorch operators of a report's kernels: from the report itself, and from a trace that a visitor links to it."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.studies.trace_link import links
from tests.app.conftest import Dashboard, use_copy
from tests.app.test_library_links import button
from tests.app.test_library_page import select, table, texts
from tests.support.torch_samples import INFERENCE, NSYS, TRAINING, needs_torch_samples

pytestmark = needs_torch_samples


@pytest.fixture
def pair(torch_training: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A copy of the two reports of a training as the library of the dashboard."""
    return use_copy(torch_training.folder, tmp_path, monkeypatch)


@pytest.fixture
def shelf(torch_samples: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A copy of all samples as the library of the dashboard."""
    return use_copy(torch_samples.folder, tmp_path, monkeypatch)


def test_a_linked_report_shows_operators_of_its_kernels(dashboard: Dashboard, pair: Library) -> None:
    report = pair.find(NSYS[TRAINING]).id
    at = dashboard("kernels", report=report)
    assert "operator" not in at.dataframe[0].value.columns
    links.link_trace(pair, report, pair.find(TRAINING).id)
    at = dashboard("kernels", report=report)
    assert not at.exception
    named = at.dataframe[0].value["operator"]
    assert named.notna().all()
    assert "aten::masked_fill_" in set(named)
    at = dashboard("kernel", report=report)
    assert not at.exception
    assert f"from {TRAINING}" in texts(at).replace("\\", "")
    shown = at.dataframe[0].value
    assert shown["operator"].str.startswith("aten::").all()
    assert shown["modules"].str.contains("SelfAttention").any()


@pytest.mark.slow("draws the list of reports with its dialog five times")
def test_a_visitor_links_a_trace_and_is_told_why_another_does_not_fit(dashboard: Dashboard, shelf: Library) -> None:
    nsys, fits, other = (shelf.find(name).id for name in (NSYS[TRAINING], TRAINING, INFERENCE))
    at = dashboard()
    at = button(select(at, table(at).index(NSYS[TRAINING])), "Link a report").click().run()
    at = at.button(key=f"link-{other}").click().run()
    assert not at.exception
    assert "0 of 828 kernels match" in at.error[0].value
    assert shelf.linked_report(nsys, "trace") is None
    at = at.button(key=f"link-{fits}").click().run()
    assert not at.exception
    assert shelf.linked_report(nsys, "trace") == fits
    at = button(select(at, table(at).index(NSYS[TRAINING])), "Link a report").click().run()
    at.button(key=f"unlink-{fits}").click().run()
    assert shelf.linked_report(nsys, "trace") is None
