"""Join the recordings of the ranks of one run into one, on one clock, with the collectives that they took part in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiledb.errors import NotCapturedError
from profiledb.replay.graph import TOGETHER_NS
from profiledb.replay.recording import Calls, Flags, Integers, Operations, Recording

MOST_RANKS = 16
"""Maximum number of reports that are replayed together."""
LEAST_MATCHED = 0.9
"""Minimum fraction of the collectives of a rank that end on the others at the same time."""
_BY_NAME = ("names", "classes", "precisions", "of_vectors")
"""Fields of operations that are lists by name."""
_THREAD_BITS = 52
"""Bits of a thread's id that differ within a machine: process and thread."""


@dataclass(frozen=True)
class Joined:
    """The ranks of a run as one recording.

    Attributes:
        recording: calls and operations of all ranks, on the clock of the first.
        collectives: the operations of each collective, one on each GPU.
        shift_ns: what to add to the times of each rank.
        rank_of_call: the place of the rank that made each call.
    """

    recording: Recording
    collectives: list[tuple[int, ...]]
    shift_ns: list[int]
    rank_of_call: Integers


def thread_id(rank: int, thread: int) -> int:
    """Return the id of a thread in the joined recording; those of the first rank stay."""
    return thread if not rank else (rank << _THREAD_BITS) | (thread & ((1 << _THREAD_BITS) - 1))


def join(ranks: Sequence[Recording], inside: Sequence[Flags]) -> Joined:
    """Join the recordings of ranks; ``inside`` marks the operations of the same steps on each.

    The clocks of captures differ. An operation of NCCL ends on all ranks at about the same time, so the median of the
    differences between these ends is that of the clocks.

    Raises:
        NotCapturedError: the ranks did not run the same collectives in these steps.
    """
    lists = [_list_collectives(one, mask) for one, mask in zip(ranks, inside, strict=True)]
    if any(len(one) != len(lists[0]) or not len(one) for one in lists) or any(
        [ranks[0].operations.names[ranks[0].operations.name[i]] for i in lists[0][:, 0]]
        != [one.operations.names[one.operations.name[i]] for i in mine[:, 0]]
        for one, mine in zip(ranks, lists, strict=True)
    ):
        raise NotCapturedError("Their reports do not have the same collectives in the same steps.")
    ends = [one.operations.end[mine[:, 0]] for one, mine in zip(ranks, lists, strict=True)]
    shifts = [int(np.median(ends[0] - one)) for one in ends]
    apart = np.ptp([one + shift for one, shift in zip(ends, shifts, strict=True)], axis=0)
    if np.mean(apart <= TOGETHER_NS) < LEAST_MATCHED:
        raise NotCapturedError(
            "The collectives of the reports of this run do not end together on all ranks.",
            why="They belong to several groups of ranks, or the reports are not of one run.",
        )
    return _join_recordings(ranks, lists, shifts, apart <= TOGETHER_NS)


def _list_collectives(rank: Recording, inside: Flags) -> Integers:
    """Return the operations of each collective of a rank, a column for each of its GPUs."""
    operations = rank.operations
    mine = np.flatnonzero(operations.in_class("communication") & inside)
    devices = np.unique(operations.device[mine])
    columns = [mine[operations.device[mine] == device] for device in devices]
    if not columns or len({len(one) for one in columns}) > 1:
        return np.empty((0, 1), np.int64)
    return np.stack(columns, axis=1)


def _join_recordings(ranks: Sequence[Recording], lists: Sequence[Integers], shifts: list[int], same: Flags) -> Joined:
    names = sorted({told for one in ranks for told in _list_names(one.operations)})
    call_names = sorted({name for one in ranks for name in one.calls.names})
    calls, operations, threads = [], [], list[int]()
    first_call = first_stream = first_device = 0
    for rank, (one, shift) in enumerate(zip(ranks, shifts, strict=True)):
        codes = np.array([call_names.index(name) for name in one.calls.names] or [0], np.int64)
        calls.append(Calls(
            one.calls.start + shift, one.calls.end + shift, one.calls.thread + len(threads), codes[one.calls.name],
            one.calls.id, call_names,
        ))  # fmt: skip
        mine = one.operations
        codes = np.array([names.index(told) for told in _list_names(mine)] + [-1], np.int64)
        operations.append(replace(
            mine, start=mine.start + shift, end=mine.end + shift,
            call=np.where(mine.call >= 0, mine.call + first_call, -1), stream=mine.stream + first_stream,
            device=mine.device + first_device, name=codes[mine.name],
        ))  # fmt: skip
        threads += [thread_id(rank, thread) for thread in one.threads]
        first_call += len(one.calls)
        first_stream += int(mine.stream.max(initial=-1)) + 1
        first_device += int(mine.device.max(initial=-1)) + 1
    of_rank = np.repeat(np.arange(len(ranks)), [len(one) for one in calls])
    start, end = (np.concatenate([getattr(one, name) for one in calls]) for name in ("start", "end"))
    order = np.lexsort((-end, start))
    place = _invert_order(order)
    every = {
        field: np.concatenate([getattr(one, field) for one in operations])
        for field in Operations.__dataclass_fields__ if field not in _BY_NAME
    }  # fmt: skip
    moved = np.lexsort((every["end"], every["start"]))
    every["call"] = np.where(every["call"] >= 0, place[every["call"]], -1)
    firsts = np.cumsum([0, *(len(one) for one in operations)])
    groups = np.concatenate([mine + first for mine, first in zip(lists, firsts, strict=False)], axis=1)[same]
    groups = _invert_order(moved)[groups]
    fields: dict[str, Any] = {field: values[moved] for field, values in every.items()}
    fields |= {field: [told[place] for told in names] for place, field in enumerate(_BY_NAME)}
    thread, name, ids = (
        np.concatenate([getattr(one, field) for one in calls])[order] for field in ("thread", "name", "id")
    )
    recording = Recording(
        Calls(start[order], end[order], thread, name, ids, call_names),
        Operations(**fields),
        threads, ranks[0].multiprocessors, ranks[0].link_rate, ranks[0].peaks,
    )  # fmt: skip
    starts, last = recording.operations.start[groups].max(axis=1), recording.operations.end[groups].min(axis=1)
    return Joined(recording, [tuple(one) for one in groups[starts < last].tolist()], shifts, of_rank[order])


def _list_names(operations: Operations) -> list[tuple[Any, ...]]:
    return [*zip(*(getattr(operations, field) for field in _BY_NAME), strict=True)]


def _invert_order(order: Integers) -> Integers:
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place
