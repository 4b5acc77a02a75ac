"""Changes that remove waits of the host for the GPU, and the framework's work around them."""

from dataclasses import replace

import numpy as np

from profiledb.replay.copy_changes import FEW_BYTES
from profiledb.replay.graph import LAUNCH_NS, STREAM_WAITS, Graph, mask_kinds, strip_version
from profiledb.replay.part import (
    Part,
    find_after_reads,
    find_calls,
    find_waiting,
    keep_other_waits,
    mask_launching,
    order_launched,
    remove_operations,
    shorten_leads,
)
from profiledb.replay.recording import COPY, KERNEL, MEMSET, Flags, Integers

LEAST_WAITS = 5
"""Minimum number of waits of a name from which the framework's time around them is told."""
READING_NS = 20_000
"""Maximum time that a framework takes around a wait, or a read of a few bytes: on H100 hosts under nsys 12 to 14 µs in
CuPy's `get`, 12 to 20 µs in PyTorch's `item`."""
COUNTING, CHOOSING = "DeviceReduce", ("DeviceCompactInit", "DeviceSelectSweep", "write_indices")
"""Beginnings of the names of kernels that count the positions of a mask, before the CPU reads the number, and that list
them after it: CUB's, which PyTorch's `nonzero` launches."""


def without_waits(graph: Graph, part: Part, _: str) -> Graph | None:
    """Remove all waits of the host for the GPU, searches for positions whose number it reads, and conditions that it
    reads.

    Other results of a few bytes are read later, many at once; larger ones are copied without a wait.
    """
    return _remove_waits(graph, part, part.calls)


def without_waits_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Read each result as before, without a wait."""
    return _remove_waits(graph, part, part.calls, one_by_one=True)


def without_waits_in(graph: Graph, part: Part, value: str) -> Graph | None:
    """Remove the waits in a range."""
    spans = part.ranges.get(value)
    if spans is None:
        return None
    return _remove_waits(graph, part, part.calls & find_calls(graph, spans))


def without_waits_by(graph: Graph, part: Part, value: str) -> Graph | None:
    """Remove the waits in calls of a name."""
    calls = graph.recording.calls
    codes = [code for code, name in enumerate(calls.names) if strip_version(name) == value]
    return _remove_waits(graph, part, part.calls & np.isin(calls.name, codes))


def _remove_waits(graph: Graph, part: Part, chosen: Flags, *, one_by_one: bool = False) -> Graph | None:
    reads, waiting = chosen & _find_reads(graph, part), find_waiting(graph)
    waits = chosen & mask_kinds(graph.recording.calls, ("device wait", *STREAM_WAITS))
    results = chosen & _find_results(graph, part) & waiting
    remaining = keep_other_waits(graph, waits | reads | results)
    if len(remaining) == len(graph.waits):
        return None
    after = find_after_reads(graph, reads) & waits
    cost = graph.cost.copy()
    copied = reads | results
    cost[copied] = np.minimum(cost[copied], LAUNCH_NS)
    cost[waits] = 0
    gap = _remove_wrappers(graph, waits & ~after)
    if one_by_one:
        return replace(graph, cost=cost, waits=remaining, gap=gap)
    awaited = reads & (waiting | _find_before(graph, after))
    cost[awaited] = 0
    changed = replace(graph, cost=cost, waits=remaining, gap=_remove_reading(graph, gap, awaited | after))
    useless = _find_searches(graph, awaited) | _find_conditions(graph, awaited)
    shorter = replace(changed, gap=shorten_leads(changed, mask_launching(graph, useless), 0))
    return remove_operations(shorter, useless) or changed


def _find_conditions(graph: Graph, reads: Flags) -> Flags:
    """Return the operations right before these reads on their chain that make the one truth value that is read."""
    operations = graph.recording.operations
    conditions, launched = np.zeros(len(operations), np.bool_), order_launched(graph)
    of_one = reads[operations.call[launched]] & (operations.bytes[launched] == 1)
    makes = operations.of_conditions()[launched].tolist()
    small = (operations.kind == MEMSET) & (operations.bytes <= FEW_BYTES)  # a reduction counts its blocks in memory
    begins = small[launched].tolist()
    for place in np.flatnonzero(of_one).tolist():
        first = place
        while first > 0 and (makes[first - 1] or (first < place and begins[first - 1])):
            first -= 1
        conditions[launched[first:place]] = True
    return conditions


def _find_searches(graph: Graph, reads: Flags) -> Flags:
    """Return the kernels right around these reads on their chain that search a mask for positions."""
    operations = graph.recording.operations
    searches, launched = np.zeros(len(operations), np.bool_), order_launched(graph)
    counting, choosing = (_find_named(graph, names)[launched].tolist() for names in (COUNTING, CHOOSING))
    for place in np.flatnonzero(reads[operations.call[launched]]).tolist():
        first, last = place, place + 1
        while first > 0 and counting[first - 1]:
            first -= 1
        while last < len(launched) and choosing[last]:
            last += 1
        if last > place + 1:
            searches[launched[first:place]] = searches[launched[place + 1 : last]] = True
    return searches


def _find_named(graph: Graph, beginnings: str | tuple[str, ...]) -> Flags:
    """Return the kernels whose names begin like this."""
    operations = graph.recording.operations
    codes = [code for code, kernel in enumerate(operations.kernels) if kernel.name.startswith(beginnings)]
    kernels: Flags = (operations.kind == KERNEL) & np.isin(operations.name, codes)
    return kernels


def _find_reads(graph: Graph, part: Part) -> Flags:
    """Return the calls that copy a few bytes to the host."""
    return _find_copying(graph, part, graph.recording.operations.bytes <= FEW_BYTES)


def _find_results(graph: Graph, part: Part) -> Flags:
    """Return the calls that copy more bytes to the host."""
    return _find_copying(graph, part, graph.recording.operations.bytes > FEW_BYTES)


def _find_copying(graph: Graph, part: Part, chosen: Flags) -> Flags:
    """Return the calls that copy to the host by these operations."""
    operations = graph.recording.operations
    copies = chosen & (operations.kind == COPY) & operations.to_host & part.operations
    copying = np.zeros(len(graph.chain), np.bool_)
    copying[operations.call[copies & (operations.call >= 0)]] = True
    return copying


def _find_before(graph: Graph, calls: Flags) -> Flags:
    """Return the calls right before these on their chain."""
    before = np.zeros(len(calls), np.bool_)
    for one in np.unique(graph.chain[calls]):
        mine = np.flatnonzero(graph.chain == one)
        before[mine[:-1][calls[mine[1:]]]] = True
    return before


def _remove_reading(graph: Graph, gap: Integers, gone: Flags) -> Integers:
    """Return the gaps without the framework's work around these calls, which read results and wait for them.

    That is the host's time between the launches around a read beyond the usual time between two launches: the least
    around any read of the name (its 5th percentile), and ``READING_NS`` at most.
    """
    calls, gap = graph.recording.calls, gap.copy()
    launches = np.zeros(len(gap), np.bool_)
    of = graph.recording.operations.call
    launches[of[of >= 0]] = True
    launches &= ~gone
    for one in np.unique(graph.chain[gone]):
        mine = np.flatnonzero(graph.chain == one)
        turn: Integers = np.cumsum(launches[mine]) - launches[mine]  # each ends with a launch
        took = np.bincount(turn, np.maximum(gap[mine], 0), minlength=int(launches[mine].sum()) + 1)
        reads = np.bincount(turn, gone[mine], minlength=len(took)) > 0
        whole = np.arange(len(took)) < launches[mine].sum()
        if not np.any(whole & ~reads):
            continue
        usual = np.median(took[whole & ~reads])
        first = np.flatnonzero(gone[mine])[::-1]
        name = np.full(len(took), -1)
        name[turn[first]] = calls.name[mine[first]]
        share = np.zeros(len(took))
        for code in np.unique(name[reads & whole]):
            here = reads & whole & (name == code)
            if np.count_nonzero(here) >= LEAST_WAITS:
                around = min(READING_NS, np.percentile(took[here], 5) - usual)
                share[here] = np.clip(around / np.maximum(took[here], 1), 0, 1)
        gap[mine] -= (np.maximum(gap[mine], 0) * share[turn]).astype(np.int64)
    return gap


def _remove_wrappers(graph: Graph, waits: Flags) -> Integers:
    """Return the gaps without the framework's work around each of these waits.

    That is the least host time around any wait of the name (its 5th percentile) beyond the median gap of a chain, and
    ``READING_NS`` at most: the rest is work of the program, which happens to follow each of its waits.
    """
    calls, gap = graph.recording.calls, graph.gap.copy()
    for one in np.unique(graph.chain[waits]):
        mine = np.flatnonzero(graph.chain == one)
        at = np.flatnonzero(waits[mine][:-1])
        usual = int(np.median(np.maximum(graph.gap[mine], 0)))
        for name in np.unique(calls.name[mine[at]]):
            here = at[calls.name[mine[at]] == name]
            if len(here) < LEAST_WAITS:
                continue
            before, after = (np.maximum(graph.gap[mine[here + step]], 0) for step in (0, 1))
            wrapper = min(READING_NS, max(0, int(np.percentile(before + after, 5)) - usual))
            first = np.minimum(before, wrapper)
            gap[mine[here]] -= first
            gap[mine[here + 1]] -= np.minimum(after, wrapper - first)
    return gap
