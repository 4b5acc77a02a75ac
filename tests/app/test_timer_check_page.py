"""The page "Timer check": timers beside a report, labels without a range, and a report without ranges."""

import pytest

from profiledb.library.library import Library
from tests.app.conftest import Dashboard, metrics, needs_corpus, needs_samples, plain_texts


@needs_samples
def test_timings_and_what_did_not_match(dashboard: Dashboard, library: Library) -> None:
    report = library.find("transformer_inference.nsys-rep").id
    rows = [("step", n, 0.003) for n in range(5)] + [("attention", 0, 0.1), ("<b>nowhere</b>", 0, 1.0)]
    text = "".join(f"{label},{step},{seconds}\n" for label, step, seconds in rows)
    library.put_sidecar(report, "timings", f"label,step,seconds\n{text}")
    at = dashboard("timer_check", report=report)
    assert not at.exception
    assert metrics(at)["Matched"] == "5 of 7"
    assert metrics(at)["Labels matched"] == "1 of 3"
    assert "No range in the selection is called <b>nowhere</b>." in plain_texts(at)
    assert "attention: 1 measurement and 20 ranges that cannot be paired" in plain_texts(at)
    assert dict(zip(at.dataframe[0].value["label"], at.dataframe[0].value["pairs"], strict=True))["step"] == 5


@needs_corpus
@pytest.mark.nsight
def test_a_report_without_ranges(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("timer_check", report=library.find("streams_4090.nsys-rep").id)
    assert not at.exception
    assert "warpdeck profile" not in plain_texts(at)
    assert "streams_4090.timings.csv" in plain_texts(at)
