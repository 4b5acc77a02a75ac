"""The page "Host": flame graph, tables and threads of real reports, and a report without any of these."""

import re

import pandas as pd
import pytest

from app import page_list, session
from app.views.host import flame, openmp, samples, threads
from profiledb.library.library import Library
from tests.app.conftest import HOSTILE, Dashboard, of, plain_texts


def test_a_training_with_cpu_samples(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("host", report=of(library, "transformer_training.nsys-rep"), warmup="include")
    text = plain_texts(at)
    for part in (
        "CPU samples",
        "Threads",
        "OS runtime calls by thread",
        "the launching thread",
        "in functions that only wait",
    ):
        assert part in text
    functions, modules, listed = (at.dataframe[number].value for number in range(3))
    assert functions["self_pct"].sum() == pytest.approx(100)
    assert modules["self_samples"].sum() == functions["self_samples"].sum() == listed["samples"].sum()
    assert "pt_autograd_0" in list(listed["name"])


def test_samples_of_gaps_and_of_a_thread_from_the_address(dashboard: Dashboard, library: Library) -> None:
    report = of(library, "transformer_training.nsys-rep")
    every = dashboard("host", report=report).dataframe[0].value["self_samples"].sum()
    idle = dashboard("host", report=report, moments="idle")
    assert 0 < idle.dataframe[0].value["self_samples"].sum() < every
    assert "taken while the GPU was idle" in plain_texts(idle)
    thread = idle.dataframe[2].value["thread"].iloc[0]
    one = dashboard("host", report=report, thread=thread)
    assert 0 < one.dataframe[0].value["self_samples"].sum() < every
    assert dashboard("host", report=report, thread="nobody").dataframe[0].value["self_samples"].sum() == every


def test_python_functions_that_the_gpu_waits_for(dashboard: Dashboard, library: Library) -> None:
    """In the sample of a starved loader, the GPU waits for the function that prepares images."""
    report = of(library, "host_python.nsys-rep")
    at = dashboard("host", report=report)
    assert re.search(
        r"While the GPU was idle, [\d.]+ % of \d+ Python samples are in `prepare` \(images.py\)", plain_texts(at)
    )
    native = dashboard("host", report=report, source="cpu")
    assert "CPU samples. Width" in plain_texts(native)
    assert "prepare" not in list(native.dataframe[0].value["function"])
    sites = next(frame.value for frame in at.dataframe if "gpu_ns" in frame.value.columns)
    assert "dataloader.py:68" in list(sites["module"])


def test_no_function_is_named_where_none_stands_out() -> None:
    frame = pd.DataFrame({"function": ["f"], "module": [None], "self_samples": [19], "self_pct": [100.0]})
    assert samples.describe_idle_function(frame, "CPU samples") == ""
    assert samples.describe_idle_function(frame.assign(self_samples=38, self_pct=19.0), "CPU samples") == ""
    told = samples.describe_idle_function(frame.assign(self_samples=40, self_pct=50.0, function=HOSTILE), "CPU samples")
    assert told.startswith("While the GPU was idle, 50.0 % of 80 CPU samples are in `<script>")


def test_a_report_without_any_of_it(dashboard: Dashboard, library: Library) -> None:
    report = of(library, "kernels.nsys-rep")
    manifest = library.find(report)
    assert page_list.get_view("host").find_lack(manifest, session)
    text = plain_texts(dashboard("host", report=report))
    assert "No CPU samples in this report." in text


def rows(**columns: object) -> pd.DataFrame:
    base = {"node_id": [1, 2, 3], "parent_id": [None, 1, 2], "level": [0, 1, 2], "function": ["t", HOSTILE, "f"]}
    more = {"module": [None, HOSTILE, None], "samples": [90, 80, 30], "self_samples": [10, 50, 30]}
    return pd.DataFrame(base | more | {"share_pct": [90.0, 80.0, 30.0]} | columns)


def test_boxes_of_the_flame_graph() -> None:
    nodes = {node.id: node for node in flame.build_boxes(rows())}
    assert [(node.parent, node.own) for node in nodes.values()] == [("", 10), ("all", 10), ("1", 50), ("2", 30)]
    assert "<script>" not in nodes["2"].hover
    assert flame.count_samples(rows()) == 100


def test_what_is_too_small_is_left_out_with_all_below_it() -> None:
    tiny = rows(samples=[100_000, 99_999, 1], self_samples=[1, 99_998, 1], share_pct=[100.0, 99.999, 0.001])
    assert [node.id for node in flame.build_boxes(tiny)] == ["all", "1", "2"]


def test_slivers_below_the_last_box_that_can_be_read_are_left_out() -> None:
    thin = rows(samples=[1000, 999, 2], self_samples=[1, 997, 2], share_pct=[100.0, 99.9, 0.2])
    assert [node.id for node in flame.build_boxes(thin)] == ["all", "1", "2"]


def test_sentences_of_threads() -> None:
    frame = pd.DataFrame(
        {
            "thread": ["1 / 1", "1 / 2"], "name": [HOSTILE, None], "role": ["launches", "data loading"],
            "running_ns": [60, None], "blocked_ns": [30, None], "waiting_ns": [10, None], "cuda_ns": [5, None],
        }
    )  # fmt: skip
    first, second = threads.describe_threads(frame)
    assert "runs 60.0 %, is blocked in calls 30.0 % and waits otherwise 10.0 %." in first
    assert "<script>" not in first
    assert second == "Data is loaded in one thread that launches nothing: 1 / 2."


def test_openmp_regions_of_a_report_without_a_gpu(dashboard: Dashboard, library: Library) -> None:
    report = of(library, "openmp_regions.nsys-rep")
    assert not page_list.get_view("host").find_lack(library.find(report), session)
    at = dashboard("host", report=report)
    text = plain_texts(at)
    assert re.search(r"50 regions take 9[\d.]+ ms; their threads work 7[\d.]+ % of it\. Evenly", text)
    rows = next(frame.value for frame in at.dataframe if "imbalance" in frame.value.columns)
    assert rows["range"].iloc[0] == "round_*/unbalanced"
    assert rows["imbalance"].iloc[0] == pytest.approx(1.73, abs=0.01)
    assert not at.exception
    one = dashboard("host", report=report, range="round_3/balanced")
    assert "1 region takes" in plain_texts(one)
    assert "No OpenMP region begins in this selection." in plain_texts(dashboard("host", report=report, to="1"))


def test_openmp_is_no_matter_of_other_reports(dashboard: Dashboard, library: Library) -> None:
    assert "OpenMP" not in plain_texts(dashboard("host", report=of(library, "transformer_training.nsys-rep")))


def test_what_openmp_regions_say_where_threads_are_not_known() -> None:
    names = ("work_ns", "barrier_ns", "lock_ns", "late_ns", "lost_ns")
    frame = pd.DataFrame({"regions": [1], "wall_ns": [2_000_000]} | {name: [pd.NA] for name in names})
    assert (
        openmp.describe_regions(frame)
        == "1 region takes 2.00 ms. The capture does not tell which threads worked in them."
    )
