"""The page "Ranges": real reports, one without GPU activity, and hostile names."""

import base64
import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.ui import icicle as boxes
from app.ui.icicle import Node
from app.views.ranges import charts, icicle, steps
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import HOSTILE, Dashboard, of, plain_texts
from tests.conftest import CORPUS
from tests.support import exports

STEPS = """
    SELECT end_ns - start_ns AS ns FROM range JOIN range_name USING (name_id)
    WHERE regexp_full_match(name, 'step_[0-9]+') ORDER BY start_ns
"""
Publish = Callable[..., str]


@pytest.fixture
def publish(library: Library, tmp_path: Path) -> Publish:
    """Adds a capture of ranges alone to the dashboard's library: name, begin and end of each."""

    def publish_(*ranges: tuple[str, int, int]) -> str:
        nvtx = [(start, end, 59, name, None, exports.MAIN, 0) for name, start, end in ranges]
        path = exports.write(tmp_path / "ranges.sqlite", {"NVTX_EVENTS": (exports.NVTX, nvtx)})
        database = tmp_path / "ranges.duckdb"
        with exports.loaded(database, path):
            pass
        manifest = Manifest("f" * 16, SCHEMA_VERSION, "ranges.sqlite", "nsys", "0", 1)
        library.publish(database, manifest)
        return manifest.id

    return publish_


def metric(at: AppTest, label: str) -> list[str]:
    return [m.value.replace("\\", "") for m in at.metric if m.label == label]


def test_a_training(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("ranges", report=of(library, "transformer_training.nsys-rep"))
    assert not at.exception
    assert not at.error
    for part in ("Time by range", "Tree", "Range step_", "Steps", "Ranges step_* (5 steps)", "Kernels"):
        assert part in plain_texts(at)
    tree, kernels, steps = (frame.value for frame in at.dataframe[:3])
    assert {"gpu_ns", "busy_ns", "operations"} <= set(tree.columns)
    assert {"step_0", "step_4"} <= set(tree["tree"].str.strip())
    assert kernels["share_pct"].is_monotonic_decreasing
    assert list(steps["name"]) == [f"step_{i}" for i in range(5)]
    assert metric(at, "Steps") == ["5"]


def test_the_address_says_what_is_shown(dashboard: Dashboard, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    at = dashboard("ranges", report=report_id, path="step_1/forward", levels="All")
    assert "Range forward" in plain_texts(at)
    assert "step_1/forward" in plain_texts(at)
    assert len(at.dataframe[0].value) == int(metric(at, "Paths")[0])
    found = dashboard("ranges", report=report_id, find="SOFTMAX").dataframe[0].value
    assert found["tree"].str.contains("computing_softmax").all()
    assert found["tree"].str.startswith("step_").all()
    nothing = dashboard("ranges", report=report_id, find="no such range")
    assert "No range name contains this text" in plain_texts(nothing)
    wrong = dashboard("ranges", report=report_id, path="no/such")
    assert "The range no/such is not in this selection" in plain_texts(wrong)
    assert "Range step_" in plain_texts(wrong)


def test_a_name_means_all_its_paths(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("ranges", report=of(library, "transformer_training.nsys-rep"), path="backward")
    assert "All 5 paths that end with this name" in plain_texts(at)
    assert "Time per instance" in plain_texts(at)
    assert metric(at, "Instances") == ["5"]


def test_the_selection_holds(dashboard: Dashboard, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    at = dashboard("ranges", report=report_id, range="step_1")
    assert not at.exception
    assert at.dataframe[0].value["tree"].iloc[0] == "step_1"
    assert "No steps were recognized" in plain_texts(at)


@pytest.mark.slow("draws a whole page in both modes")
def test_the_mode_decides_what_a_range_holds(dashboard: Dashboard, library: Library) -> None:
    report_id = of(library, "transformer_training.nsys-rep")
    thread = dashboard("ranges", report=report_id, path="step_1", mode="thread")
    process = dashboard("ranges", report=report_id, path="step_1")
    assert int(metric(thread, "Operations")[0]) < int(metric(process, "Operations")[0])
    assert "counted in both" in plain_texts(process)
    assert "counted in both" not in plain_texts(thread)


def test_without_nvtx(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("ranges", report=of(library, "streams_4090.nsys-rep"))
    assert "No NVTX ranges in this report." in plain_texts(at)
    assert not at.dataframe


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_a_report_of_wsl2(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("ranges", report=of(library, "wsl2_no_kernels.nsys-rep"))
    assert not at.exception
    assert "No NVTX ranges in this report." in plain_texts(at)


def test_the_host_alone(dashboard: Dashboard, publish: Publish) -> None:
    steps = [("step", 1000 * i, 1000 * i + (900 if i == 0 else 500)) for i in range(6)]
    at = dashboard("ranges", report=publish(*steps, ("step/2", 6000, 6100)))
    assert not at.exception
    assert "Only CPU times. No CUDA kernels in this report." in plain_texts(at)
    assert not {"gpu_ns", "busy_ns", "busy_pct", "operations"} & set(at.dataframe[0].value.columns)
    assert "1 of 6 instances looks like warm-up. Without it the median is 500 ns" in plain_texts(at)
    assert "The first step takes 1.80 times the median of the rest." in plain_texts(at)
    assert "Times are CPU times" in plain_texts(at)
    assert {"GPU time", "GPU busy", "Operations"}.isdisjoint(m.label for m in at.metric)


def test_hostile_names_stay_text(dashboard: Dashboard, publish: Publish) -> None:
    report_id = publish(*[(f"{HOSTILE} {i}", 100 * i, 100 * i + 90) for i in range(4)], ("b\nc\u202e", 1000, 2000))
    for path in (f"{HOSTILE} 2", HOSTILE):
        at = dashboard("ranges", report=report_id, path=path)
        assert not at.exception
        for element in [*at.header, *at.subheader, *at.markdown, *at.caption, *at.info]:
            for bad in ("<script>", "](http", ":red["):
                assert bad not in element.value


def tree(*rows: tuple[int, int | None, float, float]) -> pd.DataFrame:
    """Rows of ``nvtx_tree``: number, parent, time on the GPU, and that of all paths inside it."""
    return pd.DataFrame(
        {
            "path_id": pd.array([row[0] for row in rows], dtype="Int64"),
            "parent_id": pd.array([row[1] for row in rows], dtype="Int64"),
            "level": [0 if row[1] is None else 1 for row in rows],
            "name": [f"range {row[0]}" for row in rows],
            "instances": 1,
            "operations": 1,
            "children": [3 if row[3] else 0 for row in rows],
            **{key: [row[2] for row in rows] for key in ("busy_ns", "gpu_ns", "cpu_ns")},
            **{key: [row[3] for row in rows] for key in ("inside_busy_ns", "inside_gpu_ns")},
            "self_ns": [row[2] - row[3] for row in rows],
        }
    )


def test_the_icicle_merges_what_is_small() -> None:
    rows = tree((1, None, 1000, 900), (2, 1, 600, 0), (3, 1, 0.1, 0), (4, None, 200, 0))
    facts = pd.Series({"busy_ns": 1500, "gpu_ns": 1500, "cpu_ns": 1500, "operations": 9})
    found = {node.id: node for node in icicle.build_boxes(rows, facts, "busy_ns")}
    assert set(found) == {"all", "all-other", "1", "1-other", "2", "4"}
    assert (found["1"].own, found["2"].own, found["1-other"].own, found["all-other"].own) == (100, 600, 300, 300)
    assert "2 smaller paths" in found["1-other"].hover
    assert sum(node.own for node in found.values()) == 1500


def test_the_icicle_keeps_to_its_number() -> None:
    rows = tree((0, None, 10_000, 9_990), *[(i, 0, 11, 0) for i in range(1, 900)])
    facts = pd.Series({"busy_ns": 10_000, "gpu_ns": 10_000, "cpu_ns": 10_000, "operations": 9})
    found = icicle.build_boxes(rows, facts, "cpu_ns")
    assert len(found) <= icicle.MOST + 2
    assert sum(node.own for node in found) == pytest.approx(10_000)


def test_the_icicle_ends_at_its_deepest_level() -> None:
    """A capture whose ranges are never popped nests hundreds of levels, each as wide as its parent."""
    rows = tree(*[(i, i - 1 if i else None, 1000 - i, 999 - i) for i in range(300)])
    rows["level"] = range(300)
    facts = pd.Series({"busy_ns": 1000, "gpu_ns": 1000, "cpu_ns": 1000, "operations": 9})
    found = icicle.build_boxes(rows, facts, "busy_ns")
    assert max(node.level for node in found) == icicle.DEEPEST + 1
    assert sum(node.own for node in found) == 1000


def test_bars_stand_at_the_numbers_of_the_program(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("ranges", report=of(library, "transformer_steps.nsys-rep"), path="step_1/forward")
    chart = json.loads(next(one.proto.spec for one in at.get("plotly_chart") if "steps-pace" in one.proto.id))
    assert {place for trace in chart["data"] for place in base64.b64decode(trace["x"]["bdata"])} == {0, 1, 2, 3, 4}
    assert chart["layout"]["xaxis"]["title"]["text"] == "Step"
    assert "number" not in at.dataframe[2].value.columns, "the name says it: step_0"


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["step_7", "step_9"], [7, 9]),
        (["step 1/20", "step 2/20"], [1, 2]),
        (["step", "step"], None),
        (["step_1", "step_1"], None),
        (["step_1", "other"], None),
        (["step_1234567890"], None),
    ],
)
def test_numbers_of_steps_are_those_of_their_names(names: list[str], numbers: list[int] | None) -> None:
    assert steps.parse_numbers(pd.Series(names)) == numbers


def test_a_warm_up_is_not_called_as_long_as_the_rest(dashboard: Dashboard, library: Library) -> None:
    """The first step of the sample takes a tenth longer on the CPU, but slightly less on the GPU."""
    report = of(library, "transformer_steps.nsys-rep")
    at = dashboard("ranges", report=report)
    first, *rest = analysis.query(library, report, STEPS)["ns"]
    assert f"The first step takes {first / median(rest):.2f} times the median of the rest on the CPU." in plain_texts(
        at
    )
    assert "1 of 5 steps is treated as warm-up" in plain_texts(at)
    assert "as long as the rest" not in plain_texts(at)


def test_charts_escape_names_and_scale() -> None:
    nodes = [Node("all", "", "All", 0, "", 0), Node("1", "all", HOSTILE, 1, "", 1)]
    assert "<script>" not in boxes.plot_icicle(nodes, "dark").to_json()
    rows = pd.DataFrame({"nth": [1, 2, 3], "number": [1, 2, 3], "thread": "1 / 1", "start_ns": [0, 1, 2]})
    rows = rows.assign(
        name=HOSTILE, cpu_ns=[900, 10, 12], gpu_ns=math.nan, busy_ns=math.nan, operations=math.nan, closed=True
    )
    rows = rows.assign(is_warmup=[True, False, False])
    figure = charts.plot_pace(rows, 11.0, "light")
    assert [trace.name for trace in figure.data] == ["CPU", "CPU, looks like warm-up"]
    assert figure.layout.yaxis.type == "log"
    assert "<script>" not in figure.to_json()
    assert charts.plot_pace(rows.tail(2), 11.0, "light").data[0].type == "bar"
