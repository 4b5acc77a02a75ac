"""The profiler's share of idle time and launches: made-up traces, and two captures of one program."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profiledb.findings import sentences, trace_overhead
from profiledb.library.library import Library
from tests.support.judged_rules import judged
from tests.support.made_traces import launch, operator, python, taken_in
from tests.support.torch_samples import NSYS, TRAINING, needs_torch_samples

SHAPES: dict[str, Any] = {"Input_Dims": [[4, 4]], "Input_type": ["float"]}


def waiting(operators: int, **args: Any) -> list[dict[str, Any]]:
    """10 kernels of 30 µs every 100 µs, so that the GPU is idle 630 of 930 µs, and operators beside them."""
    work = [one for n in range(10) for one in launch(n + 1, 100 * n + 1, (100 * n + 10, 100 * n + 40))]
    return [*work, *(operator("aten::add", 10 * n, 10 * n + 5, **args) for n in range(operators))]


@pytest.mark.parametrize(
    ("operators", "verdict", "left"),
    [
        pytest.param(20, "fires", 0.8695, marks=pytest.mark.slow("takes another trace in")),
        (50, "fires", 0.4463),
        pytest.param(60, "cannot_judge", 0.1342, marks=pytest.mark.slow("takes another trace in")),
        (80, "cannot_judge", 0.0),
    ],
)
def test_operators_of_ten_microseconds(tmp_path: Path, operators: int, verdict: str, left: float) -> None:
    """20 operators take up to 200 of 930 µs: the GPU is idle for 430 of the other 730, 58.9 % instead of 67.7 %.

    The profiler adds no more than the 630 µs in which the GPU is idle.
    """
    library, report = taken_in(tmp_path, waiting(operators, **SHAPES))
    found = judged(library, report, "gpu_idle")
    assert found.verdict == verdict
    assert found.slowed
    if verdict == "fires":
        assert replace(found, slowed=replace(found.slowed, left=0.1)).severity == "medium"
    assert found.slowed.left == pytest.approx(left, abs=0.001)
    said = sentences.says(found)
    most = f"{10 * operators} µs of the selected time" if operators < 63 else "all of the idle time"
    assert f"(`record_shapes`): at about 10.0 µs for each of {operators} operators, up to {most} may be" in said
    assert bool(found.command) == (verdict == "cannot_judge")


def test_work_that_is_launched_waits_for_no_cpu(tmp_path: Path) -> None:
    """All kernels are launched within 20 µs, so the 630 µs between them are not the profiler's."""
    work = [one for n in range(10) for one in launch(n + 1, 2 * n + 1, (100 * n + 30, 100 * n + 60))]
    shapes = [operator("aten::add", 10 * n, 10 * n + 5, **SHAPES) for n in range(50)]
    found = judged(*taken_in(tmp_path, [*work, *shapes]), "gpu_idle")
    assert (found.verdict, found.cause, found.slowed) == ("fires", "launch latency", None)
    assert found.value == pytest.approx(100 * 630 / 930)


@pytest.mark.slow("takes four traces in")
def test_what_the_settings_and_the_rows_say(tmp_path: Path) -> None:
    plain = judged(*taken_in(tmp_path / "plain", waiting(20)), "gpu_idle")
    assert (plain.verdict, plain.slowed) == ("fires", None)
    told = judged(*taken_in(tmp_path / "told", waiting(20), with_modules=1, profile_memory=0), "gpu_idle")
    assert "(with_modules)" in sentences.strip_sentence(told)
    stacks = [python("train.py(5): main", 1, None, 0, 900), python("nn.Module: Linear_0", 2, 1, 1, 90)]
    seen = judged(*taken_in(tmp_path / "seen", [*waiting(20), *stacks]), "gpu_idle")
    assert "(`with_stack`, `with_modules`)" in sentences.says(seen)
    assert judged(*taken_in(tmp_path / "kernel", waiting(20, **SHAPES)), "hot_kernel").slowed is None


def test_no_cpu_records_the_operators_of_xla(tmp_path: Path) -> None:
    library, report_id = taken_in(tmp_path, waiting(20, **SHAPES))
    report = library.find(report_id)
    window = {"ns": 930_000, "busy_ns": 300_000, "gpus": 1, "operators": 20, "options": ["with_stack"]}
    assert trace_overhead.measure_slowdown(library, report, window)
    assert trace_overhead.measure_slowdown(library, replace(report, kind="xla"), window) is None


@needs_torch_samples
def test_a_linked_systems_report_tells_the_cost(torch_samples: Library) -> None:
    """A step takes 28.0 ms in the trace and 12.9 ms under nsys: the profiler takes 54 % of the time."""
    links = torch_samples.catalog.links
    nsys = torch_samples.find(NSYS[TRAINING])
    alone = judged(torch_samples, TRAINING, "gpu_idle")
    links.put(nsys.id, torch_samples.find(TRAINING).id, "trace")
    try:
        found = judged(torch_samples, TRAINING, "gpu_idle")
    finally:
        links.remove(nsys.id, "trace")
    assert f"28.0 ms here and 12.9 ms in the linked Systems report `{nsys.name}`" in sentences.says(found)
    assert alone.slowed
    assert found.slowed
    own = 1 - 12_914_758 / 28_044_776
    idle = (found.value or 0) / 100
    assert found.slowed.left == pytest.approx((idle - own) / (1 - own) / idle, abs=0.001)
    under_nsys = judged(torch_samples, nsys.name, "gpu_idle")
    assert under_nsys.slowed is None
    for left in (alone.slowed.left, found.slowed.left):
        assert left * 100 * idle == pytest.approx(under_nsys.value, abs=5)
