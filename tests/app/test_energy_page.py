"""The page "Energy": a real log, a log that is too short, none, and a made-up one with odd names and two GPUs."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.views.energy import charts
from ingest.sidecars.files import read_sidecar
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import HOSTILE, SAMPLES, Dashboard, needs_samples, texts
from tests.support.page_reports import empty
from tests.support.power_log_reports import at_once, put_log, report

Publish = Callable[..., str]


@pytest.fixture
def publish(library: Library, tmp_path: Path) -> Publish:
    def publish_(fill: Callable[[duckdb.DuckDBPyConnection], None]) -> str:
        report_id = f"{len(library.list()):016x}"
        path = tmp_path / f"{report_id}.duckdb"
        with store.create(path, ready=empty()) as db:
            fill(db)
        library.publish(path, Manifest(report_id, SCHEMA_VERSION, "small", "nsys", report_id, 1))
        return report_id

    return publish_


def facts(at: AppTest) -> dict[str, str]:
    return {metric.label.replace("\\", ""): str(metric.value).replace("\\", "") for metric in at.metric}


def sample(library: Library, name: str) -> str:
    """A sample with its log and facts beside it, as the worker puts them."""
    one = library.find(f"{name}.nsys-rep").id
    library.put_sidecar(one, "power", read_sidecar(SAMPLES / f"{name}.nvml.csv").text)
    library.put_sidecar(one, "meta", read_sidecar(SAMPLES / f"{name}.meta.json").text)
    return one


@needs_samples
def test_a_log_of_seconds(dashboard: Dashboard, library: Library) -> None:
    report_id = sample(library, "energy")
    at = dashboard("energy", report=report_id)
    assert not at.exception
    assert not at.error
    shown = facts(at)
    assert shown["Energy"] == "3.07 ± 0.14 kJ"
    assert shown["Energy per step"].endswith(" J")
    with (SAMPLES / "energy.energy.csv").open() as file:
        counted = {row["batch"]: 512 * float(row["joules_per_sample"]) for row in csv.DictReader(file)}
    flops = json.loads((SAMPLES / "energy.meta.json").read_text())["flops_per_step"]
    assert float(shown["TFLOP/J"]) == pytest.approx(flops / 1e12 / counted["1"], rel=0.02), "each size is a loop"
    assert "Items per step unknown" in texts(at)
    largest = facts(dashboard("energy", report=report_id, steps="batch_512/step_*"))
    assert float(largest["TFLOP/J"]) == pytest.approx(flops / 1e12 / counted["512"], rel=0.05)
    ranges = at.dataframe[1].value
    assert list(ranges["range"][:2]) == ["batch_1", "batch_1/step_*"], "loops are one row by default"
    assert ranges["energy_j"][0] == pytest.approx(948.8, abs=0.1)
    at = at.segmented_control(key="by").set_value("path").run()
    ranges = at.dataframe[1].value
    assert list(ranges["range"][:2]) == ["batch_1", "batch_8"]
    assert "too short to measure" in set(ranges["note"])
    assert ranges.loc[ranges["note"] == "too short to measure", "energy_j"].isna().all()


@pytest.mark.slow("draws the page of another sample")
@needs_samples
def test_milliseconds_are_too_short(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("energy", report=sample(library, "idle_fixed"))
    assert not at.exception
    assert facts(at)["Energy"] == facts(at)["Energy per step"] == "too short to measure"
    assert not {"energy_j", "off_j", "mean_w"} & set(at.dataframe[0].value)


def test_without_a_log_it_says_how_to_get_one(dashboard: Dashboard, publish: Publish) -> None:
    at = dashboard("energy", report=report(publish))
    assert not at.exception
    assert "This report has no log of power and clocks" in texts(at)
    assert "warpdeck profile -- " in texts(at)
    assert not at.metric


def test_two_gpus_odd_names_and_items(dashboard: Dashboard, library: Library, publish: Publish) -> None:
    one = report(
        publish, [(HOSTILE, 100, 300), ("step_0", 100, 200), ("step_1", 200, 300)], used=(0, 1), gpus=("a", "b")
    )
    changes = [(0.0, 0.0), (100.0, 10.0), (200.0, 40.0), (300.0, 80.0), (1000.0, 150.0)]
    put_log(library, one, [*at_once(changes, 50, 500), *at_once(changes, 50, 500, device=1)])
    library.put_sidecar(one, "meta", json.dumps({"items_per_step.tokens": "7000", "gpus.0.power_limit_w": "450"}))
    at = dashboard("energy", report=one, gpu="1", flops="1.4e14")
    assert not at.exception
    assert not at.error
    shown = facts(at)
    assert (shown["Energy per step"], shown["TFLOP/J"], shown["Tokens/J"]) == ("70.00 ± 0.00 J", "2", "100")
    assert "the log covers 90.0 % of the selection" in texts(at).replace("\\", "")
    assert list(at.dataframe[0].value["gpu_id"]) == [0, 1]
    for element in [*at.markdown, *at.caption]:
        assert "<script>" not in element.value


def test_a_log_of_another_time_or_machine(dashboard: Dashboard, library: Library, publish: Publish) -> None:
    one = report(publish, [("step_0", 100, 200)], gpus=("a",))
    put_log(library, one, at_once([(5000.0, 0.0), (5100.0, 10.0), (5200.0, 40.0)], 50, 500))
    at = dashboard("energy", report=one)
    assert not at.exception
    assert facts(at)["Energy"] == "–"
    assert "none of the selection" in texts(at)
    put_log(library, one, at_once([(0.0, 0.0), (100.0, 10.0)], 50, 500, uuid="GPU-other"))
    at = dashboard("energy", report=one)
    assert not at.exception
    assert "no readings for the GPUs of this report" in texts(at)


def test_the_chart_has_the_limit_the_spread_of_a_bin_and_ranges_cut_at_the_window() -> None:
    times = [0, 10_000_000, 20_000_000]
    rows = pd.DataFrame({"time_ns": times, "power_w": 100.0, "lowest_w": 90.0, "highest_w": 120.0, "readings": 2})
    rows = rows.assign(sm_clock_mhz=1980.0, memory_clock_mhz=float("nan"), temperature_c=None, gpu_utilisation_pct=50.0)
    rows = rows.assign(memory_utilisation_pct=5.0, window_start_ns=5_000_000, window_end_ns=15_000_000)
    ends = {"start_ns": [0], "end_ns": [10_000_000]}
    bands = pd.DataFrame({"path": ["a/<b>"], "name": ["<b>"], "on_gpu": [True], **ends})
    figure = charts.plot_power(rows, bands, 150.0, "dark")
    (line,) = figure.layout.shapes
    assert (line.y0, line.y1) == (150, 150)
    (bar,) = [trace for trace in figure.data if trace.type == "bar"]
    assert (bar.base[0], bar.x[0], bar.text[0]) == (5, 5, "&lt;b&gt;")
    assert [trace.fill for trace in figure.data if trace.type == "scatter" and trace.fill] == ["tonexty"]
    assert not charts.plot_power(rows.assign(readings=1), bands[:0], None, "light").layout.shapes
