"""Changes by hand, on small programs: their effect, their limits, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.replay import graph, simulation
from profiledb.replay.changes import CHANGES
from profiledb.replay.graph import Graph
from profiledb.replay.part import Part
from profiledb.replay.recording import Recording
from tests.profiledb.replay.test_replay import GRAPH, LAUNCH, READS, WAIT
from tests.support.recordings import MULTIPROCESSORS, Call, Operation, recording


def apply(
    recorded: Recording, name: str, value: str = "", *, spans: list[tuple[int, int]] | None = None, steps: int = 1,
    bound: str = "apply",
) -> Graph | None:  # fmt: skip
    """Apply a change to everything; ``spans`` are those of a range called "part"."""
    built = graph.build(recorded)
    rows = [[recorded.threads[0], begin, end] for begin, end in spans or []]
    part = Part(
        np.ones(len(recorded.calls), np.bool_), np.ones(len(recorded.operations), np.bool_),
        {"part": np.array(rows, np.int64)} if rows else {}, steps,
    )  # fmt: skip
    found: Graph | None = getattr(CHANGES[name], bound)(built, part, value)
    return found


def lengths(edited: Graph | None) -> simulation.Replayed:
    assert edited is not None
    return simulation.replay(edited)


def test_workers_divide_host_code() -> None:
    assert lengths(apply(READS, "workers", "part:4", spans=[(108_000, 116_000)])).length_ns == 224_000 - 6_000
    for value in ("part", "part:1", "part:x", ":4", "part:1000000000000"):
        with pytest.raises(AnalysisError, match="takes RANGE:N"):
            CHANGES["workers"].parse(value)


def optimizer() -> Recording:
    """Ten kernels of 2 µs and one of 42 µs that follow each other, launched every 10 µs."""
    calls = [Call(LAUNCH, 10_000 * i, 10_000 * i + 2_000) for i in range(11)]
    ends = [4_000 + 10_000 * i for i in range(11)]
    operations = [Operation(end, end + (42_000 if i == 10 else 2_000), i) for i, end in enumerate(ends)]
    return recording([*calls, Call(WAIT, 102_000, 148_000)], operations)


def test_a_fused_optimizer_moves_a_quarter_of_the_data_in_one_kernel() -> None:
    spans = [(0, 101_000)]
    edited = apply(optimizer(), "fused_optimizer", "part", spans=spans)
    assert edited is not None
    # Of 2 µs each and 40 µs more: 2 µs, and a quarter of the 40.
    assert edited.length.tolist() == [12_000] + [0] * 10
    cautious = apply(optimizer(), "fused_optimizer", "part", spans=spans, bound="cautious")
    hopeful = apply(optimizer(), "fused_optimizer", "part", spans=spans, bound="hopeful")
    ends = [lengths(one).length_ns for one in (hopeful, edited, cautious)]
    assert ends == sorted(ends)
    assert ends[-1] < 148_000
    assert apply(optimizer(), "fused_optimizer", "part", spans=[(0, 60_000)]) is None, "six kernels are few"


def copies() -> Recording:
    """Twice in a stream: a copy from pageable memory, a kernel, a copy back, 20 µs each; the host waits for copies."""
    calls, operations = list[Call](), list[Operation]()
    for step in range(2):
        at = 70_000 * step
        calls += [
            Call("cudaMemcpyAsync_v3020", at, at + 26_000), Call(LAUNCH, at + 27_000, at + 29_000),
            Call("cudaMemcpyAsync_v3020", at + 29_000, at + 69_000),
        ]  # fmt: skip
        first = 3 * step
        operations += [
            Operation(at + 5_000, at + 25_000, first, kind="copy", bytes=1 << 10, from_host=True, pageable=True),
            Operation(at + 30_000, at + 50_000, first + 1),
            Operation(at + 50_000, at + 69_000, first + 2, kind="copy", bytes=1 << 10, to_host=True, pageable=True),
        ]
    return recording(calls, operations)


def test_copies_overlap_with_kernels_and_copies_of_the_other_direction() -> None:
    recorded = copies()
    edited = apply(recorded, "overlapped_copies")
    assert edited is not None
    assert edited.stream_before.tolist() == [-1, -1, -1, 0, 1, 2]
    assert edited.after == {1: 0, 2: 1, 4: 3, 5: 4}
    out = lengths(edited)
    assert edited.waits == {}
    # Copies up follow each other. The second kernel waits for its copy, each copy back for its kernel.
    assert out.begin[3] <= out.end[0] + 3_000
    assert out.begin[4] >= out.end[3]
    assert out.begin[2] >= out.end[1]
    assert max(out.end) < 100_000
    faster = apply(replace(recorded, link_rate=0.1), "pinned_copies")
    assert faster is not None
    assert faster.length[0] == 10_240 + 5_000, "1 KiB at 0.1 bytes per ns"
    assert lengths(apply(replace(recorded, link_rate=0.1), "pinned_copies", bound="cautious")).end[0] == 25_000


def test_a_faster_link_shortens_what_exceeds_the_shortest_copy() -> None:
    recorded = recording(
        [Call("cudaMemcpyAsync_v3020", 0, 2_000), Call("cudaMemcpyAsync_v3020", 2_000, 4_000)],
        [
            Operation(5_000, 15_000, 0, kind="copy", bytes=1 << 20, from_host=True),
            Operation(16_000, 66_000, 1, kind="copy", bytes=1 << 22, from_host=True),
        ],
    )
    edited = apply(recorded, "faster_link", "2")
    assert edited is not None
    assert edited.length.tolist() == [10_000, 30_000]
    pageable = recording(
        [Call("cudaMemcpyAsync_v3020", 0, 26_000)], [replace_pageable(Operation(5_000, 25_000, 0, kind="copy"))]
    )
    assert apply(pageable, "faster_link", "2") is None, "the host copies, too"
    for value in ("", "x", "nan", "0", "1e300"):
        with pytest.raises(AnalysisError, match="takes a factor"):
            CHANGES["faster_link"].parse(value)


def replace_pageable(one: Operation) -> Operation:
    return replace(one, bytes=1 << 20, from_host=True, pageable=True)


def two_ranks(late_ns: int = 40_000) -> Recording:
    """Two GPUs run a kernel of 10 µs and reduce twice; the second one's thread works longer before each collective."""
    calls, operations, now = [Call("cuInit", 0, 1_000, 0), Call("cuInit", 0, 1_000, 1)], list[Operation](), 1_000
    for _ in range(2):
        for rank, late in enumerate((0, late_ns)):
            at = now + 10_000 + late
            operations.append(
                Operation(at + 5_000, now + 35_000 + late_ns, len(calls), rank, rank, class_="communication")
            )
            calls.append(Call(LAUNCH, at, at + 2_000, rank))
            calls.append(Call("cudaStreamSynchronize_v3020", at + 2_000, now + 35_000 + late_ns, rank))
        now += 35_000 + late_ns
    order = sorted(range(len(calls)), key=lambda i: calls[i].start)
    place = {old: new for new, old in enumerate(order)}
    moved = sorted((replace(one, call=place[one.call]) for one in operations), key=lambda one: one.start)
    return recording([calls[i] for i in order], moved)


def test_balanced_ranks_share_the_work_between_two_collectives() -> None:
    """Twice, the first of two GPUs computes for 40 µs before a collective, for which the second one waits, and both for
    10 µs after it. Before the first one 20 µs are left of 40, in between both have 30, and at the end both have 10."""
    calls, operations = list[Call](), list[Operation]()

    def launch(rank: int, at: int, start: int, end: int, class_: str = "matmul") -> None:
        operations.append(Operation(start, end, len(calls), rank, rank, class_=class_))
        calls.append(Call(LAUNCH, at, at + 1_000, rank))

    for now in (0, 100_000):
        launch(0, now + 1_000, now + 5_000, now + 45_000)
        launch(1, now + 2_500, now + 6_000, now + 56_000, "communication")
        launch(0, now + 4_000, now + 46_000, now + 56_000, "communication")
        launch(0, now + 7_000, now + 57_000, now + 67_000)
        launch(1, now + 8_500, now + 57_500, now + 67_500)
    order = sorted(range(len(operations)), key=lambda j: operations[j].start)
    edited = apply(recording(calls, [operations[j] for j in order]), "balanced_ranks")
    assert edited is not None
    lasts = dict(zip(order, edited.length.tolist(), strict=True))
    assert [lasts[j] for j in (0, 3, 4, 5, 8, 9)] == [20_000, 6_000, 30_000, 24_000, 10_000, 10_000]


def test_balanced_ranks_come_together() -> None:
    recorded = two_ranks()
    out = lengths(apply(recorded, "balanced_ranks"))
    built = graph.build(recorded)
    assert built.partners == [(0, 1), (2, 3)]
    # Of 10 and 50 µs of host work before each collective, both have 30.
    begins = [[out.begin[j] for j in group] for group in built.partners]
    assert begins == [[36_000, 36_000], [91_000, 91_000]]
    assert out.end == [56_000, 56_000, 111_000, 111_000]
    alone = recording([Call(LAUNCH, 0, 2_000)], [Operation(5_000, 65_000, 0, class_="communication")])
    for change, value in (("balanced_ranks", ""), ("faster_link", "2")):
        with pytest.raises(NotCapturedError, match="This report holds one rank"):
            apply(alone, change, value)
    assert apply(READS, "balanced_ranks") is None


def test_a_faster_link_leaves_the_wait_for_the_last_rank() -> None:
    edited = apply(two_ranks(), "faster_link", "2")
    # Both collectives move data for 20 µs: the shortest, so nothing is known to be data.
    assert edited is None


def test_merged_collectives_keep_their_data_and_lose_their_fixed_time() -> None:
    calls, operations = list[Call](), list[Operation]()
    for i, ns in enumerate((10_000, 30_000, 20_000, 10_000)):
        at = 40_000 * i
        operations.append(Operation(at + 5_000, at + 5_000 + ns, len(calls), class_="communication"))
        calls += [Call(LAUNCH, at, at + 2_000), Call("cudaEventRecord_v3020", at + 2_000, at + 3_000)]
    recorded = recording(calls, operations)
    edited = apply(recorded, "merged_collectives", "2")
    assert edited is not None
    # The shortest takes 10 µs: 0 and 20 µs of data beyond it, then 10 and 0.
    assert edited.length.tolist() == [0, 30_000, 0, 20_000]
    # Nothing is left of two launches, nor of the calls between them and the next launch.
    assert edited.cost.tolist() == [0, 0, 2_000, 0, 0, 0, 2_000, 1_000]
    assert apply(READS, "merged_collectives", "2") is None
    for value in ("1", "x", "٣", "1" * 40):
        with pytest.raises(AnalysisError, match="takes a number"):
            CHANGES["merged_collectives"].parse(value)


def test_a_larger_batch_grows_kernels_by_waves_and_not_their_launches() -> None:
    blocks = [MULTIPROCESSORS // 2, 10 * MULTIPROCESSORS, 1]
    operations = [Operation(5_000 + 20_000 * i, 15_000 + 20_000 * i + 5_000 * (i == 1), i) for i in range(3)]
    operations = [replace(one, blocks=count) for one, count in zip(operations, blocks, strict=True)]
    operations[2] = replace(operations[2], class_="optimizer")
    recorded = recording([Call(LAUNCH, 20_000 * i, 20_000 * i + 2_000) for i in range(3)], operations)
    edited = apply(recorded, "batch", "2")
    assert edited is not None
    # Half a wave becomes one, ten waves twenty (the 10 µs beyond the fixed 5 µs double), the optimizer stays.
    assert edited.length.tolist() == [10_000, 25_000, 10_000]
    assert edited.items == 2.0
    cautious = apply(recorded, "batch", "2", bound="cautious")
    assert cautious is not None
    assert cautious.length.tolist() == [15_000, 25_000, 10_000]
    of_vector = replace(operations[1], of_vectors=True, precision="fp16")
    recorded = recording(
        [Call(LAUNCH, 20_000 * i, 20_000 * i + 2_000) for i in range(3)], [operations[0], of_vector, operations[2]]
    )
    larger = [apply(recorded, "batch", value) for value in ("16", "32")]
    # A product with a vector takes as long for 16 vectors, and the 10 µs beyond the fixed 5 µs twice for 32.
    assert [one.length[1] if one else None for one in larger] == [15_000, 25_000]
    with pytest.raises(NotCapturedError, match="No steps"):
        apply(recorded, "batch", "2", steps=0)
    with pytest.raises(NotCapturedError, match="number of blocks"):
        apply(replace(recorded, multiprocessors=0), "batch", "2")


def test_kernels_hidden_in_a_graph_are_not_told() -> None:
    recorded = recording([Call(GRAPH, 0, 30_000)], [Operation(20_000, 90_000, 0, kind="graph")])
    for change, value in (("faster_kernels", "matmul:2"), ("fused_elementwise", ""), ("batch", "2")):
        with pytest.raises(NotCapturedError, match="CUDA graphs as a whole"):
            apply(recorded, change, value)


def test_a_range_is_skipped_with_its_calls_and_kernels() -> None:
    # The range holds the first launch and its wait; 10 µs of host code follow it.
    out = lengths(apply(READS, "without_range", "part", spans=[(0, 107_000)]))
    assert out.length_ns == 224_000 - 107_000
    assert apply(READS, "without_range", "elsewhere") is None


def test_data_stays_on_the_gpu() -> None:
    edited = apply(copies(), "data_on_gpu")
    assert edited is not None
    assert edited.length.tolist() == [0, 20_000, 0, 0, 20_000, 0]
    assert edited.waits == {}


def test_a_compiler_fuses_more_than_elementwise_kernels() -> None:
    """A sum, a product, a reduction; then a matrix product. The host needs 20 µs per launch."""
    calls = [Call(LAUNCH, 22_000 * i, 22_000 * i + 2_000) for i in range(4)]
    names = ("elementwise", "elementwise", "reduction", "matmul")
    operations = [Operation(one.start + 4_000, one.start + 14_000, i, class_=names[i]) for i, one in enumerate(calls)]
    recorded = recording([*calls, Call(WAIT, 68_000, 82_000)], operations)
    fused, every, hopeful = (
        lengths(apply(recorded, "compiled", bound=bound)).length_ns for bound in ("cautious", "apply", "hopeful")
    )
    assert apply(recorded, "fused_elementwise") is not None
    edited = apply(recorded, "compiled")
    assert edited is not None
    assert edited.length.tolist() == [10_000, 0, 0, 10_000]
    assert edited.gap.tolist() == [0, 0, 0, 5_000, 0]
    assert hopeful <= every < fused < 82_000


def test_small_calls_before_a_launch_are_the_framework_s() -> None:
    """Before each of three launches: 8 µs, a call of 1 µs, 3 µs; before the last one, also 600 µs of the program."""
    calls, operations, names = list[Call](), list[Operation](), ("elementwise", "elementwise", "matmul")
    now = 0
    for class_ in names:
        now += 600_000 if class_ == "matmul" else 0
        if class_ == "matmul":
            calls.append(Call("cuKernelGetName", now, now + 1_000))
            now += 1_000
        calls.append(Call("cuKernelGetName", now + 8_000, now + 9_000))
        calls.append(Call(LAUNCH, now + 12_000, now + 14_000))
        operations.append(Operation(now + 16_000, now + 17_000, len(calls) - 1, class_=class_))
        now += 14_000
    edited = apply(recording(calls, operations), "compiled")
    assert edited is not None
    # The first call is the origin. The second launch is gone; of 11 µs before the third, 8/11 and 3/11 of 5 µs stay.
    assert edited.gap.tolist() == [0, 3_000, 0, 0, 600_000, 3_636, 1_363]


def test_what_the_host_stages_goes_with_the_copy() -> None:
    """At 5 bytes per ns, 4 MB need 0.8 ms: 0.2 of the 1 ms before the copy stay. Work without a copy after it stays."""
    copied = 4_000_000
    calls = [
        Call(LAUNCH, 0, 2_000), Call("cuCtxSetCurrent", 902_000, 903_000),
        Call("cuMemcpyHtoDAsync_v2", 1_003_000, 1_005_000), Call(LAUNCH, 1_105_000, 1_107_000),
    ]  # fmt: skip
    operations = [
        Operation(4_000, 10_000, 0),
        Operation(1_007_000, 1_090_000, 2, kind="copy", from_host=True, bytes=copied),
        Operation(1_109_000, 1_120_000, 3),
    ]
    edited, cautious = (apply(recording(calls, operations), "data_on_gpu", bound=one) for one in ("apply", "cautious"))
    assert edited is not None
    assert cautious is not None
    assert edited.gap.tolist() == [0, 180_000, 20_000, 100_000]
    assert cautious.gap.tolist() == [0, 900_000, 100_000, 100_000]


def test_collectives_start_as_their_data_is_there() -> None:
    """Six kernels of 20 µs, then three collectives of 20 µs on their own stream, and a kernel that waits for them."""
    calls = [Call(LAUNCH, 3_000 * i, 3_000 * i + 2_000) for i in range(10)]
    operations = [Operation(4_000 + 20_000 * i, 24_000 + 20_000 * i, i) for i in range(6)]
    operations += [
        Operation(126_000 + 20_000 * i, 146_000 + 20_000 * i, 6 + i, stream=1, class_="communication") for i in range(3)
    ]
    operations.append(Operation(188_000, 190_000, 9))
    recorded = recording(calls, operations)
    out = lengths(apply(recorded, "overlapped_collectives"))
    # Backward is the last four kernels. The first collective has its data after one of them, at 64 µs.
    assert out.begin[6:9] == [66_000, 86_000, 126_000]
    assert out.end[9] == 190_000 - 40_000
    assert apply(recorded, "overlapped_collectives", bound="cautious") is None


def test_time_of_the_profiler_goes_from_host_code_and_calls_that_do_not_wait() -> None:
    """It flushes for 6 µs, of which 4 are before a launch and 2 in it, and for 9 µs in a wait."""
    recorded = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 10_000, 15_000), Call(WAIT, 15_000, 50_000)],
        [Operation(5_000, 6_000, 0), Operation(18_000, 48_000, 1)],
    )
    built = graph.build(recorded)
    spans = np.array([[recorded.threads[0], 6_000, 12_000], [recorded.threads[0], 20_000, 29_000], [1, 0, 9_000]])
    part = Part(np.ones(3, np.bool_), np.ones(2, np.bool_), {}, profiler=spans)
    edited = CHANGES["without_profiler"].apply(built, part, "")
    assert edited is not None
    assert (built.gap - edited.gap).tolist() == [0, 4_000, 0]
    assert (built.cost - edited.cost).tolist() == [0, 2_000, 0]
    assert apply(recorded, "without_profiler") is None
