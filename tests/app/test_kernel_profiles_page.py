"""The page "Kernel profiles": what it says of a launch of a full report, of a partial one and of printed text."""

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.views.kernel_profiles import charts, compare, occupancy, sentences
from ingest.formats import ncu_csv, ncu_report
from ingest.ncu import wheel
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import CORPUS, MAIN, at_page
from tests.support.page_reports import empty

HOSTILE = "<script>alert(1)</script>$x$ **b** [c](http://d) :red[e]"
PARTS = ("Speed of light", "What warps wait for", "Occupancy", "Memory", "Launch", "Instruction mix")
Open = Callable[..., AppTest]
Publish = Callable[..., str]


@pytest.fixture
def page() -> Open:
    """Draws the page of a report at an address."""

    def open_(report_id: str, **query: str) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=60)
        for key, value in {"report": report_id, **query}.items():
            at.query_params[key] = value
        at = at_page(at, "kernel_profiles").run()
        assert not at.exception
        return at

    return open_


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


def texts(at: AppTest) -> str:
    """All that a page says outside its tables and charts, without what keeps it from being Markdown."""
    kinds: tuple[Any, ...] = (at.header, at.subheader, at.markdown, at.caption, at.info, at.error, at.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def of(library: Library, name: str) -> str:
    return next(r.id for r in library.list() if r.name == name)


def test_a_full_report(page: Open, library: Library) -> None:
    at = page(of(library, "transformer_inference.ncu-rep"), launch="0")
    said = texts(at)
    assert all(f"**{part}**" in said for part in PARTS)
    assert "**Latency bound: compute 17.5 %, memory 59.8 % of peak;" in said
    assert (
        "Limited by registers (168 per thread) and by shared memory (214 KB per block): 1 block fits on an SM" in said
    )
    assert "Long scoreboard**: Warps wait for data" in said
    assert "Share of the 12.7 cycles" in said
    assert "Capture with" not in said
    assert len(at.get("plotly_chart")) == 9
    assert "verbatim" in texts(page(of(library, "transformer_inference.ncu-rep"), launch="0", show="Rules"))


def test_estimates_of_rules_say_what_the_roof_leaves(page: Open, library: Library) -> None:
    """The sum of the samples runs at 94.5 % of the memory's bandwidth."""
    said = texts(page(of(library, "kernels.ncu-rep"), launch="1", show="Rules"))
    assert "estimated speed-up of the kernel **74.5 %**  ·  the roof leaves 5.5 %" in said
    assert "**94.4 %**  ·  only for memory that is allocated as compressible" in said


def test_a_partial_report_says_which_sections_it_lacks(page: Open, stranger: Callable[[str], str]) -> None:
    said = texts(page(stranger("transpose_partial_4090.ncu-rep"), launch="0"))
    for section in ("SpeedOfLight", "WarpStateStats", "ComputeWorkloadAnalysis"):
        assert f"ncu --section {section} -o report" in said
    assert said.count("speed of light was not collected") == 1
    assert "6 blocks fit on an SM, 48 of 48 warps" in said


def test_printed_text(page: Open, stranger: Callable[[str], str]) -> None:
    said = texts(page(stranger("details_page_v100.csv"), launch="0"))
    assert "**Latency bound: compute 3.7 %, memory 3.4 % of peak, grid too small: 0.07 waves.**" in said
    assert "Limited by registers (40 per thread): 6 blocks fit on an SM, 48 of 64 warps." in said
    for section in ("WarpStateStats", "Occupancy", "MemoryWorkloadAnalysis_Tables", "ComputeWorkloadAnalysis"):
        assert f"ncu --section {section} -o report" in said


def test_a_launch_with_nothing_but_a_name(page: Open, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (0, ?)", [HOSTILE])

    report_id = publish(fill, "bare.ncu-rep")
    at = page(report_id)
    said = texts(at)
    for section in dict.fromkeys(sentences.SECTIONS.values()):
        assert f"--section {section}" in said
    assert not at.get("plotly_chart")
    for element in [*at.header, *at.subheader, *at.markdown, *at.caption]:
        assert "<script>" not in element.value
        assert ":red[" not in element.value
    at = page(report_id, show="Compare")
    assert "This report has no other launch" in at.info[-1].value


def test_compare_with_a_launch_of_this_report(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_inference.ncu-rep")
    assert "Choose a launch" in page(report_id, launch="0", show="Compare").info[-1].value
    at = page(report_id, launch="0", show="Compare", other_launch="3")
    assert "the other launch 3" in texts(at)
    figures = {str(name): row.to_list() for name, row in at.table[0].value.iterrows()}
    assert figures["Duration"] == [r"18\.3 µs", r"17\.6 µs", r"\+672 ns", r"\+3\.8 %"]
    metrics = at.dataframe[1].value
    assert metrics["relative_pct"].dropna().abs().is_monotonic_decreasing
    assert "Choose a launch" in page(report_id, launch="0", show="Compare", other_launch="0").info[-1].value


def test_compare_with_another_report(page: Open, library: Library) -> None:
    mine, other = of(library, "transformer_inference.ncu-rep"), of(library, "transformer_training.ncu-rep")
    at = page(mine, launch="0", show="Compare", other=other, other_launch="1", metric="Sm__Throughput")
    assert "the other launch 1" in texts(at)
    assert at.dataframe[1].value["name"].str.contains("sm__throughput").all()
    assert at.selectbox(key="select-other").value == other
    at.selectbox(key="select-other").set_value(mine).run()
    assert at.query_params["other"] == mine
    assert "other_launch" not in at.query_params
    gone = page(mine, launch="0", show="Compare", other="nonsense")
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
