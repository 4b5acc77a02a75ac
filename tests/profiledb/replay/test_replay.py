"""The replay of small programs: by hand, and random ones against a plain simulation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiledb.replay import critical_path, graph, simulation
from profiledb.replay.changes import CHANGES
from profiledb.replay.graph import Graph
from profiledb.replay.part import Part
from profiledb.replay.recording import Recording, find_outermost
from tests.support.recordings import LAUNCH_LAG, Call, Operation, Program, recording

LAUNCH, WAIT = "cudaLaunchKernel_v7000", "cudaDeviceSynchronize_v3020"


def whole(built: Graph) -> Part:
    """Everything, without ranges."""
    calls, operations = built.recording.calls, built.recording.operations
    return Part(np.ones(len(calls), np.bool_), np.ones(len(operations), np.bool_), {})


def changed(recorded: Recording, name: str, value: str = "") -> tuple[Graph, simulation.Replayed]:
    built = graph.build(recorded)
    edited = CHANGES[name].apply(built, whole(built), value)
    assert edited is not None
    return edited, simulation.replay(edited)


def same(recorded: Recording) -> None:
    """The unchanged replay has the recorded times."""
    out = simulation.replay(graph.build(recorded))
    calls, operations = recorded.calls, recorded.operations
    assert out.call_begin == calls.start.tolist()
    assert out.call_end == calls.end.tolist()
    assert out.begin == operations.start.tolist()
    assert out.end == operations.end.tolist()


# A launch at 0 whose kernel runs from 5 to 105 µs, a wait until 107, host work to 117, and the same again.
READS = recording(
    [Call(LAUNCH, 0, 2_000), Call(WAIT, 2_000, 107_000), Call(LAUNCH, 117_000, 119_000), Call(WAIT, 119_000, 224_000)],
    [Operation(5_000, 105_000, 0), Operation(122_000, 222_000, 2)],
)


def test_a_program_that_waits_for_each_kernel() -> None:
    same(READS)
    _, out = changed(READS, "without_waits")
    # The host works 10 µs between its launches, at 0 and 12; the second kernel follows the first one at once.
    assert out.call_begin[2] == 12_000
    assert out.begin[1] == 105_000
    assert out.length_ns == 205_000
    _, out = changed(READS, "faster_kernels", "other:2")
    assert out.length_ns == 224_000 - 100_000


def test_streams_run_side_by_side_and_one_waits_for_the_other() -> None:
    """The kernel on stream 1 starts when that on stream 0 ends, long after its launch: it waits for it."""
    recorded = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 2_000, 4_000), Call(WAIT, 4_000, 163_000)],
        [Operation(5_000, 105_000, 0, stream=0), Operation(106_000, 160_000, 1, stream=1)],
    )
    same(recorded)
    built = graph.build(recorded)
    assert built.after == {1: 0}
    half = replace(built, length=np.array([50_000, 54_000]))
    assert simulation.replay(half).begin[1] == 56_000
    beside = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 2_000, 4_000), Call(WAIT, 4_000, 108_000)],
        [Operation(5_000, 105_000, 0, stream=0), Operation(7_000, 60_000, 1, stream=1)],
    )
    same(beside)
    assert graph.build(beside).after == {}


def test_a_thread_that_hands_over_waits_for_the_other_one() -> None:
    """Eight launches of a second thread lie between two calls of the first: forward, backward, forward."""
    calls = [Call(LAUNCH, 0, 2_000)]
    calls += [Call(LAUNCH, 10_000 * i, 10_000 * i + 2_000, thread=1) for i in range(1, 9)]
    calls += [Call(LAUNCH, 100_000, 102_000)]
    recorded = recording(calls, [Operation(one.start + 5_000, one.start + 6_000, i) for i, one in enumerate(calls)])
    same(recorded)
    built = graph.build(recorded)
    assert len(set(built.chain.tolist())) == 1
    _, out = changed(recorded, "cuda_graph")
    assert out.call_begin[9] == 0, "all launches come at once"
    # Threads whose calls overlap have nothing to wait for.
    twice = sorted([*calls, *(replace(one, thread=1 - one.thread, start=one.start + 1_000) for one in calls)],
                   key=lambda one: one.start)  # fmt: skip
    operations = [Operation(one.start + 5_000, one.start + 5_500, i) for i, one in enumerate(twice)]
    assert len(set(graph.build(recording(twice, operations)).chain.tolist())) == 2


def test_a_launch_waits_for_a_place_in_the_queue() -> None:
    """The host is 300 kernels ahead when a launch takes as long as a kernel: it waits for one to start."""
    kernels = 400
    calls = [Call(LAUNCH, 2_000 * i, 2_000 * i + 2_000) for i in range(kernels)]
    operations = [Operation(5_000 + 50_000 * i, 55_000 + 50_000 * i, i) for i in range(kernels)]
    operations.append(Operation(5_000 + 50_000 * kernels, 55_000 + 50_000 * kernels, kernels))
    calls.append(Call(LAUNCH, 800_000, 5_000 + 50_000 * 100 + 1_000))
    recorded = recording(calls, operations)
    same(recorded)
    built = graph.build(recorded)
    assert built.queued == {kernels: 100}
    _, out = changed(recorded, "faster_kernels", "other:2")
    assert out.call_end[kernels] == 5_000 + 25_000 * 100 + 1_000


def test_a_collective_moves_data_when_the_last_gpu_has_begun() -> None:
    calls = [Call(LAUNCH, 0, 2_000, thread=0), Call(LAUNCH, 40_000, 42_000, thread=1)]
    recorded = recording(
        calls,
        [
            Operation(5_000, 65_000, 0, stream=0, device=0, class_="communication"),
            Operation(45_000, 65_000, 1, stream=1, device=1, class_="communication"),
        ],
    )
    same(recorded)
    built = graph.build(recorded)
    assert built.partners == [(0, 1)]
    earlier = replace(built, gap=np.array([0, 10_000]))
    assert simulation.replay(earlier).end == [35_000, 35_000]


GRAPH = "cudaGraphLaunch_v10000"
# A graph: one node, then two side by side, of which the one in the other stream ends last. A kernel follows it.
NODES = recording(
    [Call(GRAPH, 0, 30_000), Call(LAUNCH, 30_000, 32_000), Call(WAIT, 32_000, 133_000)],
    [
        Operation(20_000, 40_000, 0, stream=0),
        Operation(41_000, 61_000, 0, stream=0),
        Operation(42_000, 92_000, 0, stream=1, class_="elementwise"),
        Operation(101_000, 131_000, 1, stream=0),
    ],
)


def test_nodes_of_a_graph_wait_for_each_other_and_what_follows_for_all_of_them() -> None:
    same(NODES)
    built = graph.build(NODES)
    assert built.after == {2: 0, 3: 2}
    assert built.other_lag == {2: 2_000, 3: 9_000}
    _, out = changed(NODES, "faster_kernels", "elementwise:2")
    # The node ends at 67 µs instead of 92, and with it all that follows.
    assert (out.begin[3], out.call_end[2]) == (76_000, 108_000)
    assert CHANGES["cuda_graph"].apply(built, whole(built), "") is None, "one launch is left, which no graph shortens"


def test_a_node_is_removed_but_not_the_launch_of_its_graph() -> None:
    recorded = recording(
        [Call(GRAPH, 0, 30_000), Call(WAIT, 30_000, 103_000)],
        [
            Operation(20_000, 40_000, 0, class_="elementwise"),
            Operation(41_000, 71_000, 0, class_="elementwise"),
            Operation(72_000, 101_000, 0),
        ],
    )
    same(recorded)
    edited, out = changed(recorded, "fused_elementwise")
    assert edited.cost[0] == 30_000
    # Of 20 and 30 µs the longer kernel is left, and no time between the two.
    assert out.call_end[1] == 103_000 - 20_000 - 1_000


def test_a_collective_waits_for_the_operation_that_the_program_issued_before_it() -> None:
    """It starts long after that operation ends, because the next kernel holds all multiprocessors."""
    recorded = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 2_000, 4_000), Call(LAUNCH, 4_000, 6_000), Call(WAIT, 6_000, 203_000)],
        [
            Operation(5_000, 105_000, 0, stream=0), Operation(106_000, 201_000, 2, stream=0),
            Operation(130_000, 200_000, 1, stream=1, class_="communication"),
        ],
    )  # fmt: skip
    same(recorded)
    built = graph.build(recorded)
    assert (built.after, built.other_lag) == ({2: 0}, {2: 25_000})
    sooner = replace(built, length=np.array([50_000, 95_000, 70_000]))
    assert simulation.replay(sooner).begin[2] == 80_000


def test_a_collective_that_is_launched_late_begins_after_its_launch() -> None:
    recorded = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 50_000, 52_000), Call(WAIT, 52_000, 93_000)],
        [Operation(5_000, 25_000, 0, stream=0), Operation(57_000, 90_000, 1, stream=1, class_="communication")],
    )
    same(recorded)
    built = graph.build(recorded)
    assert built.after == {1: 0}
    sooner = replace(built, gap=np.array([0, 8_000, 0]))
    assert simulation.replay(sooner).begin[1] == 25_000, "after its data, which is there at 25 µs; its launch is at 10"


def test_copies_from_pageable_memory_hold_the_host_up() -> None:
    copy = "cudaMemcpyAsync_v3020"
    recorded = recording(
        [Call(copy, 0, 100_000), Call(LAUNCH, 110_000, 112_000), Call(WAIT, 112_000, 217_000)],
        [
            Operation(10_000, 95_000, 0, kind="copy", bytes=1 << 20, from_host=True, pageable=True),
            Operation(115_000, 215_000, 1),
        ],
    )
    same(recorded)
    edited, out = changed(recorded, "pinned_copies")
    assert (edited.cost[0], out.call_begin[1]) == (5_000, 15_000)
    assert out.begin[1] == 90_000, "the kernel follows the copy in its stream"
    _, out = changed(recorded, "data_on_gpu")
    assert (out.begin[1], out.length_ns) == (15_000, 117_000)


def test_allocations_memsets_and_chains() -> None:
    recorded = recording(
        [
            Call("cudaMalloc_v3020", 0, 50_000), Call("cudaMemsetAsync_v3020", 50_000, 52_000),
            Call(LAUNCH, 52_000, 54_000), Call(LAUNCH, 54_000, 56_000), Call(WAIT, 56_000, 147_000),
        ],
        [
            Operation(55_000, 65_000, 1, kind="memset"), Operation(65_000, 105_000, 2, class_="elementwise"),
            Operation(105_000, 145_000, 3, class_="elementwise"),
        ],
    )  # fmt: skip
    same(recorded)
    assert changed(recorded, "without_allocations")[1].length_ns == 97_000
    assert changed(recorded, "without_memsets")[1].length_ns == 137_000 - 2_000 - 3_000
    assert changed(recorded, "fused_elementwise")[1].length_ns == 107_000


def test_host_code_of_a_range_takes_no_time() -> None:
    built = graph.build(READS)
    part = Part(np.ones(4, np.bool_), np.ones(2, np.bool_), {"load": np.array([[READS.threads[0], 108_000, 114_000]])})
    edited = CHANGES["host_code"].apply(built, part, "load")
    assert edited is not None
    assert simulation.replay(edited).length_ns == 224_000 - 6_000
    assert CHANGES["host_code"].apply(built, part, "nowhere") is None


def test_host_code_of_two_ranges_between_the_same_calls() -> None:
    built = graph.build(READS)
    spans = {"load": [[READS.threads[0], 108_000, 111_000]], "crop": [[READS.threads[0], 111_000, 115_000]]}
    part = Part(np.ones(4, np.bool_), np.ones(2, np.bool_), {name: np.array(one) for name, one in spans.items()})
    for names in (("load", "crop"), ("crop", "load")):
        edited: graph.Graph | None = built
        for name in names:
            edited = CHANGES["host_code"].apply(edited, part, name) if edited else None
        assert edited is not None
        assert simulation.replay(edited).length_ns == 224_000 - 7_000


def test_the_critical_path_adds_up() -> None:
    built = graph.build(READS)
    path = critical_path.trace(built, simulation.replay(built), 0, 224_000)
    took = {piece.kind: piece.ns for piece in critical_path.sum_pieces(path)}
    # Both kernels, twice 5 µs to launch, 10 µs between the steps, and 2 µs at the end of each wait.
    assert took == {"other": 200_000, critical_path.LATENCY: 10_000, critical_path.HOST: 10_000,
                    critical_path.CALLS: 4_000}  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "outer"),
    [
        ([(0, 10, 0), (1, 4, 0), (2, 3, 0), (5, 9, 0), (10, 12, 0)], [0, 0, 0, 0, 4]),
        ([(0, 10, 0), (1, 4, 1), (2, 3, 1)], [0, 1, 1]),
        ([], []),
    ],
)
def test_calls_inside_calls(spans: list[tuple[int, int, int]], outer: list[int]) -> None:
    start, end, thread = (np.array([one[place] for one in spans], np.int64) for place in range(3))
    assert find_outermost(start, end, thread).tolist() == outer


WORK = st.tuples(st.just("work"), st.just(0), st.integers(0, 60_000))
LAUNCHES = st.tuples(st.just("launch"), st.integers(0, 1), st.integers(1_000, 90_000))
WAITS = st.tuples(st.just("wait"), st.integers(0, 1), st.just(0))
ACTIONS = st.lists(st.one_of(WORK, LAUNCHES, LAUNCHES, WAITS), min_size=1, max_size=40)


@given(st.lists(ACTIONS, min_size=1, max_size=3))
def test_any_program_replays_as_it_ran(threads: list[list[tuple[str, int, int]]]) -> None:
    recorded = Program(threads).run()
    if len(recorded.calls):
        same(recorded)


@given(st.lists(st.one_of(WORK, LAUNCHES, WAITS).filter(lambda one: one[1] == 0), min_size=1, max_size=60))
def test_any_program_of_one_stream_with_slower_kernels_replays_as_it_would_run(
    actions: list[tuple[str, int, int]],
) -> None:
    """Against the plain simulation with kernels that take twice as long, to the ns.

    Then the recording shows every wait, or the stream decides it.
    """
    program = Program([actions])
    recorded = program.run()
    if not len(recorded.operations):
        return
    built = graph.build(recorded)
    count = len(recorded.operations)
    slower = replace(
        built, length=built.length * 2, launch_lag=np.full(count, LAUNCH_LAG), stream_lag=np.zeros(count, np.int64)
    )
    truth = program.run(times=2.0)
    out = simulation.replay(slower)
    assert out.begin == truth.operations.start.tolist()
    assert out.call_end == truth.calls.end.tolist()
