"""Steps of traces: the profiler's own come first; operators, collectives and loader batches never are steps.

No digit of a hash in the name of a compiled graph is the number of a step.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, ROOT, Once, ingest_files
from tests.support.made_traces import AUTOGRAD, event, launch, operator, taken_in
from tests.support.page_reports import run

Events = list[dict[str, Any]]
MORE = pytest.mark.slow("takes a trace in for each")
OLD = "Operator"
"""The category of operators and annotations alike in traces of 2021."""


def note(name: str, start: float, end: float) -> dict[str, Any]:
    return event("user_annotation", name, start, end)


def laps(several: int, one: Callable[[int, float], Events]) -> Events:
    """The events of that many laps of 100 µs, by number and start."""
    return list(chain.from_iterable(one(number, 100.0 * number) for number in range(several)))


def convolution(number: int, t: float) -> Events:
    return [operator("aten::conv2d", t, t + 90), *launch(number + 1, t + 2, (t + 5, t + 80))]


def old(number: int, t: float) -> Events:
    return [event(OLD, f"ProfilerStep#{number}", t, t + 90)]


def training(number: int, t: float) -> Events:
    """Forward pass of 60 µs, backward pass on the thread of autograd, optimizer."""
    backward: dict[str, Any] = {"Sequence_number": number, "Fwd_thread_id": 1}
    return [
        note("forward", t, t + 60),
        operator("aten::mm", t + 1, t + 59, Sequence_number=number, Fwd_thread_id=0),
        *launch(3 * number + 1, t + 2, (t + 3, t + 40)),
        operator("MmBackward0", t + 62, t + 78, AUTOGRAD, **backward),
        *launch(3 * number + 2, t + 63, (t + 64, t + 70), AUTOGRAD),
        note("Optimizer.step#SGD.step", t + 80, t + 95),
        *launch(3 * number + 3, t + 81, (t + 82, t + 90)),
    ]


def in_laps(number: int, t: float) -> Events:
    return [note("lap", t, t + 98), *training(number, t)]


def single(number: int, t: float) -> Events:
    """Operators and annotations that repeat, in one step of the profiler."""
    first = [note("ProfilerStep#3", 0, 600)] if number == 0 else []
    return [*first, note("fc-dtype_Float", t, t + 90), operator("aten::linear", t + 1, t + 89)]


def with_a_step(number: int, t: float) -> Events:
    return [note(f"ProfilerStep#{number}", t, t + 90), note("step", t + 1, t + 80)]


ENGINE = "execute_context_*(*)_generation_*(*)"


def engine(number: int, t: float) -> Events:
    """Steps of vLLM, with those of SGLang in them, that prefill and decode."""
    decodes = number > 0
    name = f"execute_context_{int(not decodes)}(888)_generation_{number if decodes else 0}({number})"
    return [note(name, t, t + 90), note(f"step[DECODE bs={number + 1}]", t + 1, t + 80)]


def sized(number: int, t: float) -> Events:
    """The same work on more and more tokens."""
    return [note(f"tokens_{512 * 2**number}", t, t + 90), *launch(number + 1, t + 2, (t + 5, t + 80))]


def named(name: str) -> Callable[[int, float], Events]:
    return lambda _, t: [note(name, t, t + 90)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(laps(6, convolution), [], marks=MORE),
        (laps(6, single), [("ProfilerStep#3", 1)]),
        pytest.param(laps(6, named("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")), [], marks=MORE),
        pytest.param(laps(4, named("gloo:all_reduce")), [], marks=MORE),
        pytest.param(laps(4, training), [], marks=MORE),
        (laps(4, in_laps), [("lap", 4)]),
        pytest.param(laps(4, old), [("ProfilerStep#*", 4)], marks=MORE),
        pytest.param(laps(4, lambda _, t: [operator("mylib::step", t, t + 90)]), [], marks=MORE),
        (laps(4, engine), [(ENGINE, 4), (f"{ENGINE}/step[DECODE bs=*]", 4)]),
        pytest.param(laps(4, sized), [], marks=MORE),
        pytest.param(laps(4, with_a_step), [("ProfilerStep#*", 4), ("ProfilerStep#*/step", 4)], marks=MORE),
    ],
    ids=["operators", "one step", "loader", "collectives", "a pass", "laps", "old", "a library's step", "an engine",
         "sizes", "steps inside"],
)  # fmt: skip
def test_steps(tmp_path: Path, events: Events, expected: list[tuple[str, int]]) -> None:
    library, report = taken_in(tmp_path, events)
    rows = run(library, report, "iteration_summary")
    assert [(row["steps"], row["count"] + row["warmup"]) for row in rows] == expected


@pytest.mark.parametrize(
    "around",
    [
        None,
        "ProfilerStep#3",
        pytest.param("execute_context_1(8)_generation_0(0)", marks=MORE),
        pytest.param("warmed", marks=MORE),
    ],
)
def test_what_repeats_within_one_step_is_no_iteration(tmp_path: Path, around: str | None) -> None:
    """A kernel for each of 12 layers: without ranges, in a step of the profiler, in one of an inference engine."""
    layers = laps(12, lambda n, t: launch(n + 1, t + 2, (t + 5, t + 80)))
    events = [*layers, *([note(around, 0, 1300)] if around else [])]
    library, report = taken_in(tmp_path, events)
    assert bool(run(library, report, "detected_iterations")) == (around in (None, "warmed"))


HASHES = ("fegafpt7rjmah2", "fud64jsrxcxlie", "fud64jsrxcxl99")


def graphs(number: int, t: float) -> Events:
    """Region 0/1 has one graph, region 1/0 two, and a backward pass is in none."""
    first, second, third = (f"## Call CompiledFxGraph {one} ##" for one in HASHES)
    return [
        operator("Torch-Compiled Region: 0/1", t, t + 20),
        note(first, t + 1, t + 19),
        operator("Torch-Compiled Region: 1/0", t + 21, t + 50),
        note(second, t + 22, t + 30),
        note(first, t + 31, t + 40),
        note(third, t + 51, t + 60),
        operator("aten::conv2d", t + 61, t + 70),
        note(f"block_{number}", t + 71, t + 80),
    ]


def test_names_of_compiled_graphs(tmp_path: Path) -> None:
    library, report = taken_in(tmp_path, laps(2, graphs))
    assert {row["pattern"] for row in run(library, report, "range_patterns")} == {
        r"Torch-Compiled Region: 0\/1",
        r"Torch-Compiled Region: 0\/1/compiled graph 0/1",
        r"Torch-Compiled Region: 1\/0",
        r"Torch-Compiled Region: 1\/0/compiled graph 1/0 fud64jsr",
        r"Torch-Compiled Region: 1\/0/compiled graph 1/0 fegafpt7",
        "compiled graph fud64jsr",
        "aten::conv2d",
        "block_*",
    }


def test_compiled_graphs_that_repeat(tmp_path: Path) -> None:
    """Outside of a training, calls of a graph may be the steps; they have the graph's name."""
    library, report = taken_in(
        tmp_path, laps(4, lambda _, t: [note(f"## Call CompiledFxGraph {HASHES[1]} ##", t, t + 90)])
    )
    assert [row["steps"] for row in run(library, report, "iteration_summary")] == ["compiled graph fud64jsr"]


STRANGERS = {
    "hta_benchmark_2869224": [],
    "kineto_resnet_conv_steps": [],
    "sglang_qwen3_prefilldecode_mi300": [],
    "xdit_flux_hipgraph_rank0": [("ProfilerStep#3", 1)],
    "qwen_mi300": [("ProfilerStep#6", 1)],
    "kineto_2021": [("ProfilerStep#*", 6)],
    "kineto_nccl_data": [("ProfilerStep#*", 3)],
    "hta_rank0_graphs": [("ProfilerStep#*", 5)],
}
"""Steps of strangers' traces, counted in their JSON."""


def strangers() -> Iterator[Any]:
    for name, expected in STRANGERS.items():
        found = sorted(CORPUS.glob(f"{name}.*"))
        skip = pytest.mark.skipif(not found, reason="needs ../shared/corpus")
        yield pytest.param(found[0] if found else ROOT, expected, id=name, marks=skip)


@pytest.mark.slow("takes every trace of strangers in")
@pytest.mark.parametrize(("path", "expected"), list(strangers()))
def test_steps_of_strangers(once: Once, path: Path, expected: list[tuple[str, int]]) -> None:
    library = Library(once(f"operators of {path.name}", lambda folder: ingest_files(folder, [path])) / "library")
    rows = run(library, library.list()[0].id, "iteration_summary")
    assert [(row["steps"], row["count"] + row["warmup"]) for row in rows] == expected
