"""The pages of a report: what they say of real reports, of one that lacks everything, and of hostile names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.ui import charts
from app.views.kernel_profiles.sentences import format_quantity
from app.views.summary.kernels import describe_others
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import MAIN, at_page
from tests.support.page_reports import empty, of_kind

HOSTILE = "<script>alert(1)</script>$x$ **b** [c](http://d) :red[e]"
Open = Callable[..., AppTest]
Publish = Callable[..., str]


@pytest.fixture
def page() -> Open:
    """Draws one page of a report at an address."""

    def open_(name: str, report_id: str, **query: str) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=60)
        for key, value in {"report": report_id, **query}.items():
            at.query_params[key] = value
        at = at_page(at, name).run()
        assert not at.exception
        return at

    return open_


@pytest.fixture
def publish(library: Library, tmp_path: Path) -> Publish:
    """Adds a small report to the dashboard's library; ``fill`` writes it."""

    def publish_(fill: Callable[[duckdb.DuckDBPyConnection], None], kind: str = "nsys", name: str = "small") -> str:
        report_id = f"{len(library.list()):016x}"
        path = tmp_path / f"{report_id}.duckdb"
        with store.create(path, ready=empty()) as db:
            db.execute(
                "INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES (?, 0, 1000000, 1000000)", [kind]
            )
            fill(db)
        library.publish(path, Manifest(report_id, SCHEMA_VERSION, name, kind, report_id, 1, rows=of_kind(kind)))
        return report_id

    return publish_


def texts(at: AppTest) -> str:
    """All that a page says outside its tables."""
    kinds: tuple[Any, ...] = (at.header, at.subheader, at.markdown, at.caption, at.info, at.error, at.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def of(library: Library, name: str) -> str:
    """A report by file name."""
    found = [r.id for r in library.list() if r.name == name]
    if not found:
        pytest.skip(f"{name} is neither in sample_reports/ nor in ../shared/corpus")
    return found[0]


def nothing(_: duckdb.DuckDBPyConnection) -> None:
    """A report without any table."""


def hostile(db: duckdb.DuckDBPyConnection) -> None:
    """Two launches of a kernel whose name is an attack, on a GPU of which nothing else is known."""
    db.execute("INSERT INTO kernel_name VALUES (1, ?, ?, NULL, 'other')", [HOSTILE, HOSTILE])
    db.execute(
        "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, stream_id, name_id, grid_x, grid_y, grid_z,"
        " block_x, block_y, block_z) SELECT i, i * 1000, i * 1000 + 500, 0, 1, 1, 1, 1, 1, 32, 1, 1 FROM range(2) t(i)"
    )
    db.execute("INSERT INTO busy VALUES (0, 0, 500), (0, 1000, 1500)")
    db.execute("INSERT INTO diagnostic (severity, source, text) VALUES ('error', 'X', ?)", [HOSTILE])


def test_overview_of_a_training(page: Open, library: Library) -> None:
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


def test_kernels_filter_from_the_address(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    every = page("kernels", report_id).dataframe[0].value
    some = page("kernels", report_id, search="SOFTMAX").dataframe[0].value
    assert 0 < len(some) < len(every)
    assert set(some["name"]) <= set(every["name"])
    none = page("kernels", report_id, search="no such kernel")
    assert "No kernels match" in none.info[0].value
    assert len(page("kernels", report_id, **{"class": "nonsense"}).dataframe[0].value) == len(every)


def test_kernel_page(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    at = page("kernel", report_id)
    assert "number 1 of" in texts(at)
    assert at.button(key="previous_kernel").disabled
    shapes = next(one.value for one in at.dataframe if "occupancy_pct" in one.value)
    assert shapes["occupancy_pct"].between(0, 100).all()
    assert "no such kernel" in page("kernel", report_id, kernel="987654").info[0].value
    assert "no such kernel" in page("kernel", report_id, kernel="1; DROP TABLE kernel").info[0].value


def test_an_empty_report_says_what_to_capture(page: Open, publish: Publish) -> None:
    report_id = publish(nothing)
    for name in ("summary", "kernels", "kernel"):
        at = page(name, report_id)
        assert "No CUDA kernels in this report." in texts(at).replace("\\", "")
        assert not at.dataframe
        assert not at.metric


def test_an_empty_compute_report(page: Open, publish: Publish) -> None:
    at = page("kernel_profiles", publish(nothing, "ncu"))
    assert "No profiled kernels in this report." in texts(at).replace("\\", "")


def test_hostile_names_stay_text(page: Open, publish: Publish) -> None:
    report_id = publish(hostile)
    for name in ("summary", "kernel"):
        at = page(name, report_id)
        for element in [*at.header, *at.subheader, *at.markdown, *at.caption]:
            drawn = re.sub(r"`+[^`]*`+", "", element.value)  # between backticks nothing is read as Markdown
            assert "<script>" not in drawn
            assert "](http" not in drawn
            assert ":red[" not in drawn
    at = page("kernel", report_id)
    assert "too little about its GPU" in texts(at)
    assert HOSTILE in [code.value for code in at.code]


def test_compute_launches(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.ncu-rep")
    assert "Select a launch" in page("kernel_profiles", report_id).info[-1].value
    for part in ("Sections", "Rules", "All metrics"):
        at = page("kernel_profiles", report_id, launch="0", show=part)
        assert "Launch 0" in texts(at)
    found = page("kernel_profiles", report_id, launch="0", show="All metrics", metric="DRAM__bytes")
    assert found.dataframe[1].value["name"].str.contains("dram__bytes").all()
    for wrong in ("99999", "x", "-1"):
        assert "Select a launch" in page("kernel_profiles", report_id, launch=wrong).info[-1].value


def test_a_launch_without_speed_of_light(page: Open, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (0, 'f(int)')")

    at = page("kernel_profiles", publish(fill, "ncu"), show="Sections")
    said = texts(at)
    assert "speed of light was not collected" in said
    assert "No sections in this report" in said
    assert {metric.value for metric in at.metric} == {"–", "not measured"}


def test_the_share_of_other_is_said() -> None:
    rows = pd.DataFrame({"class": ["matmul", "other"], "total_ns": [990, 10], "share_pct": [99.0, 1.0]})
    names = {"name": ["gemm", "a`b", "c", "d", "e"], "share_pct": [99.0, 0.7, 0.2, 0.05, 0.05]}
    kernels = pd.DataFrame(names | {"class": ["matmul", *["other"] * 4]})
    assert describe_others(rows, kernels) == (
        "1.00 µs of kernel time; 1.0 % is in kernels without a class (Other):"
        " ``a`b`` (0.7 %), `c` (0.2 %), `d` (0.1 %) and 1 more."
    )
    assert "all classified" in describe_others(rows.head(1), kernels)


@pytest.mark.parametrize(
    ("value", "unit", "text", "shown"),
    [
        (1.9549e9, "hz", None, "1.95 GHz"),
        (41.772, "%", None, "41.77 %"),
        (14880, "ns", None, "14.9 µs"),
        (854e9, "byte/s", None, "854 GB/s"),
        (1024, "byte/block", None, "1.02 KB / block"),
        (29177, "cycle", None, "29,177 cycle"),
        (2.585859, "", None, "2.59"),
        (None, "%", None, "–"),
        (float("nan"), None, "CachePreferNone", "CachePreferNone"),
    ],
)
def test_quantities(value: float | None, unit: str | None, text: str | None, shown: str) -> None:
    assert format_quantity(value, unit, text) == shown


def test_charts_escape_names_and_stay_small() -> None:
    figure = charts.share_bar([charts.Part(HOSTILE, 60, HOSTILE, "#112233")], "dark")
    assert "<script>" not in figure.to_json()
    assert "$x$" not in figure.to_json()
    rows = pd.DataFrame({"since_start_ns": [0, 10], "duration_ns": [5, 7], "gpu_id": [0, 0], "stream": [1, 1]})
    assert len(charts.plot_over_time(rows, "light", log=False).data[0].x) == 2


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (1000, 1032), (1, 1e9), (500, 90_000), (1e6, 1e7)])
def test_ticks_are_few_and_inside(low: float, high: float, log: bool) -> None:
    ticks = charts.choose_ticks(low, high, log=log)
    assert len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)
    assert len(charts.choose_ticks(100, 200_000, log=True)) >= 4


def test_calls_of_a_report_without_kernels_are_on_the_overview(page: Open, library: Library) -> None:
    found = [one for one in library.list() if one.name == "wsl2_no_kernels.nsys-rep"]
    if not found:
        pytest.skip("no ../shared/corpus here")
    at = page("summary", found[0].id)
    assert "CUDA API calls" in [element.value for element in at.subheader]
    assert at.dataframe[0].value["total_ns"].is_monotonic_decreasing
    assert f"{found[0].rows['api_call']:,} calls recorded" in texts(at)
    assert not [code.value for code in at.code if code.value.startswith("warpdeck profile -- ")], "it was used"
    assert "profile on native Linux" in texts(at)
