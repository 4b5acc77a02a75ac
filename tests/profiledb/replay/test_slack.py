"""Slack by hand, and of random programs: a delay within the slack costs nothing, and 1 ns more costs 1 ns."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiledb.replay import graph, simulation, slack
from profiledb.replay.part import Part
from profiledb.replay.recording import Recording
from tests.profiledb.replay.test_replay import ACTIONS, LAUNCH, READS, WAIT
from tests.support.recordings import Call, Operation, Program, recording


def slacks(recorded: Recording) -> slack.Latest:
    """The slack of each call and operation, of a program that ends with its last operation or call."""
    built = graph.build(recorded)
    out = simulation.replay(built)
    end = max([*out.end, *out.call_end])
    found = slack.compute_latest(built, out, np.full(len(out.end), end), dict.fromkeys(range(len(out.call_end)), end))
    return slack.Latest(found.call - out.call_begin, found.returned - out.call_end, found.operation - out.begin)


def test_a_short_kernel_beside_a_long_one_has_the_rest_of_it() -> None:
    beside = recording(
        [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 2_000, 4_000), Call(WAIT, 4_000, 108_000)],
        [Operation(5_000, 105_000, 0, stream=0), Operation(7_000, 60_000, 1, stream=1)],
    )
    found = slacks(beside)
    assert found.operation.tolist() == [0, 45_000]
    # The first launch delays the long kernel. The wait may begin as the long kernel ends, the second launch before it.
    assert found.call.tolist() == [0, 45_000, 101_000]
    assert found.returned.tolist() == [45_000, 101_000, 0]


def test_a_program_that_waits_for_each_kernel_has_slack_nowhere_else() -> None:
    found = slacks(READS)
    assert found.operation.tolist() == [0, 0]
    assert found.returned[[1, 3]].tolist() == [0, 0]
    # Each wait may begin late, until its kernel ends: 105 and 222 µs.
    assert found.call.tolist() == [0, 103_000, 0, 103_000]


def test_the_slack_of_a_collective_is_that_of_the_rank_that_comes_early() -> None:
    recorded = recording(
        [Call(LAUNCH, 0, 2_000, thread=0), Call(LAUNCH, 40_000, 42_000, thread=1)],
        [
            Operation(5_000, 65_000, 0, stream=0, device=0, class_="communication"),
            Operation(45_000, 65_000, 1, stream=1, device=1, class_="communication"),
        ],
    )
    found = slacks(recorded)
    assert found.operation.tolist() == [40_000, 0]
    assert found.call.tolist() == [40_000, 0]


def test_rows_name_kernels_calls_and_ranges() -> None:
    built = graph.build(READS)
    out = simulation.replay(built)
    part = Part(np.ones(4, np.bool_), np.ones(2, np.bool_), {"load": np.array([[READS.threads[0], 108_000, 114_000]])})
    rows = slack.measure_part(built, out, part, slack.compute_latest(built, out, np.full(2, 222_000), {3: 224_000}))
    told = {(row.kind, row.name): (row.count, row.critical, row.ns, row.least_ns) for row in rows}
    assert told == {
        ("kernel", "other"): (2, 2, 200_000, 0),
        ("call", "cudaDeviceSynchronize"): (2, 2, 210_000, 0),
        ("call", "cudaLaunchKernel"): (2, 2, 4_000, 0),
        ("range", "load"): (1, 1, 6_000, 0),
    }


def length(built: graph.Graph) -> int:
    out = simulation.replay(built)
    return max([*out.call_end, *out.end])


@given(st.lists(ACTIONS, min_size=1, max_size=3), st.data())
def test_being_late_costs_exactly_what_exceeds_the_slack(
    threads: list[list[tuple[str, int, int]]], data: st.DataObject
) -> None:
    recorded = Program(threads).run()
    if not len(recorded.operations):
        return
    built, found = graph.build(recorded), slacks(recorded)
    before = length(built)
    j = data.draw(st.integers(0, len(recorded.operations) - 1))
    i = data.draw(st.integers(0, len(recorded.calls) - 1))
    for more, cost in ((int(found.operation[j]), 0), (int(found.operation[j]) + 7, 7)):
        longer = built.length.copy()
        longer[j] += more
        assert length(replace(built, length=longer)) == before + cost
    for more, cost in ((int(found.call[i]), 0), (int(found.call[i]) + 7, 7)):
        later = built.gap.copy()
        later[i] += more
        assert length(replace(built, gap=later)) == before + cost
