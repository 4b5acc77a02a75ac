"""The pages of attention and of timings, and the Library's questions about files beside reports."""

import json
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.ui.size_charts import Line, plot_family
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.report.sidecar import Columns
from tests.app.conftest import CORPUS, SAMPLES, Dashboard
from tests.profiledb.analyses.test_attention import CLASSES, GPU, MATMUL_FLOPS, SOFTMAX_FLOPS, naive
from tests.support.page_reports import make_library
from tests.support.ranged import Capture

__all__ = ["make_library"]  # fixture
needs_samples = pytest.mark.skipif(not list(SAMPLES.glob("attention.*")), reason="no sample reports here")
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")


def texts(at: AppTest) -> str:
    kinds = (at.caption, at.markdown, at.info, at.warning, at.error, at.header, at.subheader, at.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "").replace("\u2060", "")


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: str(metric.value).replace("\\", "") for metric in at.metric}


def stored(data: Path) -> Library:
    return Library(data / "library")


@needs_samples
def test_the_sample_in_all_lengths(dashboard: Dashboard, data: Path) -> None:
    report = stored(data).find("attention.nsys-rep").id
    at = dashboard("attention", report=report)
    assert not at.exception
    assert "Unknown: batch, heads, head size." in texts(at)
    assert "writes the scores, one number per pair of tokens, to memory" in texts(at)
    assert "`torch.nn.functional.scaled_dot_product_attention`" in texts(at), "what to do"
    at = dashboard("attention", report=report, batch="4", heads="12", head_size="64", precision="bf16")
    assert not at.exception
    assert f"{MATMUL_FLOPS:,}" in texts(at)
    assert f"{SOFTMAX_FLOPS:,}" in texts(at)
    assert metrics(at)["Softmax share of FLOPs"] == "2.0 %"
    parts = at.dataframe[1].value
    assert len(parts) == 28
    assert parts["flops"].notna().all()
    fits = at.dataframe[2].value
    assert list(fits["lengths"]) == [4] * 7
    assert fits["exponent"].between(1.5, 2.5).all()
    assert "one kernel of the class Attention" in texts(at)


@needs_samples
def test_causal_and_sizes_beside_the_report(dashboard: Dashboard, data: Path) -> None:
    library = stored(data)
    report = library.find("transformer_inference.nsys-rep").id
    facts = {"batch": "8", "heads": "12", "tokens": "512", "head_size": "64", "precision": "bf16", "causal": "true"}
    library.put_sidecar(report, "meta", json.dumps(facts))
    at = dashboard("attention", report=report)
    assert not at.exception
    assert "Causal: half of the work is useful. Rates count the useful half" in texts(at)
    assert f"{2 * MATMUL_FLOPS:,}" in texts(at)
    assert "One length shows no growth" in texts(at)
    parts = at.dataframe[1].value
    assert list(parts["useful_flops"] * 2) == pytest.approx(list(parts["flops"]))
    library.put_sidecar(report, "meta", json.dumps(facts | {"batch": "16", "causal": "false"}))
    at.run()
    assert f"{4 * MATMUL_FLOPS:,}" in texts(at), "what replaced it counts at once"
    assert "useful_flops" not in at.dataframe[1].value


@needs_samples
def test_another_report_adds_its_length(dashboard: Dashboard, data: Path) -> None:
    library = stored(data)
    one = library.find("transformer_inference.nsys-rep").id
    other = library.find("transformer_training.nsys-rep").id
    library.put_sidecar(one, "meta", '{"tokens": "512"}')
    at = dashboard("attention", report=one, **{"with": other})
    assert "its length is unknown" in texts(at)
    library.put_sidecar(other, "meta", '{"tokens": "1024"}')
    at = dashboard("attention", report=one, **{"with": other})
    assert not at.exception
    assert list(at.dataframe[2].value["lengths"]) == [2, 2, 2]
    assert at.dataframe[2].value["exponent"].isna().all(), "two lengths are too few"


@needs_samples
def test_without_such_ranges_they_are_chosen(dashboard: Dashboard, data: Path) -> None:
    report = stored(data).find("kernels.nsys-rep").id
    at = dashboard("attention", report=report)
    assert not at.exception
    assert "No range in this selection is named like a part of attention" in texts(at)
    assert "computing_softmax" in texts(at)
    (chooser,) = [box for box in at.selectbox if box.label == "Softmax"]
    chooser.select(chooser.options[0]).run()
    assert not at.exception
    assert chooser.options[0] in at.query_params["softmax"]
    assert list(at.dataframe[1].value["title"]) == ["Softmax"]
    assert "No range found for the scores and the output" in texts(at)


@needs_corpus
@pytest.mark.nsight
@pytest.mark.parametrize("page", ["attention", "timer_check"])
def test_a_report_without_ranges(dashboard: Dashboard, data: Path, page: str) -> None:
    at = dashboard(page, report=stored(data).find("streams_4090.nsys-rep").id)
    assert not at.exception
    assert ("capture again with the same flags" in texts(at)) == (page == "attention")
    assert "warpdeck profile" not in texts(at)
    assert ("streams_4090.timings.csv" in texts(at)) == (page == "timer_check")


def test_ranges_without_kernels_tell_the_host(
    dashboard: Dashboard, data: Path, capture: Capture, library: Library
) -> None:
    made = capture(naive(0, "<b>*naive*</b>")[0], (), CLASSES, [GPU])
    publish_into(data, library, made)
    at = dashboard("attention", report=made, batch="4", heads="12", tokens="512", head_size="64")
    assert not at.exception
    assert "Only CPU times of ranges" in texts(at)
    assert list(at.dataframe[1].value["cpu_ns"]) == [89, 89, 89]
    assert at.dataframe[0].value["variant"][0] == "<b>*naive*</b>"


def publish_into(data: Path, library: Library, report_id: str) -> None:
    shelf = stored(data)
    copy = data / "copied.duckdb"
    shutil.copyfile(library.path(report_id), copy)
    shelf.publish(copy, library.find(report_id))


@needs_samples
def test_timings_and_what_did_not_match(dashboard: Dashboard, data: Path) -> None:
    library = stored(data)
    report = library.find("transformer_inference.nsys-rep").id
    rows = [("step", n, 0.003) for n in range(5)] + [("attention", 0, 0.1), ("<b>nowhere</b>", 0, 1.0)]
    text = "".join(f"{label},{step},{seconds}\n" for label, step, seconds in rows)
    library.put_sidecar(report, "timings", f"label,step,seconds\n{text}")
    at = dashboard("timer_check", report=report)
    assert not at.exception
    assert metrics(at)["Matched"] == "5 of 7"
    assert metrics(at)["Labels matched"] == "1 of 3"
    assert "No range in the selection is called <b>nowhere</b>." in texts(at)
    assert "attention: 1 measurement and 20 ranges that cannot be paired" in texts(at)
    assert dict(zip(at.dataframe[0].value["label"], at.dataframe[0].value["pairs"], strict=True))["step"] == 5


def test_the_library_asks_for_columns(dashboard: Dashboard, empty: Path) -> None:
    library = stored(empty)
    path = str(empty / "inbox" / "a.timings.csv")
    job = Job(
        path, "a.timings.csv", "1@", "columns", None, "a.timings.csv has no columns.", "", '["my label", "n", "ms"]'
    )
    library.catalog.put_job(job, Job(f"{path}2", "b.meta.json", "1@", "alone"))
    at = dashboard()
    assert not at.exception
    assert "b.meta.json waits for a report with the same name." in texts(at)
    at.button(f"columns-{path}").click().run()
    boxes = {box.key: box for box in at.selectbox}
    assert boxes["columns-label"].value == "my label"
    boxes["columns-step"].select("none")
    boxes["columns-time"].select("ms")
    boxes["columns-unit"].select("milliseconds")
    at.run()
    at.button("columns-done").click().run()
    assert library.catalog.columns(path) == Columns("my label", "", "ms", "milliseconds")


def test_names_in_the_chart_are_text() -> None:
    lines = [
        Line("<i>v</i>", part, (512, 1024, 2048), (1e3, 4e3, 1.6e4), ("<r>",) * 3) for part in ("softmax", "fused")
    ]
    figure = plot_family(lines, "light")
    shown = figure.to_json()
    assert "<i>v</i>" not in shown
    assert "<r>" not in shown
    assert list(figure.layout.xaxis.ticktext) == ["512", "1k", "2k"]
