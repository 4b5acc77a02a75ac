"""The page "Roofline by time": kernels of a Systems report, weighted by its own time, or advice to measure them."""

import pytest

from app.ui import format as fmt
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import Dashboard, metrics, needs_corpus, needs_samples, texts


@needs_samples
def test_a_systems_report_is_weighted_by_its_own_time(dashboard: Dashboard, library: Library) -> None:
    systems = library.find("transformer_training.nsys-rep").id
    compute = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline_by_time", report=systems, ncu=compute)
    assert not at.exception
    chosen = {"ncu": compute, "mode": "process", "warmup": "exclude"}
    row = analysis.run(library, systems, "ncu_coverage", chosen).iloc[0]
    assert row["covered_pct"] > 30
    assert metrics(at)["ncu covers"] == f"{row['covered_pct']:.1f} %"
    assert f"ncu covers {row['covered_pct']:.1f} % of kernel time" in texts(at).replace("\\", "")
    pairs = analysis.run(library, systems, "time_weighted_roofline", chosen)
    exact = pairs[pairs["match"] == "exact"].sort_values("roof_gap_ns", ascending=False, kind="stable")
    assert list(at.dataframe[0].value["calls"]) == list(exact["calls"])
    assert metrics(at)["Saving at the roof"] == fmt.duration(exact["roof_gap_ns"].sum())
    assert len(at.dataframe[1].value) == (pairs["match"] != "exact").sum()


@needs_corpus
@pytest.mark.nsight
def test_a_systems_report_without_a_compute_report_says_what_to_capture(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("roofline_by_time", report=library.find("streams_4090.nsys-rep").id)
    assert not at.exception
    assert "no Compute report in this library measured these kernels" in texts(at)
    assert "ncu --set roofline" in texts(at)


@pytest.mark.slow("asks every Compute report what it covers")
@needs_samples
def test_a_compute_report_that_covers_nothing_is_not_chosen_by_itself(dashboard: Dashboard, library: Library) -> None:
    report = library.find("dataloader_starved.nsys-rep").id
    shapes = "SELECT count(*) AS n FROM kernel"
    assert analysis.query(library, report, shapes)["n"].iloc[0] > 0
    at = dashboard("roofline_by_time", report=report)
    assert not at.exception
    assert "No Compute report in this library covers this report" in texts(at)
    assert "in other launch shapes only" in texts(at)
    (select,) = [box for box in at.selectbox if box.label == "Compute report"]
    assert select.value is None
    assert "ncu" not in at.query_params
    assert not at.metric
