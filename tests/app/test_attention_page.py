"""The page "Attention": sizes from the report, from its sidecar and from the user, several lengths, hostile names."""

import json
import shutil
from pathlib import Path

import pytest

from app.ui.size_charts import Line, plot_family
from profiledb.library.library import Library
from tests.app.conftest import Dashboard, metrics, needs_corpus, needs_samples, plain_texts
from tests.profiledb.analyses.test_attention import CLASSES, GPU, MATMUL_FLOPS, SOFTMAX_FLOPS, naive
from tests.support.page_reports import make_library
from tests.support.range_captures import Capture

__all__ = ["make_library"]  # fixture


def stored(data: Path) -> Library:
    return Library(data / "library")


@needs_samples
def test_the_sample_in_all_lengths(dashboard: Dashboard, data: Path) -> None:
    report = stored(data).find("attention.nsys-rep").id
    at = dashboard("attention", report=report)
    assert not at.exception
    assert "Unknown: batch, heads, head size." in plain_texts(at)
    assert "writes the scores, one number per pair of tokens, to memory" in plain_texts(at)
    assert "`torch.nn.functional.scaled_dot_product_attention`" in plain_texts(at), "what to do"
    at = dashboard("attention", report=report, batch="4", heads="12", head_size="64", precision="bf16")
    assert not at.exception
    assert f"{MATMUL_FLOPS:,}" in plain_texts(at)
    assert f"{SOFTMAX_FLOPS:,}" in plain_texts(at)
    assert metrics(at)["Softmax share of FLOPs"] == "2.0 %"
    parts = at.dataframe[1].value
    assert len(parts) == 28
    assert parts["flops"].notna().all()
    fits = at.dataframe[2].value
    assert list(fits["lengths"]) == [4] * 7
    assert fits["exponent"].between(1.5, 2.5).all()
    assert "one kernel of the class Attention" in plain_texts(at)


@needs_samples
@pytest.mark.slow("draws the page of another report")
def test_causal_and_sizes_beside_the_report(dashboard: Dashboard, data: Path) -> None:
    library = stored(data)
    report = library.find("transformer_inference.nsys-rep").id
    facts = {"batch": "8", "heads": "12", "tokens": "512", "head_size": "64", "precision": "bf16", "causal": "true"}
    library.put_sidecar(report, "meta", json.dumps(facts))
    at = dashboard("attention", report=report)
    assert not at.exception
    assert "Causal: half of the work is useful. Rates count the useful half" in plain_texts(at)
    assert f"{2 * MATMUL_FLOPS:,}" in plain_texts(at)
    assert "One length shows no growth" in plain_texts(at)
    parts = at.dataframe[1].value
    assert list(parts["useful_flops"] * 2) == pytest.approx(list(parts["flops"]))
    library.put_sidecar(report, "meta", json.dumps(facts | {"batch": "16", "causal": "false"}))
    at.run()
    assert f"{4 * MATMUL_FLOPS:,}" in plain_texts(at), "what replaced it counts at once"
    assert "useful_flops" not in at.dataframe[1].value


@pytest.mark.slow("draws the page of two reports, twice")
@needs_samples
def test_another_report_adds_its_length(dashboard: Dashboard, data: Path) -> None:
    library = stored(data)
    one = library.find("transformer_inference.nsys-rep").id
    other = library.find("transformer_training.nsys-rep").id
    library.put_sidecar(one, "meta", '{"tokens": "512"}')
    at = dashboard("attention", report=one, **{"with": other})
    assert "its length is unknown" in plain_texts(at)
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
    assert "No range in this selection is named like a part of attention" in plain_texts(at)
    assert "computing_softmax" in plain_texts(at)
    (chooser,) = [box for box in at.selectbox if box.label == "Softmax"]
    chooser.select(chooser.options[0]).run()
    assert not at.exception
    assert chooser.options[0] in at.query_params["softmax"]
    assert list(at.dataframe[1].value["title"]) == ["Softmax"]
    assert "No range found for the scores and the output" in plain_texts(at)


@needs_corpus
@pytest.mark.nsight
def test_a_report_without_ranges(dashboard: Dashboard, data: Path) -> None:
    at = dashboard("attention", report=stored(data).find("streams_4090.nsys-rep").id)
    assert not at.exception
    assert "capture again with the same flags" in plain_texts(at)
    assert "warpdeck profile" not in plain_texts(at)


def test_ranges_without_kernels_tell_the_host(
    dashboard: Dashboard, data: Path, capture: Capture, library: Library
) -> None:
    made = capture(naive(0, "<b>*naive*</b>")[0], (), CLASSES, [GPU])
    publish_into(data, library, made)
    at = dashboard("attention", report=made, batch="4", heads="12", tokens="512", head_size="64")
    assert not at.exception
    assert "Only CPU times of ranges" in plain_texts(at)
    assert list(at.dataframe[1].value["cpu_ns"]) == [89, 89, 89]
    assert at.dataframe[0].value["variant"][0] == "<b>*naive*</b>"


def publish_into(data: Path, library: Library, report_id: str) -> None:
    shelf = stored(data)
    copy = data / "copied.duckdb"
    shutil.copyfile(library.path(report_id), copy)
    shelf.publish(copy, library.find(report_id))


def test_names_in_the_chart_are_text() -> None:
    lines = [
        Line("<i>v</i>", part, (512, 1024, 2048), (1e3, 4e3, 1.6e4), ("<r>",) * 3) for part in ("softmax", "fused")
    ]
    figure = plot_family(lines, "light")
    shown = figure.to_json()
    assert "<i>v</i>" not in shown
    assert "<r>" not in shown
    assert list(figure.layout.xaxis.ticktext) == ["512", "1k", "2k"]
