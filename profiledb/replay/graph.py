"""What waits for what: calls for calls before them, operations for calls and operations, calls for operations.

Daydream (Zhu et al., USENIX ATC 2020) replays such graphs of PyTorch programs and predicts the effect of a change
within 10 to 15 %. Theirs is told by a modified framework; this one is told by times alone, so that it fits any program.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from profiledb.replay.recording import KERNEL, Calls, Flags, Integers, Operations, Recording

DEVICE_WAITS = frozenset({
    "cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize", "cudaFree", "cuMemFree", "cudaFreeHost",
    "cuMemFreeHost", "cudaHostUnregister", "hipDeviceSynchronize", "hipFree",
})  # fmt: skip
"""Calls that return when the GPU has done everything that was launched before."""
STREAM_WAITS = frozenset({
    "cudaStreamSynchronize", "cuStreamSynchronize", "cudaEventSynchronize", "cuEventSynchronize",
    "hipStreamSynchronize", "hipEventSynchronize",
})  # fmt: skip
"""Calls that return when one stream has come to some point."""
_COPIES = ("cudaMemcpy", "cuMemcpy", "hipMemcpy", "cudaMemset", "cuMemset")
_VERSION = re.compile(r"(_v\d+)?(_pt[sd]s?z?)?$")

LEAST_RUN = 8
"""Calls in a row, in the mean, that one of two threads makes while the other one waits for it."""
MOST_OVERLAP = 0.02
"""Share of the turns of two threads whose calls overlap, at most, if one waits for the other."""
QUEUED = 200
"""Operations before a launch that the GPU has not begun, at least, if the launch waits for a place in its queue."""
LONG_LAUNCH_NS = 30_000
LAUNCH_NS = 5_000
"""A call that only puts something into a stream takes about so long."""
NEAR_NS = 3_000
"""Between the end of an operation and the begin of the next one in its stream, at most, if that was ready."""
ACROSS_NS = 8_000
"""The same between streams, where an event stands between them."""


@dataclass(frozen=True)
class Graph:
    """A program that can be replayed; times in ns. Numbers of calls and operations are those of the recording.

    Attributes:
        chain: of each call, the number of its chain: a thread, or several that hand over to each other.
        gap: before each call, the host's own work since the end of the call before it in the chain; negative where
            calls of a chain overlap.
        cost: of each call, unless it waits.
        waits: calls that wait for operations to end.
        queued: launches that wait for an operation to begin: the queue of the GPU is full.
        after_wait: how long calls of both kinds go on after that.
        length: of each operation on the GPU.
        stream_before: the operation before each one in its stream, -1 for the first.
        after: an operation of another stream that one waits for.
        launch_lag: from the begin of its call to the begin of each operation, if nothing else holds it back.
        stream_lag: the same from the end of the operation before it in its stream; negative where they overlap.
        other_lag: the same from the end of the operation of another stream.
        partners: operations of several GPUs that are one collective: it moves data once the last of them has begun.
        order: events in the order of the capture: ``3 * i`` call i begins, ``3 * i + 1`` it ends, ``3 * j + 2``
            operation j begins; ``-1 - k`` collective k has begun on all GPUs. An event needs only earlier ones.
    """

    recording: Recording
    chain: Integers
    gap: Integers
    cost: Integers
    waits: dict[int, tuple[int, ...]]
    queued: dict[int, int]
    after_wait: dict[int, int]
    length: Integers
    stream_before: Integers
    after: dict[int, int]
    launch_lag: Integers
    stream_lag: Integers
    other_lag: dict[int, int]
    partners: list[tuple[int, ...]]
    order: list[int]


def base_name(name: str) -> str:
    """Return the name of a call without its version."""
    return _VERSION.sub("", name)


def build(recording: Recording) -> Graph:
    """Find out what waits for what in a recording."""
    calls, operations = recording.calls, recording.operations
    chain = _chains(recording)
    stream_before = _stream_before(operations)
    waits, queued = _waits(calls, operations, chain), _queued(calls, operations)
    after_wait = {i: int(calls.end[i] - max(calls.start[i], *operations.end[list(js)])) for i, js in waits.items()}
    cost = calls.end - calls.start
    for i, j in queued.items():
        cost[i] = LAUNCH_NS
        after_wait[i] = int(calls.end[i] - max(calls.start[i] + LAUNCH_NS, operations.start[j]))
    after = _after(calls, operations, stream_before)
    launch_lag, stream_lag = _lags(calls, operations, stream_before, after)
    other_lag = {j: int(operations.start[j] - operations.end[other]) for j, other in after.items()}
    partners = _partners(operations)
    return Graph(
        recording, chain, _gaps(calls, chain, {*waits, *queued}), cost, waits, queued, after_wait,
        operations.end - operations.start, stream_before, after, launch_lag, stream_lag, other_lag, partners,
        _order(calls, operations, waits | {i: (j,) for i, j in queued.items()}, partners),
    )  # fmt: skip


def named(calls: Calls, names: frozenset[str]) -> Flags:
    """Return which calls have one of these names, whatever their version."""
    codes = [code for code, name in enumerate(calls.names) if base_name(name) in names]
    return np.isin(calls.name, codes)


def copying(calls: Calls) -> Flags:
    """Return which calls copy or set memory."""
    codes = [code for code, name in enumerate(calls.names) if name.startswith(_COPIES)]
    return np.isin(calls.name, codes)


def _chains(recording: Recording) -> Integers:
    """Number the chains: PyTorch's main thread and its autograd thread are one, because one waits for the other."""
    calls, operations, threads = recording.calls, recording.operations, recording.threads
    counts = np.bincount(calls.thread, minlength=len(threads))
    launchers = set(calls.thread[operations.call[operations.call >= 0]].tolist())
    group = np.arange(len(threads))
    for process in sorted({tid >> 24 for tid in threads}):
        members = sorted((i for i in launchers if threads[i] >> 24 == process), key=lambda i: -counts[i])
        joined = members[:1]
        for one in members[1:]:
            if _hand_over(calls, np.isin(calls.thread, joined), calls.thread == one):
                joined.append(one)
                group[one] = members[0]
    return group[calls.thread]


def _hand_over(calls: Calls, first: Flags, second: Flags) -> bool:
    """Whether two threads take turns: hardly any of their calls overlap, and many of one come in a row."""
    at = np.flatnonzero(first | second)
    ours = second[at]
    turns = ours[1:] != ours[:-1]
    until = np.maximum.accumulate(calls.end[at])
    overlaps = np.count_nonzero((calls.start[at][1:] < until[:-1]) & turns)
    starts = np.concatenate([[True], turns])
    row = max(int(one.sum()) / max(1, int((one & starts).sum())) for one in (ours, ~ours))
    return bool(row >= LEAST_RUN and overlaps <= MOST_OVERLAP * np.count_nonzero(turns))


def _gaps(calls: Calls, chain: Integers, waiting: set[int]) -> Integers:
    gap = np.zeros(len(calls), np.int64)
    for one in np.unique(chain):
        mine = np.flatnonzero(chain == one)
        until = np.maximum.accumulate(calls.end[mine])[:-1]
        if np.any(calls.start[mine[1:]] < until):
            until = _known_ends(calls, mine, waiting)
        gap[mine[0]] = calls.start[mine[0]] - calls.start[0]
        gap[mine[1:]] = calls.start[mine[1:]] - until
    return gap


def _known_ends(calls: Calls, mine: Integers, waiting: set[int]) -> Integers:
    """Return the latest end before each call but the first of a chain; a call that still waits then has no end yet."""
    found, until, pending = [], int(calls.start[0]), list[int]()
    for i in mine.tolist():
        begin, end = int(calls.start[i]), int(calls.end[i])
        until = max([until, *(one for one in pending if one <= begin)])
        pending = [one for one in pending if one > begin]
        found.append(until)
        if i in waiting:
            pending.append(end)
        else:
            until = max(until, end)
    return np.array(found[1:], np.int64)


def _stream_before(operations: Operations) -> Integers:
    found = np.full(len(operations), -1, np.int64)
    order = np.argsort(operations.stream, kind="stable")
    same = operations.stream[order][1:] == operations.stream[order][:-1]
    found[order[1:][same]] = order[:-1][same]
    return found


def _waits(calls: Calls, operations: Operations, chain: Integers) -> dict[int, tuple[int, ...]]:
    """Return for calls that wait for operations which ones: at most one a stream."""
    launched = np.flatnonzero(operations.call >= 0)
    last_own = np.full(len(calls), -1, np.int64)
    last_own[operations.call[launched]] = launched
    waits: dict[int, tuple[int, ...]] = {
        int(i): (int(last_own[i]),)
        for i in np.flatnonzero(copying(calls) & (last_own >= 0))
        if calls.end[i] >= operations.end[last_own[i]] and calls.end[i] > operations.start[last_own[i]]
    }
    device_waits = named(calls, DEVICE_WAITS)
    issued = np.where(operations.call >= 0, calls.start[operations.call] if len(calls) else 0, operations.start)
    streams = [np.flatnonzero(operations.stream == one) for one in range(int(operations.stream.max(initial=-1)) + 1)]
    streams = [one[np.argsort(issued[one], kind="stable")] for one in streams]
    issues = [issued[one].tolist() for one in streams]
    used = _last_stream(calls, operations, chain, last_own)
    for i in np.flatnonzero((device_waits | named(calls, STREAM_WAITS)) & (last_own < 0)):
        start, end = int(calls.start[i]), int(calls.end[i])
        last = []
        for mine, times in zip(streams, issues, strict=True):
            at = bisect_right(times, start) - 1
            # The clocks of host and GPU differ a little, but what has not begun yet is not waited for.
            while at >= 0 and (operations.end[mine[at]] > end + NEAR_NS or operations.start[mine[at]] >= end):
                at -= 1
            if at >= 0:
                last.append(int(mine[at]))
        if last and not device_waits[i]:
            # Which stream is told by what ended meanwhile, else by where the chain launched last.
            latest = max(last, key=lambda j: operations.end[j])
            own = [j for j in last if operations.stream[j] == used[i]]
            last = own if own and operations.end[latest] <= start else [latest]
        if last:
            waits[int(i)] = tuple(last)
    return waits


def _last_stream(calls: Calls, operations: Operations, chain: Integers, last_own: Integers) -> Integers:
    """Return the stream into which the chain of each call launched last; -1 before its first launch."""
    found = np.full(len(calls), -1, np.int64)
    for one in np.unique(chain):
        mine = np.flatnonzero(chain == one)
        launches = last_own[mine] >= 0
        at = np.maximum.accumulate(np.where(launches, np.arange(len(mine)), -1))
        known = at >= 0
        found[mine[known]] = operations.stream[last_own[mine[at[known]]]]
    return found


def _queued(calls: Calls, operations: Operations) -> dict[int, int]:
    """Return launches that wait for a place in the queue of their GPU, and the operation that makes it by beginning."""
    found: dict[int, int] = {}
    launched = operations.call >= 0
    long = np.zeros(len(operations), np.bool_)
    of_call = operations.call[launched]
    long[launched] = calls.end[of_call] - calls.start[of_call] >= LONG_LAUNCH_NS
    for stream in np.unique(operations.stream[long]):
        mine = np.flatnonzero(operations.stream == stream)
        starts = operations.start[mine]
        places = np.flatnonzero(long[mine])
        ends = calls.end[operations.call[mine[places]]]
        at = np.searchsorted(starts, ends, "right") - 1
        for place, before in zip(places.tolist(), at.tolist(), strict=True):
            if before >= 0 and place - before >= QUEUED:
                found[int(operations.call[mine[place]])] = int(mine[before])
    return found


def _after(calls: Calls, operations: Operations, before: Integers) -> dict[int, int]:
    """Return operations that begin as one of another stream of their GPU ends, long after their own launch."""
    called, follows = operations.call >= 0, before >= 0
    returned = np.where(called, calls.end[operations.call] if len(calls) else 0, -1)
    known = np.maximum(returned, np.where(follows, operations.end[before] if len(operations) else 0, -1))
    by_end = np.argsort(operations.end, kind="stable")
    ends = operations.end[by_end]
    after: dict[int, int] = {}
    for j in np.flatnonzero((known >= 0) & (operations.start - known > NEAR_NS)).tolist():
        start = int(operations.start[j])
        at = int(np.searchsorted(ends, start, "right")) - 1
        while at >= 0 and ends[at] > max(start - ACROSS_NS, int(known[j])):
            other = int(by_end[at])
            if operations.device[other] == operations.device[j] and operations.start[other] < start:
                after[j] = other
                break
            at -= 1
    return after


def _lags(calls: Calls, operations: Operations, before: Integers, after: dict[int, int]) -> tuple[Integers, Integers]:
    """Return the lags after the launch and in the stream.

    One of them, or ``after``, held an operation back. How long the others would have taken is not recorded: they are
    the usual ones of their kind, and no longer than they can be.
    """
    start, called, follows = operations.start, operations.call >= 0, before >= 0
    launch = np.where(called, start - (calls.start[operations.call] if len(calls) else 0), 0)
    stream = np.where(follows, start - (operations.end[before] if len(operations) else 0), 0)
    returned = np.where(called, calls.end[operations.call] if len(calls) else 0, -1)
    behind = follows & ((stream <= NEAR_NS) | (start - stream >= returned))
    elsewhere = np.zeros(len(operations), np.bool_)
    elsewhere[list(after)] = True
    for kind in np.unique(operations.kind):
        ours = operations.kind == kind
        for lag, bound in ((launch, called & ~behind & ~elsewhere), (stream, behind & ~elsewhere)):
            usual = int(np.median(lag[ours & bound])) if np.any(ours & bound) else 0
            free = ours & ~bound
            lag[free] = np.minimum(lag[free], usual)
    return launch, stream


def _partners(operations: Operations) -> list[tuple[int, ...]]:
    """Return the operations of each collective: on every GPU the one with the same number among those of its name."""
    codes = [code for code, class_ in enumerate(operations.classes) if class_ == "communication"]
    mine = np.flatnonzero((operations.kind == KERNEL) & np.isin(operations.name, codes))
    devices = np.unique(operations.device[mine])
    if len(devices) < 2:
        return []
    found = []
    for code in np.unique(operations.name[mine]):
        lists = [mine[(operations.name[mine] == code) & (operations.device[mine] == one)] for one in devices]
        if len({len(one) for one in lists}) != 1:
            continue  # not the same collectives on all of them
        groups = list(zip(*(one.tolist() for one in lists), strict=True))
        found += [one for one in groups if max(operations.start[list(one)]) < min(operations.end[list(one)])]
    return found


def _order(
    calls: Calls, operations: Operations, needed: dict[int, tuple[int, ...]], partners: list[tuple[int, ...]]
) -> list[int]:
    """Order the events by time. ``needed`` are the operations that have to begin before a waiting call ends."""
    waiting = np.array(sorted(needed), np.int64)
    begun = np.array([operations.start[list(members)].max() for members in partners], np.int64)
    last = np.array([operations.start[list(needed[i])].max() for i in waiting.tolist()], np.int64)
    times = np.concatenate([calls.start, operations.start, begun, calls.end[waiting]])
    # At one moment: ends of calls that waited for earlier operations, begins of calls, operations, all the rest.
    sizes = (len(calls), len(operations), len(partners))
    kind = np.concatenate([np.repeat([1, 2, 3], sizes), np.where(last < calls.end[waiting], 0, 4)])
    events = np.concatenate([
        3 * np.arange(len(calls)), 3 * np.arange(len(operations)) + 2, -1 - np.arange(len(partners)), 3 * waiting + 1
    ])  # fmt: skip
    order: list[int] = events[np.lexsort((np.abs(events), kind, times))].tolist()
    return order
