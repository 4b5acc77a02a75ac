"""Join the recordings of the ranks of one run into one, on one clock, with the collectives that they took part in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from profiledb.errors import NotCapturedError
from profiledb.replay.collectives import Matched, is_alike, keep_overlapping, list_series, match
from profiledb.replay.recording import Calls, Flags, Integers, Operations, Recording

MOST_RANKS = 16
"""Maximum number of reports that are replayed together."""
LEAST_MATCHED = 0.9
"""Minimum fraction of the operations between ranks that are known to be one with those of the others."""
_THREAD_BITS = 52
"""Bits of a thread's id that differ within a machine: process and thread."""


@dataclass(frozen=True)
class Joined:
    """The ranks of a run as one recording.

    Attributes:
        recording: calls and operations of all ranks, on the clock of the first.
        collectives: the operations of each collective, one on each GPU of its communicator.
        shift_ns: the shift of the times of each rank.
        rank_of_call: the place of the rank that made each call.
    """

    recording: Recording
    collectives: list[tuple[int, ...]]
    shift_ns: list[int]
    rank_of_call: Integers


def get_thread_id(rank: int, thread: int) -> int:
    """Return the id of a thread in the joined recording; those of the first rank stay."""
    return thread if not rank else (rank << _THREAD_BITS) | (thread & ((1 << _THREAD_BITS) - 1))


def move_spans(spans: Integers, rank: int, shift_ns: int) -> Integers:
    """Return rows of thread, start and end of a rank on the clock and with the threads of the joined recording."""
    threads = np.array([get_thread_id(rank, thread) for thread in spans[:, 0].tolist()], np.int64)
    return np.column_stack([threads, spans[:, 1:] + shift_ns])


def join(ranks: Sequence[Recording], inside: Sequence[Flags]) -> Joined:
    """Join the recordings of ranks; ``inside`` marks the operations of the same steps on each.

    The clocks of captures differ. A collective ends on all its ranks at about the same time, so the median of the
    differences between these ends is that of the clocks.

    Raises:
        NotCapturedError: the ranks did not run the same collectives in these steps.
    """
    series = [
        one
        for rank, (recorded, mask) in enumerate(zip(ranks, inside, strict=True))
        for one in list_series(recorded.operations, mask, rank)
    ]
    matched = match(series, len(ranks))
    lost = {rank for rank in range(len(ranks)) if matched.clock[rank] != matched.clock[0]}
    if lost or not series:
        alike = any(is_alike(a, b) for a, b in combinations(series, 2) if a.rank != b.rank and {a.rank, b.rank} & lost)
        if not alike:
            raise NotCapturedError("Their reports do not have the same collectives in the same steps.")
        raise NotCapturedError(
            "The collectives of the reports of this run do not end together on all ranks.",
            why="The reports are not of one run, or only point-to-point transfers connect their ranks.",
        )
    known = {(one.rank, place) for members in matched.communicators for one in members for place in one.places.tolist()}
    for rank in range(len(ranks)):
        took = [(one.rank, place) in known for one in series if one.rank == rank for place in one.places.tolist()]
        if np.mean(took or [True]) < LEAST_MATCHED:
            raise NotCapturedError(
                "Many operations between ranks have no counterpart in the other reports of this run.",
                why="Point-to-point transfers, such as those of a pipeline, are not matched.",
            )
    return _join_recordings(ranks, matched)


def _join_recordings(ranks: Sequence[Recording], matched: Matched) -> Joined:
    kernels = sorted({kernel for one in ranks for kernel in one.operations.kernels})
    call_names = sorted({name for one in ranks for name in one.calls.names})
    calls, operations, threads = [], [], list[int]()
    first_call = first_stream = first_device = 0
    for rank, (one, shift) in enumerate(zip(ranks, matched.shift_ns, strict=True)):
        codes = np.array([call_names.index(name) for name in one.calls.names] or [0], np.int64)
        calls.append(Calls(
            one.calls.start + shift, one.calls.end + shift, one.calls.thread + len(threads), codes[one.calls.name],
            one.calls.id, call_names,
        ))  # fmt: skip
        mine = one.operations
        codes = np.array([kernels.index(kernel) for kernel in mine.kernels] + [-1], np.int64)
        operations.append(replace(
            mine, start=mine.start + shift, end=mine.end + shift,
            call=np.where(mine.call >= 0, mine.call + first_call, -1), stream=mine.stream + first_stream,
            device=mine.device + first_device, name=codes[mine.name],
        ))  # fmt: skip
        threads += [get_thread_id(rank, thread) for thread in one.threads]
        first_call += len(one.calls)
        first_stream += int(mine.stream.max(initial=-1)) + 1
        first_device += int(mine.device.max(initial=-1)) + 1
    of_rank = np.repeat(np.arange(len(ranks)), [len(one) for one in calls])
    start, end = (np.concatenate([getattr(one, name) for one in calls]) for name in ("start", "end"))
    order = np.lexsort((-end, start))
    place = _invert_order(order)
    every = {
        field: np.concatenate([getattr(one, field) for one in operations])
        for field in Operations.__dataclass_fields__ if field != "kernels"
    }  # fmt: skip
    moved = np.lexsort((every["end"], every["start"]))
    every["call"] = np.where(every["call"] >= 0, place[every["call"]], -1)
    firsts = np.cumsum([0, *(len(one) for one in operations)])
    at = _invert_order(moved)
    groups = [
        at[rows + firsts[[one.rank for one in members]]]
        for members, rows in zip(matched.communicators, matched.list_operations(), strict=True)
    ]
    fields: dict[str, Any] = {field: values[moved] for field, values in every.items()} | {"kernels": kernels}
    thread, name, ids = (
        np.concatenate([getattr(one, field) for one in calls])[order] for field in ("thread", "name", "id")
    )
    joined = Calls(start[order], end[order], thread, name, ids, call_names)
    recording = replace(ranks[0], calls=joined, operations=Operations(**fields), threads=threads)
    collectives = [one for rows in groups for one in keep_overlapping(recording.operations, rows)]
    return Joined(recording, collectives, matched.shift_ns, of_rank[order])


def _invert_order(order: Integers) -> Integers:
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place
