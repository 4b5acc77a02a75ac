"""The figures behind the selection bar, and the words of its picker."""

import pytest

from app.selection import page_selection
from app.selection.range_picker import format_range, group_by_name
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import of
from tests.app.test_selection_bar import TRAINING, numbers


def test_the_modes_differ_in_the_sample(library: Library) -> None:
    report_id = of(library, TRAINING)
    assert numbers(library, report_id, "process_range") > numbers(library, report_id, "thread_range")


def test_attribution_adds_up_to_the_report(library: Library) -> None:
    report_id = of(library, TRAINING)
    rows = analysis.run(library, report_id, "attribution").set_index("category")
    whole = analysis.query(
        library,
        report_id,
        "SELECT count(*) AS n, sum(end_ns - start_ns) AS ns, count(*) FILTER (thread_range IS NOT NULL) AS own FROM"
        " (SELECT start_ns, end_ns, thread_range FROM kernel UNION ALL"
        " SELECT start_ns, end_ns, thread_range FROM memop)",
    ).iloc[0]
    assert list(rows.index) == ["attributed", "inferred", "unattributed"]
    assert rows["operations"].sum() == whole["n"]
    assert rows["gpu_ns"].sum() == whole["ns"]
    assert rows["operations"]["attributed"] == whole["own"]


def test_names_of_ranges_with_their_instances() -> None:
    assert [format_range("a", *ends, 5) for ends in ((1, 5), (2, 2), (2, 4))] == ["a", "a#2", "a#2-4"]
    assert page_selection.milliseconds(1) == "0.000001"
    assert page_selection.milliseconds(100_000_000) == "100"
    assert page_selection.milliseconds(1_500_000) == "1.5"


def test_names_that_are_paths_are_listed_only_where_they_mean_the_same(library: Library) -> None:
    tree = analysis.run(library, of(library, TRAINING), "nvtx_tree", {"mode": "process"})
    rows = group_by_name(tree).set_index("text")
    assert rows["paths"]["backward"] == tree["name"].eq("backward").sum()
    assert rows["instances"]["backward"] == tree.loc[tree["name"] == "backward", "instances"].sum()
    assert rows["paths"]["step_1"] == 1


def test_busy_shares_are_of_the_time_that_the_selection_covers(library: Library) -> None:
    report_id = of(library, TRAINING)
    length = analysis.query(library, report_id, "SELECT duration_ns FROM capture_window").iloc[0, 0]
    assert analysis.run(library, report_id, "gpu_busy")["capture_ns"][0] == length
    chosen = {"range": "backward", "mode": "process", "warmup": "exclude"}
    row = analysis.run(library, report_id, "gpu_busy", chosen).iloc[0]
    window = analysis.run(library, report_id, "selection_summary", chosen)["window_ns"][0]
    assert row["capture_ns"] == window < length
    assert row["busy_pct"] == pytest.approx(100 * row["busy_ns"] / window)
    timeline = analysis.run(library, report_id, "busy_timeline", chosen)
    assert timeline["busy_ns"].sum() == row["busy_ns"]
    assert 0 < timeline["start_ns"].min() < timeline["end_ns"].max() <= length
    cut = analysis.run(library, report_id, "gpu_busy", {"from_ns": 410_000_000, "to_ns": 410_000_100}).iloc[0]
    assert not cut["busy_pct"] > 100


def test_what_can_be_chosen(library: Library) -> None:
    report_id = of(library, TRAINING)
    paths = analysis.run(library, report_id, "range_paths")
    counted = analysis.query(
        library, report_id, "SELECT count(DISTINCT path_id) AS paths, count(*) AS n FROM range"
    ).iloc[0]
    assert (len(paths), paths["instances"].sum()) == (counted["paths"], counted["n"])
    assert paths.loc[paths["is_warmup"], "name"].unique().tolist() == ["warmup"]
    assert (paths["most"] <= paths["instances"]).all()
    devices = analysis.run(library, report_id, "devices")
    whole = analysis.run(library, report_id, "selection_summary").iloc[0]
    assert devices["operations"].sum() == whole["operations"] == whole["report_operations"]
    assert devices["gpu_ns"].sum() == whole["gpu_ns"] == whole["report_gpu_ns"]
    assert whole["window_ns"] == whole["capture_ns"]
