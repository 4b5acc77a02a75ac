"""The part that a change applies to, in the recording of one report or of all ranks of a run."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from profiledb.replay import ranks
from profiledb.replay.graph import Graph
from profiledb.replay.part import Part, find_launched
from profiledb.replay.recording import KERNEL, Calls, Flags, Floats, Integers, Recording
from profiledb.replay.roofs import Roofs
from profiledb.replay.source import Source
from profiledb.replay.window import Window


def find_inside(calls: Calls, window: Window, shift: int = 0) -> Flags:
    """Return the calls that start in a window of a report whose clock is ahead by ``shift`` ns."""
    return np.asarray((calls.start - shift >= window.begin_ns) & (calls.start - shift < window.end_ns))


def build_part(built: Graph, sources: Sequence[Source], joined: ranks.Joined | None) -> Part:
    """Return the part of a graph whose calls start in the windows of the reports that it is of."""
    calls, first = built.recording.calls, sources[0]
    inside, shifts = np.zeros(len(calls), np.bool_), joined.shift_ns if joined else [0]
    spans: dict[str, list[Integers]] = {}
    drivers, profiler = dict[int, int](), list[Integers]()
    for rank, (one, shift) in enumerate(zip(sources, shifts, strict=True)):
        inside |= find_inside(calls, one.window, shift) & (joined is None or joined.rank_of_call == rank)
        for name, ranges in one.ranges.items():
            spans.setdefault(name, []).append(ranks.move_spans(ranges, rank, shift))
        profiler.append(ranks.move_spans(one.profiler, rank, shift))
        drivers |= {
            ranks.get_thread_id(rank, tid): ranks.get_thread_id(rank, driver) for tid, driver in one.drivers.items()
        }
    every = {name: np.concatenate(by_rank) for name, by_rank in spans.items()}
    operators = frozenset[str]().union(*(one.operators for one in sources))
    launched = find_launched(built.recording, inside)
    return Part(
        inside, launched, every, len(first.window.steps), operators, drivers, np.concatenate(profiler),
        cache(partial(_read_shares, built.recording, launched, [one.roofs for one in sources], joined)),
        cache(partial(_read_recomputed, built.recording, launched, [one.recomputed for one in sources], joined)),
    )  # fmt: skip


def _read_shares(
    recorded: Recording,
    chosen: Flags,
    roofs: Sequence[Callable[[], Roofs]],
    joined: ranks.Joined | None,
) -> tuple[Floats, Floats]:
    """Return ``Roofs.find`` of the chosen kernels of all ranks; NaN for all other operations."""
    operations = recorded.operations
    all_shares = np.full(len(operations), np.nan), np.full(len(operations), np.nan)
    for mine, read in zip(_split_kernels(recorded, chosen, len(roofs), joined), roofs, strict=True):
        for shares, values in zip(all_shares, read().find(operations.id[mine]), strict=True):
            shares[mine] = values
    return all_shares


def _read_recomputed(
    recorded: Recording,
    chosen: Flags,
    recomputed: Sequence[Callable[[], Integers]],
    joined: ranks.Joined | None,
) -> Flags:
    """Return which of the chosen operations of all ranks compute activations again."""
    mask = np.zeros(len(recorded.operations), np.bool_)
    for mine, read in zip(_split_kernels(recorded, chosen, len(recomputed), joined), recomputed, strict=True):
        mask[mine] = np.isin(recorded.operations.id[mine], read())
    return mask


def _split_kernels(recorded: Recording, chosen: Flags, count: int, joined: ranks.Joined | None) -> Iterator[Flags]:
    """Yield the chosen kernels of each rank."""
    kernels = chosen & (recorded.operations.kind == KERNEL)
    for rank in range(count):
        mine = kernels.copy()
        if joined:
            mine[mine] = joined.rank_of_call[recorded.operations.call[mine]] == rank
        yield mine
