"""The page "Kernel profiles": a launch of a full report, of a partial one and of printed text."""

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import pytest

from app.views.kernel_profiles import charts, compare, occupancy, sentences
from ingest.formats import ncu_csv, ncu_report
from ingest.ncu import wheel
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import CORPUS, HOSTILE, Open, nothing, of, plain_texts
from tests.support.page_reports import Publish, empty

PARTS = ("Speed of light", "What warps wait for", "Occupancy", "Memory", "Launch", "Instruction mix")


@pytest.fixture
def publish(library: Library, tmp_path: Any) -> Publish:
    """Adds a Compute report to the dashboard's library; ``fill`` writes it."""

    def publish_(fill: Callable[[duckdb.DuckDBPyConnection], None], name: str) -> str:
        report_id = f"{len(library.list()):016x}"
        with store.create(tmp_path / f"{report_id}.duckdb", ready=empty()) as db:
            fill(db)
            if not db.execute("SELECT 1 FROM report").fetchone():
                db.execute("INSERT INTO report (kind) VALUES ('ncu')")
        manifest = Manifest(report_id, SCHEMA_VERSION, name, "ncu", report_id, 1, rows={"ncu_launch": 1})
        library.publish(tmp_path / f"{report_id}.duckdb", manifest)
        return report_id

    return publish_


@pytest.fixture
def stranger(publish: Publish, tmp_path: Any) -> Callable[[str], str]:
    """Takes in a report that strangers published."""

    def add(name: str) -> str:
        source = CORPUS / name
        if not source.is_file():
            pytest.skip(f"{name} lies in ../shared/corpus")
        module: Any = ncu_csv if source.suffix == ".csv" else ncu_report
        if module is ncu_report and not wheel.is_available():
            pytest.skip("the ncu-report wheel does not exist for this platform")
        convert = module.convert
        return publish(lambda db: convert(source, db, tmp_path), name)

    return add


def test_a_full_report(page: Open, library: Library) -> None:
    at = page("kernel_profiles", of(library, "transformer_inference.ncu-rep"), launch="0")
    said = plain_texts(at)
    assert all(f"**{part}**" in said for part in PARTS)
    assert "**Latency bound: compute 17.5 %, memory 59.8 % of peak;" in said
    assert (
        "Limited by registers (168 per thread) and by shared memory (214 KB per block): 1 block fits on an SM" in said
    )
    assert "Long scoreboard**: Warps wait for data" in said
    assert "Share of the 12.7 cycles" in said
    assert "Capture with" not in said
    assert len(at.get("plotly_chart")) == 9
    assert "verbatim" in plain_texts(
        page("kernel_profiles", of(library, "transformer_inference.ncu-rep"), launch="0", show="Rules")
    )


def test_estimates_of_rules_say_what_the_roof_leaves(page: Open, library: Library) -> None:
    """The sum of the samples runs at 94.5 % of the memory's bandwidth."""
    said = plain_texts(page("kernel_profiles", of(library, "kernels.ncu-rep"), launch="1", show="Rules"))
    assert "estimated speed-up of the kernel **74.5 %**  ·  the roof leaves 5.5 %" in said
    assert "**94.4 %**  ·  only for memory that is allocated as compressible" in said


@pytest.mark.slow("converts another report and draws it")
def test_a_partial_report_says_which_sections_it_lacks(page: Open, stranger: Callable[[str], str]) -> None:
    said = plain_texts(page("kernel_profiles", stranger("transpose_partial_4090.ncu-rep"), launch="0"))
    for section in ("SpeedOfLight", "WarpStateStats", "ComputeWorkloadAnalysis"):
        assert f"ncu --section {section} -o report" in said
    assert said.count("speed of light was not collected") == 1
    assert "6 blocks fit on an SM, 48 of 48 warps" in said


def test_printed_text(page: Open, stranger: Callable[[str], str]) -> None:
    said = plain_texts(page("kernel_profiles", stranger("details_page_v100.csv"), launch="0"))
    assert "**Latency bound: compute 3.7 %, memory 3.4 % of peak, grid too small: 0.07 waves.**" in said
    assert "Limited by registers (40 per thread): 6 blocks fit on an SM, 48 of 64 warps." in said
    for section in ("WarpStateStats", "Occupancy", "MemoryWorkloadAnalysis_Tables", "ComputeWorkloadAnalysis"):
        assert f"ncu --section {section} -o report" in said


def test_a_launch_with_nothing_but_a_name(page: Open, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (0, ?)", [HOSTILE])

    report_id = publish(fill, "bare.ncu-rep")
    at = page("kernel_profiles", report_id)
    said = plain_texts(at)
    for section in dict.fromkeys(sentences.SECTIONS.values()):
        assert f"--section {section}" in said
    assert not at.get("plotly_chart")
    for element in [*at.header, *at.subheader, *at.markdown, *at.caption]:
        assert "<script>" not in element.value
        assert ":red[" not in element.value
    at = page("kernel_profiles", report_id, show="Compare")
    assert "This report has no other launch" in at.info[-1].value


def test_compare_with_a_launch_of_this_report(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_inference.ncu-rep")
    assert "Choose a launch" in page("kernel_profiles", report_id, launch="0", show="Compare").info[-1].value
    at = page("kernel_profiles", report_id, launch="0", show="Compare", other_launch="3")
    assert "the other launch 3" in plain_texts(at)
    figures = {str(name): row.to_list() for name, row in at.table[0].value.iterrows()}
    assert figures["Duration"] == [r"18\.3 µs", r"17\.6 µs", r"\+672 ns", r"\+3\.8 %"]
    metrics = at.dataframe[1].value
    assert metrics["relative_pct"].dropna().abs().is_monotonic_decreasing
    assert (
        "Choose a launch"
        in page("kernel_profiles", report_id, launch="0", show="Compare", other_launch="0").info[-1].value
    )


def test_compare_with_another_report(page: Open, library: Library) -> None:
    mine, other = of(library, "transformer_inference.ncu-rep"), of(library, "transformer_training.ncu-rep")
    at = page(
        "kernel_profiles", mine, launch="0", show="Compare", other=other, other_launch="1", metric="Sm__Throughput"
    )
    assert "the other launch 1" in plain_texts(at)
    assert at.dataframe[1].value["name"].str.contains("sm__throughput").all()
    assert at.selectbox(key="select-other").value == other
    at.selectbox(key="select-other").set_value(mine).run()
    assert at.query_params["other"] == mine
    assert "other_launch" not in at.query_params
    gone = page("kernel_profiles", mine, launch="0", show="Compare", other="nonsense")
    assert "no longer in the library" in gone.info[0].value


def test_differences_of_metrics() -> None:
    mine = pd.DataFrame({"name": ["a", "b", "c", "t"], "unit": "", "value": [2.0, 5.0, 1.0, None]})
    theirs = pd.DataFrame({"name": ["a", "b", "d"], "unit": "", "value": [1.0, 0.0, 7.0]})
    rows = compare.join_differences(mine, theirs).astype(object).where(lambda frame: frame.notna(), None)
    assert rows[["name", "value", "other", "difference", "relative_pct"]].to_numpy().tolist() == [
        ["a", 2, 1, 1, 100],
        ["b", 5, 0, 5, None],
        ["c", 1, None, None, None],
        ["d", None, 7, None, None],
    ]


def test_words_of_the_limiter() -> None:
    row = pd.Series(
        {
            "limiter": "warps, blocks", "limit_blocks": 2.0, "theoretical_warps": 32.0, "max_warps": 64.0,
            "warps_per_block": 16, "registers": 20, "theoretical_pct": 50.0, "achieved_pct": 39.9,
            "shared_static_bytes": None, "shared_dynamic_bytes": None, "shared_driver_bytes": 1024,
        }
    )  # fmt: skip
    assert occupancy.describe_limit(row) == (
        "Limited by the block size (16 warps) and by blocks per SM: 2 blocks fit on an SM, 32 of 64 warps."
    )
    assert "10.1 points below" in occupancy.explain_shortfall(row)
    row["achieved_pct"] = 40.0
    assert occupancy.explain_shortfall(row) == ""


def test_every_stall_has_words() -> None:
    assert set(sentences.STALLS) == set(sentences.STALL_TITLES)
    assert sentences.get_stall_title("new_reason") == "New reason"


def test_charts_escape_names() -> None:
    bars = charts.plot_bars([charts.Bar(HOSTILE, 20.0, HOSTILE)], "dark")
    assert "<script>" not in bars.to_json()
    points = pd.DataFrame({"x": [1, 2], "occupancy_pct": [50.0, 25.0], "is_current": [False, True]})
    figure = charts.plot_curve(points, HOSTILE, HOSTILE, "light")
    assert "<script>" not in figure.to_json()
    assert list(figure.data[1].x) == [2]


def test_an_empty_compute_report(page: Open, publish: Publish) -> None:
    at = page("kernel_profiles", publish(nothing, "empty.ncu-rep"))
    assert "No profiled kernels in this report." in plain_texts(at)


@pytest.mark.slow("draws eight pages")
def test_compute_launches(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_training.ncu-rep")
    assert "Select a launch" in page("kernel_profiles", report_id).info[-1].value
    for part in ("Sections", "Rules", "All metrics"):
        at = page("kernel_profiles", report_id, launch="0", show=part)
        assert "Launch 0" in plain_texts(at)
    found = page("kernel_profiles", report_id, launch="0", show="All metrics", metric="DRAM__bytes")
    assert found.dataframe[1].value["name"].str.contains("dram__bytes").all()
    for wrong in ("99999", "x", "-1"):
        assert "Select a launch" in page("kernel_profiles", report_id, launch=wrong).info[-1].value


def test_a_launch_without_speed_of_light(page: Open, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (0, 'f(int)')")

    at = page("kernel_profiles", publish(fill, "bare.ncu-rep"), show="Sections")
    said = plain_texts(at)
    assert "speed of light was not collected" in said
    assert "No sections in this report" in said
    assert {metric.value for metric in at.metric} == {"–", "not measured"}


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
    assert sentences.format_quantity(value, unit, text) == shown
