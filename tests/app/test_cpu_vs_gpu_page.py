"""The page "CPU vs GPU": with times beside the report, without them, with odd ones; its charts and colors."""

from itertools import pairwise

import pytest

from app.ui import theme
from app.ui.charts import Theme
from app.views.cpu_vs_gpu import charts, scheduler_charts
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.cpu_vs_gpu import crossing
from tests.app.conftest import HOSTILE, SAMPLES, Dashboard, of, plain_texts
from tests.profiledb.analyses.test_scheduler_analyses import HEADER as LOG_HEADER
from tests.profiledb.analyses.test_scheduler_analyses import LOG, META
from tests.profiledb.rules.test_classes import difference

HEADER = "task,size,device,part,seconds\n"
HOSTILE_ROW = f'"{HOSTILE}",8,cpu,run,0.001,11000,,"{HOSTILE}","{HOSTILE}","{HOSTILE}",,0.1,,,,,,,,\n'


@pytest.fixture
def sample(library: Library) -> str:
    """The sample of tasks with its sidecars."""
    report_id = of(library, "tasks.nsys-rep")
    library.put_sidecar(report_id, "tasks", (SAMPLES / "tasks.tasks.csv").read_text(encoding="utf-8"))
    return report_id


def test_the_sample(dashboard: Dashboard, sample: str) -> None:
    at = dashboard("cpu_vs_gpu", report=sample)
    assert not at.exception
    words = plain_texts(at)
    assert "With transfers: **Use the GPU from 1,024 on.**" in words
    assert "With transfers: **Use the CPU for all measured sizes (up to 8,192).**" in words
    assert "Computing only: **Use the GPU from 128 on.**" in words
    assert len(at.get("plotly_chart")) == 2
    (times,) = (one.value for one in at.dataframe)
    assert len(times) == 30
    assert "cpu_flops_per_s" not in times.columns, "without flops_by_task there is no column of dashes"
    assert {getattr(one, "label", "") for one in at.get("download_button")} == {"CSV", "Parquet"}


def test_without_times_it_says_how_to_get_some(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("cpu_vs_gpu", report=of(library, "tasks.nsys-rep"))
    assert not at.exception
    assert "This report has no times of the same work on CPU and GPU." in plain_texts(at)
    assert "python -m workloads profile tasks" in [code.value for code in at.code]
    assert "tasks.tasks.csv" in plain_texts(at)
    assert not at.dataframe


def test_many_odd_tasks(dashboard: Dashboard, library: Library) -> None:
    """There are more tasks than room: the page draws one and lists all; a name is never anything but text."""
    report_id = of(library, "tasks.nsys-rep")
    hostile = f'"{HOSTILE}"'
    rows = [f"{hostile},{size},{device},x,{1e-6 * size}" for size in (3, 30) for device in ("cpu", "gpu")]
    rows += ["only,1,gpu,compute,1", "zero,0,cpu,compute,0", "zero,0,gpu,compute,0", "last,8,cpu,compute,2"]
    rows += ["last,8,gpu,compute,1", "last,8,gpu,compute,1", "last,8,gpu,allocate,1"]
    library.put_sidecar(report_id, "tasks", HEADER + "\n".join(rows) + "\n")
    at = dashboard("cpu_vs_gpu", report=report_id)
    assert not at.exception
    for element in [*at.markdown, *at.caption]:
        assert "<script>" not in element.value
        assert ":red[" not in element.value
    assert len(at.dataframe) == 2
    assert "1 repetition lacks a part" in plain_texts(at)
    zero = dashboard("cpu_vs_gpu", report=report_id, task="zero")
    assert zero.selectbox(key="crossover-task").value == "2"
    assert "No time is above 0" in zero.info[0].value
    last = zero.selectbox(key="crossover-task").select("3").run()
    assert not last.exception
    assert last.query_params["task"] == "last"
    assert "the only size measured on both" in plain_texts(last)
    assert not dashboard("cpu_vs_gpu", report=report_id, task="no such task").exception


def test_the_charts(library: Library, sample: str) -> None:
    rows, parts = (analysis.run(library, sample, name) for name in ("task_times", "task_parts"))
    found = crossing.find_crossovers(analysis.run(library, sample, "task_repetitions"))
    panels = [
        charts.Panel(
            task, rows[rows["task"] == task], parts[parts["task"] == task], [one for one in found if one.task == task]
        )
        for task in ("matmul", "reduction")
    ]
    colors = theme.WORK["dark"]
    figure = charts.plot_times(panels, colors, "dark")
    assert figure is not None
    shapes = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [round(shape.x0) for shape in shapes] == [583, 102, 2535, 208], "shapes take the value, not its logarithm"
    assert {trace.name for trace in figure.data if trace.showlegend} == {name for *_, name in charts.LINES}
    bars = charts.plot_shares(panels, colors, "dark")
    assert bars is not None
    stacked = [sum(trace.y[place] for trace in bars.data if trace.xaxis == "x") for place in range(10)]
    assert stacked == pytest.approx([100] * 10)
    assert charts.format_size(8192) == "8k"
    assert charts.format_size(1000) == "1,000"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_colors_stay_apart(name: Theme) -> None:
    """The devices, and neighbors in the stack of parts, differ by 30 in CIE Lab, for color-blind readers too."""
    colors = theme.WORK[name]
    assert difference(colors["cpu"], colors["gpu"]) > 30
    stack = [colors[part] for part in (*charts.PARTS, "overhead")]
    assert min(difference(a, b) for a, b in pairwise(stack)) > 30


@pytest.fixture
def decided(library: Library) -> str:
    """A report with the log of a scheduler that is worked out by hand in test_scheduler_analyses."""
    report_id = of(library, "tasks.nsys-rep")
    library.put_sidecar(report_id, "tasks", LOG_HEADER + LOG + HOSTILE_ROW)
    library.put_sidecar(report_id, "meta", META)
    return report_id


def test_decisions_of_a_scheduler(dashboard: Dashboard, decided: str) -> None:
    """The decisions come first; each missed goal is a warning with its reason."""
    at = dashboard("cpu_vs_gpu", report=decided)
    assert not at.exception
    assert [title.value for title in at.subheader][:2] == ["Scheduler", "Predicted and measured"]
    words = plain_texts(at)
    warned = [warning.value.replace("\\", "") for warning in at.warning]
    assert "Predicted times are off by 25.0 % (median of 3 runs). The goal is 15.0 %." in warned[0]
    assert "mm on the GPU, which took 1.33 × the predicted time" in warned[0]
    assert "take 206.7 % longer than always choosing the faster device: 3.10 ms more than its 1.50 ms" in warned[1]
    assert "mm of 64 ran on the GPU: GPU predicted 500 µs, takes 4.00 ms." in warned[1]
    assert "Simpler rules lose less time: always CPU (free)" not in warned[2]
    assert "Simpler rules lose less time: always CPU (competing) 0.0 % against 300.0 %." in warned[2]
    assert "The GPUs drew 42.5 J meanwhile." in words
    assert "A decision takes 20.0 µs" in words
    assert "3 of 3 decisions compare with a size that ran once on a device" in words
    assert (
        "Tasks of the policy model took 5.60 ms, where the medians of the same sizes on the same devices add up to"
        in words
    )
    assert "it does not depend on chance" not in words
    assert at.selectbox(key="policy").value == "model"
    shown = " ".join(frame.value.to_string() for frame in at.dataframe)
    assert "20.0 µs per run + bytes at 10.0 GB/s + a large result at 1.00 GB/s" in shown
    for element in [*at.markdown, *at.caption, *at.warning]:
        assert "<script>" not in element.value
        assert ":red[" not in element.value
    assert "Below: what NVML said last before each decision. Shaded: another program used the GPU." in words
    always = dashboard("cpu_vs_gpu", report=decided, policy="gpu")
    assert not always.exception
    assert "No times were predicted." in plain_texts(always)
    assert "Below: what NVML said" not in plain_texts(always)
    assert "Shaded: another program used the GPU." in plain_texts(always)
    told = " ".join(frame.value.to_string() for frame in always.dataframe)
    assert "No prediction, always GPU" in told


def test_a_report_of_times_says_how_to_log_decisions(dashboard: Dashboard, sample: str) -> None:
    at = dashboard("cpu_vs_gpu", report=sample)
    assert "No decisions of a scheduler in this report." in plain_texts(at)
    assert "python -m workloads profile queue --model model.skops" in [code.value for code in at.code]


def test_a_log_of_refusals_alone(dashboard: Dashboard, library: Library) -> None:
    """Nothing ran, so nothing is drawn, and no figure is 0."""
    report_id = of(library, "tasks.nsys-rep")
    rows = "mm,8,none,failed,0,,,own,competing,needs 9 GB,,,,,,,,,,\n"
    library.put_sidecar(report_id, "tasks", LOG_HEADER + rows)
    at = dashboard("cpu_vs_gpu", report=report_id)
    assert not at.exception
    assert "No regret: no task was measured on both devices." in plain_texts(at)
    assert [metric.value for metric in at.metric] == ["1", "–", "–", "–"]
    assert not at.get("plotly_chart")


def test_the_charts_of_decisions(library: Library, decided: str) -> None:
    rows = analysis.run(library, decided, "scheduler_decisions", {"policy": "model"})
    figure = scheduler_charts.plot_predicted(rows, theme.WORK["dark"], "dark")
    assert figure is not None
    assert [(trace.name, len(trace.x)) for trace in figure.data[1:]] == [("GPU", 2), ("GPU, GPU shared", 1)]
    over = scheduler_charts.plot_over_time(rows, theme.WORK["light"], "light")
    assert over is not None
    assert [len(trace.x) for trace in over.data] == [2, 1, 1, 4, 4], "runs, waits, and two readings a decision"
    assert [shape.x0 for shape in over.layout.shapes if shape.type == "rect"] == [2, 2, 2], "in µs, in each panel"
    assert scheduler_charts.plot_predicted(rows.head(0), theme.WORK["dark"], "dark") is None
    assert scheduler_charts.plot_over_time(rows.head(0), theme.WORK["dark"], "dark") is None
