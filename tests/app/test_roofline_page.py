"""The page "Roofline": launches of a Compute report under their roofs, and reports with too few metrics."""

from pathlib import Path

import pytest

from app.ui import format as fmt
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import Dashboard, metrics, needs_corpus, needs_samples, texts
from tests.support.page_reports import empty


@needs_samples
def test_a_compute_report_shows_its_launches_under_their_roofs(dashboard: Dashboard, library: Library) -> None:
    report = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline", report=report)
    assert not at.exception
    rows = analysis.run(library, report, "ncu_roofline", {"precision": "main", "level": "dram"})
    time = rows["duration_ns"].sum()
    share = (rows["pct_of_roof"] * rows["duration_ns"]).sum() / time
    assert metrics(at)["Launches"] == f"{len(rows)} of 46"
    assert metrics(at)["Roof efficiency"] == f"{share:.1f} %"
    gaps = rows["duration_ns"] * (1 - rows["pct_of_roof"].clip(upper=100) / 100)
    assert metrics(at)["Saving at the roof"] == fmt.duration(gaps.sum())
    table = at.dataframe[0].value
    assert sorted(table["launch_id"]) == sorted(rows["launch_id"])
    assert table["roof_gap_ns"].is_monotonic_decreasing
    assert table["roof_gap_ns"].iloc[0] == pytest.approx(gaps.max())
    assert "kernels without arithmetic sit at 0 FLOP/byte" in texts(at)


@needs_samples
def test_level_precision_search_and_range_stand_in_the_address(dashboard: Dashboard, library: Library) -> None:
    report = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline", report=report, level="L1", precision="FP32", search="softmax")
    assert not at.exception
    assert set(at.dataframe[0].value["name"]) <= {n for n in at.dataframe[0].value["name"] if "softmax" in n.lower()}
    inside = dashboard("roofline", report=report, inside="step_0/forward")
    assert 0 < len(inside.dataframe[0].value) < len(dashboard("roofline", report=report).dataframe[0].value)


@needs_samples
def test_another_report_is_the_baseline(dashboard: Dashboard, library: Library) -> None:
    report, other = (library.find(f"transformer_{name}.ncu-rep").id for name in ("training", "inference"))
    at = dashboard("roofline", **{"report": report, "with": other})
    assert not at.exception
    assert "hollow is the baseline" in texts(at)


@needs_corpus
@pytest.mark.parametrize("precision", ["Each kernel's own", "Tensor cores"])
def test_a_gpu_without_tensor_cores_has_none(dashboard: Dashboard, library: Library, precision: str) -> None:
    at = dashboard("roofline", report=library.find("vec_add_1660s_full.ncu-rep").id, precision=precision)
    assert not at.exception
    assert ("No launches match" in texts(at)) == (precision == "Tensor cores")


def test_too_few_metrics_show_the_speed_of_light_and_the_flags(dashboard: Dashboard, data: Path) -> None:
    import duckdb  # the report is made by hand: none of the samples has so little

    from profiledb.library.catalog import Manifest
    from profiledb.report import store
    from profiledb.report.schema import SCHEMA_VERSION

    library = Library(data / "library")
    path = data / "little.duckdb"
    with store.create(path, ready=empty()) as db:
        assert isinstance(db, duckdb.DuckDBPyConnection)
        db.execute("INSERT INTO report (kind) VALUES ('ncu')")
        db.execute(
            "INSERT INTO ncu_launch (launch_id, kernel, duration_ns, sm_throughput_pct, memory_throughput_pct)"
            " VALUES (0, 'f(int)', 1000, 20, 70)"
        )
    library.publish(path, Manifest("e" * 16, SCHEMA_VERSION, "little.ncu-rep", "ncu", "", 1, rows={"ncu_launch": 1}))
    at = dashboard("roofline", report="e" * 16)
    assert not at.exception
    assert "ncu --set roofline" in texts(at)
    assert "Click a point to open its launch" in texts(at)
