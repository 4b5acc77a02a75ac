"""The page "Idle": real reports, reports that lack most of the data, and its advice."""

import duckdb
import pandas as pd
import pytest

from app.views.idle.gaps import find_usual_gap
from app.views.idle.launch import describe_launches
from app.views.idle.sentences import choose_advice
from profiledb.library.library import Library
from tests.app.conftest import HOSTILE, Open, check_empty_page, metrics, nothing, of, texts
from tests.support.page_reports import Publish


def test_a_report_with_everything(page: Open, library: Library) -> None:
    at = page("idle", of(library, "transformer_training.nsys-rep"), warmup="include")
    assert [element.value for element in at.subheader] == [
        "GPU idle",
        "CPU code during gaps",
        "Launch, queue and execution",
    ]
    for part in ("of idle time", "No GPU metrics in this report"):
        assert part in texts(at)
    assert 0 < float(metrics(at)["GPU idle"].removesuffix(" %")) <= 100
    tables = [table.value for table in at.dataframe if "share_pct" in table.value and "self_ns" not in table.value]
    assert tables
    assert all(table["share_pct"].sum() == pytest.approx(100) for table in tables)


def test_a_report_with_nothing_says_so_once(page: Open, small_report: Publish) -> None:
    check_empty_page(page("idle", small_report(nothing)), "GPU idle", "No CUDA kernels in", "No GPU metrics in")


def test_metrics_are_chosen_in_the_address(page: Open, library: Library) -> None:
    report_id = of(library, "transformer_inference.nsys-rep")
    first = page("idle", report_id)
    assert [name.partition(" [")[0] for name in first.multiselect[0].value] == [
        "SMs Active", "Tensor Active", "DRAM Read Bandwidth", "DRAM Write Bandwidth",
    ]  # fmt: skip
    chosen = page("idle", report_id, metrics="GR Active")
    assert chosen.multiselect[0].value == ["GR Active [Throughput %]"]
    assert len(page("idle", report_id, metrics="nonsense").multiselect[0].value) == 4


def test_kernels_without_copies_calls_and_ranges(page: Open, small_report: Publish) -> None:
    def kernels(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("INSERT INTO kernel_name VALUES (1, ?, ?, NULL, 'other')", [HOSTILE, HOSTILE])
        for number, start in enumerate((9000, 19000)):
            db.execute(
                "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, name_id) VALUES (?, ?, ?, 0, 1)",
                [number, start, start + 500],
            )
            db.execute("INSERT INTO busy VALUES (0, ?, ?)", [start, start + 500])

    at = page("idle", small_report(kernels))
    assert "GPU idle" in [element.value for element in at.subheader]
    gaps = next(table.value for table in at.dataframe if "covered_pct" in table.value)
    assert list(gaps["words"]) == ["Unknown"]
    assert not {"range", "launch", "function"} & set(gaps)


def test_why_the_gpu_is_idle(page: Open, library: Library) -> None:
    """The sentence names the range that keeps the host busy, and the advice is about data loading."""
    said = texts(page("idle", of(library, "dataloader_starved.nsys-rep")))
    assert "The CPU was in `step_*/next_batch/transform_image` for 95.9 % of it" in said
    assert "This looks like data loading" in said
    assert "CUDA graph" not in said
    assert "Between these bursts the GPU is idle all the same" in said


def test_the_code_of_the_cpu_during_gaps(page: Open, library: Library) -> None:
    """Most samples are in a library without symbols; the sentence names it if its code is the main reason."""
    at = page("idle", of(library, "transformer_training.nsys-rep"), warmup="include")
    code = next(table.value for table in at.dataframe if "called_from" in table.value or "samples" in table.value)
    assert (code["function"].iloc[0], code["samples"].iloc[0], code["samples"].sum()) == ("[libcublasLt.so.13]", 46, 80)
    assert "80 CPU samples of the threads that launch" in texts(at)


@pytest.mark.parametrize(
    ("launches", "pct", "queue", "kernel", "busy_pct", "words"),
    [
        (99, 80, 1_000, 2_000, 90, "Launch bound"), (99, 2, 90_000, 5_000, 90, "so launch overhead is hidden."),
        (99, 2, 90_000, 5_000, 6, "the GPU is idle all the same"), (99, 2, None, 5_000, 90, "Few"),
        (99, 30, 1, 2, 90, "find the GPU waiting"), (1, 100, None, 2, 90, "Only 1 launch:"),
    ],
)  # fmt: skip
def test_medians_in_words(
    launches: int, pct: float, queue: float | None, kernel: float, busy_pct: float, words: str
) -> None:
    figures = {"launches": launches, "host_bound_pct": pct, "median_queue_ns": queue, "median_kernel_ns": kernel}
    assert words in describe_launches(pd.Series(figures), busy_pct)


@pytest.mark.parametrize(
    ("gap_ns", "path", "words"),
    [
        (190e6, "step_*/next_batch", "data loading"), (1.8e6, "step_*/host_bookkeeping", "the program's own work"),
        (1.8e6, None, "the program's own work"), (9e3, "step_*/load", "CUDA graph"),
    ],
)  # fmt: skip
def test_advice_goes_by_the_length_of_gaps_and_the_range(gap_ns: float, path: str | None, words: str) -> None:
    assert words in choose_advice("host code", gap_ns, path)


def test_a_program_that_launches_graphs_is_not_told_to_use_them() -> None:
    assert "or a CUDA graph" in choose_advice("launch call", 1000, None, "cudaLaunchKernel")
    assert choose_advice("launch call", 1000, None, "cudaGraphLaunch").endswith("Put more work into each graph.")
    assert "A CUDA graph or a compiled model" in choose_advice("host code", 9e3, None)
    assert "A CUDA graph" not in choose_advice("host code", 9e3, None, traits={"torch.compile", "CUDA graphs"})
    assert "compiled model" not in choose_advice("host code", 9e3, None, traits={"torch.compile"})


def test_a_few_long_gaps_count_more_than_many_short_ones() -> None:
    """One of 6,000 gaps takes 80 of 100 ms: code between launches is not the reason."""
    top = pd.Series({"reason": "host code", "idle_ns": 100_000_000, "gaps": 6_000})
    gaps = pd.DataFrame({"reason": ["host code", "allocation"], "duration_ns": [80_000_000, 90_000_000]})
    assert find_usual_gap(top, gaps) == 80_000_000
    assert find_usual_gap(top, gaps.iloc[1:]) == pytest.approx(16_667, abs=1)
    assert find_usual_gap(top, gaps.assign(duration_ns=40_000_000)) == pytest.approx(16_667, abs=1)
