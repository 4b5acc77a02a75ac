"""Changes to collectives: ranks with equal work, and fewer and larger messages."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.replay.graph import LAUNCH_NS, NEAR_NS, Graph
from profiledb.replay.part import Part, find_waiting, mask_launching, measure_waits, remove_operations
from profiledb.replay.recording import KERNEL, Flags, Integers

MOST_MERGED = 10_000
"""Maximum number of collectives that one replaces."""


def balanced_ranks(graph: Graph, part: Part, _: str) -> Graph | None:
    """Give all ranks the mean of their host work and, between two collectives of all, of the time of their kernels and
    copies. A rank with none of these between two collectives gets none.

    Calls of a rank are those of the threads that launch on its GPU. Time in which a call waits is no work.
    """
    operations = graph.recording.operations
    sends = operations.in_class("communication")
    if not np.any(sends & part.operations):
        return None
    if not graph.partners:
        raise NotCapturedError(
            "This report holds one rank, and not how long the others take.",
            why="Import the reports of the other ranks under names such as train_rank0 and train_rank1.",
        )
    gap, length, chain_of = graph.gap.copy(), graph.length.copy(), _find_chains(graph, part)
    works = part.operations & ~sends
    host = {device: np.isin(graph.chain, chains) & part.calls for device, chains in chain_of.items()}
    calls = np.ones(len(graph.chain), np.bool_)
    calls[[*graph.waits]] = False
    took = {
        device: int(np.maximum(gap[mine], 0).sum() + graph.cost[mine & calls].sum()) for device, mine in host.items()
    }
    for device, mine in host.items():
        idle = took[device] - np.mean([*took.values()])
        gap[mine & (gap > 0)] = _shorten_gaps(gap[mine & (gap > 0)], float(idle))
    phase = _number_phases(graph, [*chain_of])
    work = {device: works & (operations.device == device) for device in chain_of}
    busy = {
        device: np.bincount(phase[ours], weights=length[ours], minlength=int(phase.max()) + 1)
        for device, ours in work.items()
    }
    mean = np.mean([*busy.values()], axis=0)
    for device, ours in work.items():
        length[ours] = (length[ours] * (mean / np.maximum(1, busy[device]))[phase[ours]]).astype(np.int64)
    return replace(graph, gap=gap, length=length)


def _number_phases(graph: Graph, devices: Sequence[int]) -> Integers:
    """Return for each operation how many collectives of all these GPUs its own GPU has launched before it."""
    operations = graph.recording.operations
    phase = np.zeros(len(operations), np.int64)
    joint = np.array([group for group in graph.partners if len(group) == len(devices)], np.int64).ravel()
    for device in devices:
        ours = operations.device == device
        bounds = np.sort(operations.call[joint[operations.device[joint] == device]])
        phase[ours] = np.searchsorted(bounds, operations.call[ours])
    return phase


def _shorten_gaps(gap: Integers, by: float) -> Integers:
    """Return gaps that are shorter (or longer) by so much in all, each in proportion."""
    return (gap * max(0.0, 1 - by / max(1, int(gap.sum())))).astype(np.int64)


def _find_chains(graph: Graph, part: Part) -> dict[int, Integers]:
    """Return the chains that launch the operations of each GPU."""
    operations = graph.recording.operations
    return {
        int(device): np.unique(graph.chain[operations.call[part.operations & (operations.device == device)]])
        for device in np.unique(operations.device[part.operations])
    }


def parse_count(value: str) -> tuple[int]:
    """Return the number of collectives that one replaces."""
    if not value.isascii() or not value.isdigit() or not 2 <= int(value[:9]) <= MOST_MERGED:
        raise AnalysisError(f"merged_collectives takes a number from 2 to {MOST_MERGED:,}.")
    return (int(value),)


def merged_collectives(graph: Graph, part: Part, value: str) -> Graph | None:
    """Send the data of each so many consecutive collectives of one name and stream in the last of them.

    A collective takes a fixed time, that of the shortest of its name, and the time of its data. The fixed time of all
    but the last goes, and so do their launches, with the calls around them that launch nothing.
    """
    (count,) = parse_count(value)
    operations = graph.recording.operations
    mine = operations.in_class("communication") & part.operations
    gone, length = np.zeros(len(operations), np.bool_), graph.length.copy()
    waits = measure_waits(graph)
    keys = np.stack([operations.stream, operations.name], axis=1)
    for stream, name in np.unique(keys[mine], axis=0).tolist():
        members = np.flatnonzero(mine & (operations.stream == stream) & (operations.name == name))
        transfer = length[members] - waits[members]
        fixed = int(transfer.min())
        for low in range(0, len(members), count):
            group = members[low : low + count]
            data = int((transfer[low : low + count] - fixed).sum())
            length[group[-1]] = waits[group[-1]] + fixed + data
            gone[group[:-1]] = True
    if not gone.any():
        return None
    changed = remove_operations(replace(graph, length=length), gone)
    assert changed is not None
    around = _find_around(graph, mask_launching(graph, gone))
    gap, cost = graph.gap.copy(), changed.cost.copy()
    usual = int(np.median(graph.gap[part.calls])) if part.calls.any() else 0
    gap[around] = np.minimum(gap[around], usual)
    cost[around & ~find_waiting(graph)] = 0
    partners = [group for group in changed.partners if not gone[list(group)].any()]
    return _remove_groups(replace(changed, gap=gap, cost=cost), partners)


def overlapped_collectives(graph: Graph, part: Part, _: str) -> Graph | None:
    """Start each collective of a row as soon as its data is there, on a stream of its own.

    A row holds collectives of a GPU without another kernel launched in between. Backward is the last two thirds of the
    kernels since the row before, and the nth of N collectives gets its data at n/N of it.
    """
    operations = graph.recording.operations
    sends = operations.in_class("communication") & part.operations & (operations.call >= 0)
    after, other_lag = dict(graph.after), dict(graph.other_lag)
    before, launch_lag, stream_lag = graph.stream_before.copy(), graph.launch_lag.copy(), graph.stream_lag.copy()
    changed = False
    for device in np.unique(operations.device[sends]).tolist():
        mine = np.flatnonzero((operations.device == device) & (operations.call >= 0) & (operations.kind == KERNEL))
        mine = mine[np.argsort(operations.call[mine], kind="stable")]
        row, works = list[int](), list[int]()
        for j in [*mine.tolist(), -1]:
            if j >= 0 and sends[j]:
                row.append(j)
                continue
            if len(row) > 1 and len(works) > len(row):
                changed = True
                backward = works[len(works) // 3 :]
                for place, send in enumerate(row):
                    source = backward[min(len(backward) - 1, (place + 1) * len(backward) // len(row) - 1)]
                    after[send], other_lag[send] = source, min(NEAR_NS, other_lag.get(send, NEAR_NS))
                    earlier = graph.recording.calls.start[operations.call[[source, send]]]
                    launch_lag[send] = min(int(launch_lag[send]), LAUNCH_NS) + int(earlier[0] - earlier[1])
            if row:
                row, works = [], []
            works.append(j)
        own = np.flatnonzero(sends & (operations.device == device))
        before[own] = np.concatenate([[-1], own[:-1]])[: len(own)]
        stream_lag[own] = np.minimum(stream_lag[own], NEAR_NS)
    if not changed:
        return None
    return replace(
        graph, after=after, other_lag=other_lag, stream_before=before, launch_lag=launch_lag, stream_lag=stream_lag
    )


def _find_around(graph: Graph, launches: Flags) -> Flags:
    """Return these calls, and those next to them on their chain that launch nothing and wait for nothing."""
    quiet = ~find_waiting(graph)
    quiet[graph.recording.operations.call[graph.recording.operations.call >= 0]] = False
    around = launches.copy()
    for one in np.unique(graph.chain[launches]):
        mine = np.flatnonzero(graph.chain == one)
        block = np.cumsum(~(quiet[mine] | launches[mine]))
        around[mine] |= (quiet[mine]) & np.isin(block, block[launches[mine]])
    return around


def _remove_groups(graph: Graph, partners: list[tuple[int, ...]]) -> Graph:
    """Return the graph with these collectives alone."""
    places = {group: place for place, group in enumerate(partners)}
    order = []
    for event in graph.order:
        if event >= 0:
            order.append(event)
        elif (place := places.get(graph.partners[-1 - event])) is not None:
            order.append(-1 - place)
    return replace(graph, partners=partners, order=order)
