"""Removed waits and reads of results, by hand: the work that goes with them, and the work that stays."""

from typing import Any

import numpy as np
import pytest

from profiledb.replay.recording import Recording
from tests.profiledb.replay.test_changes import apply, lengths
from tests.profiledb.replay.test_replay import LAUNCH, READS, WAIT
from tests.support.recordings import Call, Operation, recording

COPY = "cudaMemcpyAsync_v3020"


def test_waits_of_a_range_go_and_others_stay() -> None:
    out = lengths(apply(READS, "without_waits_in", "part", spans=[(1_000, 108_000)]))
    # The first wait is in the range, the second one is not.
    assert (out.begin[1], out.call_end[3]) == (105_000, 207_000)
    assert apply(READS, "without_waits_in", "part", spans=[(200_000, 201_000)]) is None
    assert apply(READS, "without_waits_in", "elsewhere") is None
    # Calls of a name are those of all its versions.
    assert lengths(apply(READS, "without_waits_by", "cudaDeviceSynchronize")).length_ns == 205_000
    assert apply(READS, "without_waits_by", "cudaStreamSynchronize") is None


def launch_six(calls: list[Call], operations: list[Operation], now: int) -> int:
    """Launch six kernels, 1 µs apart, and return the time after them."""
    for _ in range(6):
        operations.append(Operation(now + 3_000, now + 4_000, len(calls)))
        calls.append(Call(LAUNCH, now, now + 2_000))
        now += 3_000
    return now


def test_the_framework_s_time_around_a_wait_goes_with_it() -> None:
    """Launches are 1 µs apart; at least 5 µs precede each wait and 4 µs follow it; 50 µs precede one of them."""
    calls, operations, now = list[Call](), list[Operation](), 0
    for step in range(6):
        now = launch_six(calls, operations, now)
        now += 49_000 if step == 3 else 4_000
        calls.append(Call(WAIT, now, now + 2_000))
        now += 6_000
    recorded = recording(calls, operations)
    edited = apply(recorded, "without_waits")
    assert edited is not None
    waits = np.flatnonzero(recorded.calls.name == recorded.calls.names.index(WAIT))
    around = [int(edited.gap[i] + edited.gap[i + 1]) for i in waits[:-1]]
    # 9 µs around a wait less the usual 1 µs between calls are the framework's; 45 µs more are the program's.
    assert around == [1_000, 1_000, 1_000, 46_000, 1_000]


def test_work_after_each_wait_is_no_framework_s() -> None:
    """The program works for 100 µs after each wait, as if it were a part of it: 20 µs at most are the framework's."""
    calls, operations, now = list[Call](), list[Operation](), 0
    for _ in range(6):
        now = launch_six(calls, operations, now)
        calls.append(Call(WAIT, now, now + 2_000))
        now += 102_000
    recorded = recording(calls, operations)
    edited = apply(recorded, "without_waits")
    assert edited is not None
    earlier = recorded.calls.start[-1] - lengths(edited).call_begin[-1]
    assert earlier == 5 * (2_000 + 20_000), "of the five waits before the last one"


def test_larger_results_are_copied_without_a_wait() -> None:
    """Six times: a kernel of 40 µs, and a copy of 1 MB to the host whose call returns with it; then 10 µs of Python."""
    calls, operations, now = list[Call](), list[Operation](), 0
    for _ in range(6):
        operations.append(Operation(now + 3_000, now + 43_000, len(calls)))
        calls.append(Call(LAUNCH, now, now + 2_000))
        copied = Operation(now + 43_000, now + 53_000, len(calls), kind="copy", bytes=1_000_000, to_host=True)
        operations.append(copied)
        calls.append(Call(COPY, now + 3_000, now + 54_000))
        now += 64_000
    operations.append(Operation(now + 3_000, now + 4_000, len(calls)))
    recorded = recording([*calls, Call(LAUNCH, now, now + 2_000)], operations)
    edited = apply(recorded, "without_waits")
    assert edited is not None
    # A call that waits for nothing takes 5 µs of its 51. The copies stay.
    assert lengths(edited).call_begin[-1] == 6 * (64_000 - 51_000 + 5_000)
    assert np.count_nonzero(edited.length == 10_000) == 6


def reading(around: int, *, then_waits: bool = False) -> Recording:
    """Six times: six kernels launched 1 µs apart, and a read of 4 bytes with so much time of the host around it.

    The call waits for the copy, or a synchronization does right behind it.
    """
    calls, operations, now = list[Call](), list[Operation](), 0
    for _ in range(6):
        now = launch_six(calls, operations, now)
        now += around // 2 - 1_000
        copied = now + (7_000 if then_waits else 3_000)
        operations.append(Operation(copied, copied + 1_000, len(calls), kind="copy", bytes=4, to_host=True))
        calls.append(Call(COPY, now, now + 6_000))
        now += 6_000
        if then_waits:
            calls.append(Call("cudaStreamSynchronize_v3020", now, now + 3_000))
            now += 3_000
        now += around - around // 2
    operations.append(Operation(now + 3_000, now + 4_000, len(calls)))
    return recording([*calls, Call(LAUNCH, now, now + 2_000)], operations)


@pytest.mark.parametrize("then_waits", [False, True])
def test_results_are_read_later_without_the_framework_s_time(then_waits: bool) -> None:
    """10 µs of Python surround each read; launches are 1 µs apart."""
    recorded = reading(10_000, then_waits=then_waits)
    usual, one_by_one = (
        lengths(apply(recorded, "without_waits", bound=bound)).call_begin[-1] for bound in ("apply", "cautious")
    )
    # One by one, a call of 6 µs takes 5, and no wait follows. Later, it takes none, nor do 9 of the 10 µs around it.
    assert recorded.calls.start[-1] - one_by_one == 6 * (4_000 if then_waits else 1_000)
    assert one_by_one - usual == 6 * 5_000 + 6 * 9_000


def test_what_a_program_does_with_a_result_stays() -> None:
    recorded = reading(61_000)
    later = lengths(apply(recorded, "without_waits")).call_begin[-1]
    assert recorded.calls.start[-1] - later == 6 * (6_000 + 20_000), "no framework takes more than 20 µs for a read"


def test_results_that_no_call_waits_for_are_still_read() -> None:
    """The copies end 1 µs after their calls return, and nothing waits for them."""
    calls, operations = list[Call](), list[Operation]()
    for now in range(0, 120_000, 20_000):
        operations += [
            Operation(now + 3_000, now + 4_000, len(calls)),
            Operation(now + 16_000, now + 17_000, len(calls) + 1, kind="copy", bytes=4, to_host=True),
        ]
        calls += [Call(LAUNCH, now, now + 2_000), Call(COPY, now + 12_000, now + 15_000)]
    operations.append(Operation(123_000, 124_000, len(calls)))
    recorded = recording([*calls, Call(LAUNCH, 120_000, 122_000), Call(WAIT, 122_000, 126_000)], operations)
    edited = apply(recorded, "without_waits")
    assert edited is not None
    assert edited.cost.tolist() == [2_000, 3_000] * 6 + [2_000, 0]


@pytest.mark.parametrize("behind", ["DeviceSelectSweepKernel", "other"])
def test_the_search_for_positions_goes_with_the_read_of_their_number(behind: str) -> None:
    """PyTorch's `nonzero`: two kernels count, the CPU reads the number, another kernel lists the positions."""
    names = ["other", "DeviceReduceKernel", "DeviceReduceSingleTileKernel", COPY, behind, "other"]
    calls, operations, now = list[Call](), list[Operation](), 0
    for _ in range(6):
        for name in names:
            copied = {"kind": "copy", "bytes": 4, "to_host": True} if name == COPY else {"class_": name}
            operations.append(Operation(now + 3_000, now + 4_000, len(calls), **copied))
            calls.append(Call(COPY if name == COPY else LAUNCH, now, now + (5_000 if name == COPY else 2_000)))
            now += 6_000
    edited = apply(recording(calls, operations), "without_waits")
    assert edited is not None
    searches = behind != "other"
    gone = [name != "other" and (searches or name == COPY) for name in names] * 6
    assert [cost == 0 for cost in edited.cost.tolist()] == gone
    kernels = [searches and name not in ("other", COPY) for name in names] * 6
    assert [length == 0 for length in edited.length.tolist()] == kernels
    led = np.array(kernels)
    assert not edited.gap[led].any()
    assert edited.gap[1:][~led[1:]].all()


@pytest.mark.parametrize("size", [1, 4])
def test_a_condition_goes_with_the_read_of_its_truth_value(size: int) -> None:
    """`if torch.isnan(x).any()` after each layer: a comparison, a memset, a reduction, and a read of one byte.

    The memset before the comparison belongs to another kernel. A read of four bytes reads a number.
    """
    row: list[dict[str, Any]] = [
        {"class_": "matmul"}, {"kind": "memset", "bytes": 4}, {"class_": "compare", "condition": True},
        {"kind": "memset", "bytes": 8}, {"class_": "any", "condition": True},
        {"kind": "copy", "bytes": size, "to_host": True}, {"class_": "matmul"},
    ]  # fmt: skip
    calls, operations, now = list[Call](), list[Operation](), 0
    for _ in range(6):
        for told in row:
            operations.append(Operation(now + 3_000, now + 4_000, len(calls), **told))
            is_copy = told.get("kind") == "copy"
            calls.append(Call(COPY if is_copy else LAUNCH, now, now + (5_000 if is_copy else 2_000)))
            now += 6_000
    recorded = recording(calls, operations)
    edited, kept = (apply(recorded, "without_waits", bound=bound) for bound in ("apply", "cautious"))
    assert edited is not None
    assert kept is not None
    gone = [size == 1 and place in (1, 2, 3, 4) for place in range(len(row))] * 6
    assert [length == 0 for length in edited.length.tolist()] == gone
    assert [cost == 0 for cost in edited.cost.tolist()] == [one or n % 7 == 5 for n, one in enumerate(gone)]
    assert not edited.gap[np.array(gone)][1:].any()
    assert kept.length.all(), "the interval reaches to conditions that are computed as before"
