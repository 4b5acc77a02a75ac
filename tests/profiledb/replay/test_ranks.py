"""Ranks of one run: made-up ones, each with its own clock, and the samples of four GPUs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library
from profiledb.replay import graph, prediction, ranks, simulation
from profiledb.replay.recording import Recording
from profiledb.studies.scaling.family import find_ranks
from tests.profiledb.replay.test_replay import LAUNCH
from tests.support.ddp_samples import needs_ddp
from tests.support.recordings import Call, Operation, recording
from tests.support.torch_samples import RANKS, needs_torch_samples


def one_rank(clock: int, arrivals: list[int], ends: list[int]) -> Recording:
    """A rank that launches a collective at each arrival; each runs from 5 µs later to the common end."""
    calls = [Call(LAUNCH, at + clock, at + clock + 2_000) for at in arrivals]
    operations = [
        Operation(at + clock + 5_000, end + clock, i, class_="communication")
        for i, (at, end) in enumerate(zip(arrivals, ends, strict=True))
    ]
    return recording(calls, operations)


def joined(*members: Recording) -> ranks.Joined:
    return ranks.join(members, [np.ones(len(one.operations), np.bool_) for one in members])


def test_the_other_rank_waits_for_the_one_that_comes_last() -> None:
    """The second rank arrives 40 µs later, by a clock 7 ms ahead; data moves for 20 µs."""
    ends = [65_000, 165_000]
    found = joined(one_rank(0, [0, 100_000], ends), one_rank(7_000_000, [40_000, 140_000], ends))
    assert found.shift_ns == [0, -7_000_000]
    assert found.collectives == [(0, 1), (2, 3)]
    assert found.rank_of_call.tolist() == [0, 1, 0, 1]
    built = graph.build(found.recording, found.collectives)
    out = simulation.replay(built)
    assert out.end == [65_000, 65_000, 165_000, 165_000]
    # The second rank comes 30 µs earlier to the first collective, and then to the second one, too.
    sooner = replace(built, gap=np.array([0, 10_000, *built.gap[2:]]))
    assert simulation.replay(sooner).end == [35_000, 35_000, 135_000, 135_000]


def mesh_rank(clock: int, pair_ends: list[int], column_ends: list[int]) -> Recording:
    """A rank with a communicator in each of two streams; all its collectives take 20 µs once launched."""
    ends = sorted([(end, 0) for end in pair_ends] + [(end, 1) for end in column_ends])
    calls = [Call(LAUNCH, end + clock - 25_000, end + clock - 23_000) for end, _ in ends]
    operations = [
        Operation(end + clock - 20_000, end + clock, i, stream, class_="communication")
        for i, (end, stream) in enumerate(ends)
    ]
    return recording(calls, operations)


PAIRS = {(0, 1): [100_000, 1_300_000, 2_900_000], (2, 3): [200_000, 1_500_000, 2_800_000]}
COLUMNS = {(0, 2): [600_000, 2_000_000, 3_500_000], (1, 3): [500_000, 2_300_000, 3_600_000]}
"""Ends of the collectives of four ranks in a mesh of two by two."""


def test_each_communicator_of_a_mesh_has_its_own_ranks_and_ties_the_clocks() -> None:
    """Rank 3 shares no communicator with rank 0: its clock follows from those of ranks 1 and 2."""
    clocks = [0, 5_000_000, -3_000_000, 40_000_000]
    members = [
        mesh_rank(clocks[rank], *(next(ends for of, ends in found.items() if rank in of) for found in (PAIRS, COLUMNS)))
        for rank in range(4)
    ]
    found = joined(*members)
    assert found.shift_ns == [-one for one in clocks]
    assert len(found.collectives) == 4 * 3
    operations = found.recording.operations
    by_end = {end: of for every in (PAIRS, COLUMNS) for of, ends in every.items() for end in ends}
    for group in found.collectives:
        (end,) = {int(operations.end[j]) for j in group}
        assert {int(found.rank_of_call[operations.call[j]]) for j in group} == {*by_end[end]}
    # One report of all four GPUs tells the same.
    assert {*graph.build(found.recording).partners} == {*found.collectives}


def test_reports_with_other_collectives_are_not_of_one_run() -> None:
    with pytest.raises(NotCapturedError, match="the same collectives"):
        joined(one_rank(0, [0, 100_000], [65_000, 165_000]), one_rank(0, [0], [65_000]))
    with pytest.raises(NotCapturedError, match="do not end together"):
        joined(one_rank(0, [0, 1_000_000], [65_000, 1_065_000]), one_rank(0, [0, 500_000], [65_000, 565_000]))


TIMES = st.lists(st.tuples(st.integers(6_000, 90_000), st.integers(6_000, 90_000)), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(TIMES, st.integers(-(10**9), 10**9))
def test_ranks_replay_as_a_plain_simulation_of_both_with_any_clocks(work: list[tuple[int, int]], clock: int) -> None:
    """Each rank works, then launches a collective and waits for it; it ends on both 20 µs after the last arrival.

    Then the second rank works half as long.
    """

    def run(halves: int, clock: int) -> list[Recording]:
        calls = [[Call("cuInit", 0, 1_000)], [Call("cuInit", clock, clock + 1_000)]]
        operations, now = [list[Operation](), list[Operation]()], 1_000
        for both in work:
            arrivals = [now + both[0], now + both[1] // halves]
            now = max(arrivals) + 25_000
            for rank, at in enumerate(arrivals):
                shift = rank * clock
                operations[rank].append(
                    Operation(at + 5_000 + shift, now + shift, len(calls[rank]), class_="communication")
                )
                calls[rank] += [
                    Call(LAUNCH, at + shift, at + 2_000 + shift),
                    Call("cudaStreamSynchronize_v3020", at + 2_000 + shift, now + shift),
                ]
        return [recording(*one) for one in zip(calls, operations, strict=True)]

    found = joined(*run(1, clock))
    assert found.shift_ns == [0, -clock]
    built = graph.build(found.recording, found.collectives)
    operations = found.recording.operations
    out = simulation.replay(built)
    assert (out.begin, out.end) == (operations.start.tolist(), operations.end.tolist())
    launches = operations.call[found.rank_of_call[operations.call] == 1]
    gap = built.gap.copy()
    gap[launches] //= 2
    truth = joined(*run(2, clock)).recording.operations
    out = simulation.replay(replace(built, gap=gap))
    assert sorted(out.begin) == truth.start.tolist()
    assert sorted(out.end) == sorted(truth.end.tolist())


@pytest.mark.slow("replays four reports together, and one of them alone")
@needs_ddp
def test_the_samples_of_four_ranks_replay_together(ddp: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Catalog, "reports")  # a library may have any number of them
    report = ddp.find("ddp_overlap_4_rank2.sqlite")
    mates = find_ranks(ddp, report)
    assert mates == [ddp.find(f"ddp_overlap_4_rank{rank}.sqlite").id for rank in (0, 1, 3)]
    alone = prediction.predict(ddp, report.id)
    found = prediction.predict(ddp, report.id, [], mates)
    assert (alone.ranks, found.ranks, found.alone) == (1, 4, "")
    assert found.baseline_ns == alone.baseline_ns
    assert found.error_pct < 0.5
    faster = [("faster_kernels", "communication:1000000")]
    saved = [prediction.predict(ddp, report.id, faster, peers).predictions[0].saving_ns for peers in ([], mates)]
    assert saved[1] < saved[0], "most of an operation of NCCL is the wait for the other ranks, which stays"


def test_a_report_of_one_gpu_has_no_other_ranks(nsys_samples: Library) -> None:
    assert find_ranks(nsys_samples, nsys_samples.find("idle_fixed.nsys-rep")) == []


@needs_torch_samples
def test_traces_of_two_ranks_replay_together(torch_samples: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Catalog, "reports")
    report = torch_samples.find(RANKS[1])
    mates = find_ranks(torch_samples, report)
    assert mates == [torch_samples.find(RANKS[0]).id]
    found = prediction.predict(torch_samples, report.id, [], mates)
    assert (found.ranks, found.steps, found.alone) == (2, 3, "")


def test_reports_that_do_not_fit_are_left_out_with_the_reason(nsys_samples: Library) -> None:
    names = ("transformer_steps.nsys-rep", "transformer_training.nsys-rep", "attention.nsys-rep", "idle_fixed.nsys-rep")
    four, five, none, many = (nsys_samples.find(name).id for name in names)
    for report, peer, reason in ((four, five, "same collectives"), (none, four, "No steps"), (many, four, "lacks")):
        found = prediction.predict(nsys_samples, report, [("cuda_graph", "")], [peer])
        assert found.ranks == 1
        assert reason in found.alone
