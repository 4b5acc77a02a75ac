"""The dependency graph of a recording, in which calls and operations wait for earlier calls and operations.

Daydream (Zhu et al., USENIX ATC 2020) replays such graphs of PyTorch programs and predicts the effect of a change
within 10 to 15 %. It gets the dependencies from a modified framework. This module infers them from times alone, so that
it works for any program.
"""

import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import duckdb
import numpy as np

from profiledb.query import views
from profiledb.replay import collectives
from profiledb.replay.collectives import TOGETHER_NS
from profiledb.replay.recording import GRAPH, Calls, Flags, Integers, Operations, Recording

DEVICE_WAITS = ("device wait", "waiting free")
"""Kinds of calls that return once the GPU has finished all work launched earlier (api_name.sql)."""
STREAM_WAITS = ("stream wait",)
"""Kinds of calls that return once a stream has reached a certain point."""
GRAPH_LAUNCHES = ("graph launch",)
"""Kinds of calls that launch all operations of a CUDA graph."""
_COPIES = ("blocking copy", "queued copy")
_VERSION = re.compile(r"(_v\d+)?(_pt[sd]s?z?)?$")

LEAST_RUN = 8
"""Minimum mean length of a run of consecutive calls on one of two threads for the other to count as waiting for it."""
MOST_OVERLAP = 0.02
"""Maximum fraction of the turns of two threads with overlapping calls for one to count as waiting for the other."""
QUEUED = 200
"""Minimum number of earlier operations that the GPU has not started for a launch to count as queued."""
LONG_LAUNCH_NS = 30_000
LAUNCH_NS = 5_000
"""Typical duration of a call that only enqueues work, in ns."""
NEAR_NS = 3_000
"""Maximum lag between consecutive operations of a stream, in ns, if the second was ready when the first ended."""
ACROSS_NS = 8_000
"""The same limit between operations of different streams that an event synchronizes, and before a copy that its call
waits for."""
FAR_NS = 50_000
"""The same limit if nothing else explains at least four times as long a wait."""


@dataclass(frozen=True)
class Graph:
    """A program that can be replayed; times in ns. Calls and operations are numbered as in the recording.

    Attributes:
        chain: the chain of each call: a thread, or several that hand over to each other.
        gap: the host's own work before each call, since the end of the previous call in the chain; negative if calls of
            a chain overlap.
        recorded_gap: the same as recorded. It ends with the call, so it tells when the host did that work.
        cost: the duration of each call, unless it waits.
        waits: calls that wait for operations to end.
        queued: launches that wait for an operation to start, because the queue of the GPU is full.
        after_wait: how long calls of both kinds continue after the wait.
        length: the duration of each operation on the GPU.
        stream_before: the previous operation in the stream of each operation, or -1 for the first.
        after: the operation of another stream that an operation waits for.
        launch_lag: the time from the start of its call to the start of each operation, if nothing else delays it.
        stream_lag: the time from the end of the previous operation in its stream; negative if they overlap.
        other_lag: the time from the end of the operation of the other stream.
        partners: operations of several GPUs that form one collective, which moves data once the last of them has
            started.
        order: events by time: ``3 * i`` if call i starts, ``3 * i + 1`` if it ends, ``3 * j + 2`` if
            operation j starts, ``-1 - k`` once collective k has started on all GPUs. An event needs only earlier ones.
        items: how many times as many items as recorded the program computes.
    """

    recording: Recording
    chain: Integers
    gap: Integers
    recorded_gap: Integers
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
    items: float = 1.0


def strip_version(name: str) -> str:
    """Return the name of a call without its version suffix."""
    return _VERSION.sub("", name)


def build(recording: Recording, partners: list[tuple[int, ...]] | None = None) -> Graph:
    """Infer the dependencies of a recording, and its collectives unless they are known."""
    calls, operations = recording.calls, recording.operations
    chain = _assign_chains(recording)
    stream_before = _find_stream_before(operations)
    nodes = mask_graph_nodes(recording)
    waits, queued = _find_waits(calls, operations, chain), _find_queued(calls, operations, nodes)
    after_wait = {i: int(calls.end[i] - max(calls.start[i], *operations.end[list(js)])) for i, js in waits.items()}
    cost = calls.end - calls.start
    for i, j in queued.items():
        cost[i] = LAUNCH_NS
        after_wait[i] = int(calls.end[i] - max(calls.start[i] + LAUNCH_NS, operations.start[j]))
    after_nodes, inner = _find_node_waits(operations, nodes, stream_before)
    produced = _find_producers(calls, operations)
    after = _find_stream_waits(calls, operations, stream_before, inner) | produced | after_nodes
    free = _find_free(calls, operations, stream_before, after, produced)
    held = np.zeros(len(operations), np.bool_)
    held[[j for j in after if j not in free]] = True
    launch_lag, stream_lag = _measure_lags(calls, operations, stream_before, held, nodes, inner)
    other_lag = _measure_other_lags(operations, after, produced, free)
    partners = _find_partners(operations) if partners is None else partners
    gap = _measure_gaps(calls, chain, {*waits, *queued})
    return Graph(
        recording, chain, gap, gap, cost, waits, queued, after_wait,
        operations.end - operations.start, stream_before, after, launch_lag, stream_lag, other_lag, partners,
        _order_events(calls, operations, waits | {i: (j,) for i, j in queued.items()}, partners),
    )  # fmt: skip


def mask_kinds(calls: Calls, kinds: Collection[str]) -> Flags:
    """Return a mask of the calls of these kinds (api_name.sql)."""
    codes = [code for code, kind in enumerate(_kinds(tuple(calls.names))) if kind in kinds]
    return np.isin(calls.name, codes)


@lru_cache(16)
def _kinds(names: tuple[str, ...]) -> list[str | None]:
    """Return the kind of each function."""
    with duckdb.connect() as db:
        db.execute(views.build_sql(["api_name"]))
        rows = db.execute(
            "SELECT api_match(name).kind FROM (SELECT unnest($names::VARCHAR[]) AS name, "
            "unnest(range(len($names::VARCHAR[]))) AS place) ORDER BY place",
            {"names": list(names)},
        ).fetchall()
    return [kind for (kind,) in rows]


def mask_graph_nodes(recording: Recording) -> Flags:
    """Return a mask of the operations that are nodes of a CUDA graph."""
    launched = recording.operations.call >= 0
    mask = np.zeros(len(recording.operations), np.bool_)
    mask[launched] = mask_kinds(recording.calls, GRAPH_LAUNCHES)[recording.operations.call[launched]]
    mask &= recording.operations.kind != GRAPH
    return mask


def mask_copying(calls: Calls) -> Flags:
    """Return a mask of the calls that copy or set memory."""
    return mask_kinds(calls, _COPIES)


def _assign_chains(recording: Recording) -> Integers:
    """Assign calls to chains. PyTorch's main thread and autograd thread form one, because one waits for the other."""
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
    """Return True if two threads take turns: few of their calls overlap, and one of them makes many calls in a row."""
    at = np.flatnonzero(first | second)
    ours = second[at]
    turns = ours[1:] != ours[:-1]
    until = np.maximum.accumulate(calls.end[at])
    overlaps = np.count_nonzero((calls.start[at][1:] < until[:-1]) & turns)
    starts = np.concatenate([[True], turns])
    row = max(int(one.sum()) / max(1, int((one & starts).sum())) for one in (ours, ~ours))
    return bool(row >= LEAST_RUN and overlaps <= MOST_OVERLAP * np.count_nonzero(turns))


def _measure_gaps(calls: Calls, chain: Integers, waiting: set[int]) -> Integers:
    gap = np.zeros(len(calls), np.int64)
    for one in np.unique(chain):
        mine = np.flatnonzero(chain == one)
        until = np.maximum.accumulate(calls.end[mine])[:-1]
        if np.any(calls.start[mine[1:]] < until):
            until = _find_known_ends(calls, mine, waiting)
        gap[mine[0]] = calls.start[mine[0]] - calls.start[0]
        gap[mine[1:]] = calls.start[mine[1:]] - until
    return gap


def _find_known_ends(calls: Calls, mine: Integers, waiting: set[int]) -> Integers:
    """Return the latest end before each call of a chain but the first. A call that still waits then has no end yet."""
    known_ends, until, pending = [], int(calls.start[0]), list[int]()
    for i in mine.tolist():
        begin, end = int(calls.start[i]), int(calls.end[i])
        until = max([until, *(one for one in pending if one <= begin)])
        pending = [one for one in pending if one > begin]
        known_ends.append(until)
        if i in waiting:
            pending.append(end)
        else:
            until = max(until, end)
    return np.array(known_ends[1:], np.int64)


def _find_stream_before(operations: Operations) -> Integers:
    before = np.full(len(operations), -1, np.int64)
    order = np.argsort(operations.stream, kind="stable")
    same = operations.stream[order][1:] == operations.stream[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def _find_waits(calls: Calls, operations: Operations, chain: Integers) -> dict[int, tuple[int, ...]]:
    """Return the operations that each waiting call waits for, at most one per stream."""
    launched = np.flatnonzero(operations.call >= 0)
    last_own = np.full(len(calls), -1, np.int64)
    last_own[operations.call[launched]] = launched
    waits: dict[int, tuple[int, ...]] = {
        int(i): (int(last_own[i]),)
        for i in np.flatnonzero(mask_copying(calls) & (last_own >= 0))
        if calls.end[i] >= operations.end[last_own[i]] and calls.end[i] > operations.start[last_own[i]]
    }
    device_waits = mask_kinds(calls, DEVICE_WAITS)
    issued = np.where(operations.call >= 0, calls.start[operations.call] if len(calls) else 0, operations.start)
    streams = [np.flatnonzero(operations.stream == one) for one in range(int(operations.stream.max(initial=-1)) + 1)]
    streams = [one[np.argsort(issued[one], kind="stable")] for one in streams]
    issues = [issued[one].tolist() for one in streams]
    used = _find_last_stream(calls, operations, chain, last_own)
    for i in np.flatnonzero((device_waits | mask_kinds(calls, STREAM_WAITS)) & (last_own < 0)):
        start, end = int(calls.start[i]), int(calls.end[i])
        last = []
        for mine, times in zip(streams, issues, strict=True):
            at = bisect_right(times, start) - 1
            # Tolerate a small clock offset between host and GPU, but never wait for an operation that has not started.
            while at >= 0 and (operations.end[mine[at]] > end + NEAR_NS or operations.start[mine[at]] >= end):
                at -= 1
            if at >= 0:
                last.append(int(mine[at]))
        if last and not device_waits[i]:
            # Choose the stream whose last operation ended during the call, or else the chain's last launch target.
            latest = max(last, key=lambda j: operations.end[j])
            own = [j for j in last if operations.stream[j] == used[i]]
            last = own if own and operations.end[latest] <= start else [latest]
        if last:
            waits[int(i)] = tuple(last)
    return waits


def _find_last_stream(calls: Calls, operations: Operations, chain: Integers, last_own: Integers) -> Integers:
    """Return the stream that the chain of each call last launched into, or -1 before its first launch."""
    last_stream = np.full(len(calls), -1, np.int64)
    for one in np.unique(chain):
        mine = np.flatnonzero(chain == one)
        launches = last_own[mine] >= 0
        at = np.maximum.accumulate(np.where(launches, np.arange(len(mine)), -1))
        known = at >= 0
        last_stream[mine[known]] = operations.stream[last_own[mine[at[known]]]]
    return last_stream


def _find_queued(calls: Calls, operations: Operations, nodes: Flags) -> dict[int, int]:
    """Map launches that wait for a slot in the GPU's queue to the operation whose start frees it.

    A CUDA graph takes one slot and long to launch, whatever its number of nodes, so its launch never counts.
    """
    queued: dict[int, int] = {}
    launched = (operations.call >= 0) & ~nodes
    long = np.zeros(len(operations), np.bool_)
    of_call = operations.call[launched]
    long[launched] = calls.end[of_call] - calls.start[of_call] >= LONG_LAUNCH_NS
    for stream in np.unique(operations.stream[long]):
        mine = np.flatnonzero((operations.stream == stream) & ~nodes)
        starts = operations.start[mine]
        places = np.flatnonzero(long[mine])
        ends = calls.end[operations.call[mine[places]]]
        at = np.searchsorted(starts, ends, "right") - 1
        for place, before in zip(places.tolist(), at.tolist(), strict=True):
            if before >= 0 and place - before >= QUEUED:
                queued[int(operations.call[mine[place]])] = int(mine[before])
    return queued


def _find_node_waits(operations: Operations, nodes: Flags, before: Integers) -> tuple[dict[int, int], Flags]:
    """Map nodes of CUDA graphs, and operations behind them, to the node of another stream whose end they wait for.

    Once a graph runs, nothing but another of its nodes holds a node back: the one that ended last before it. An
    operation behind a graph in one of its streams waits for all of its nodes. Also return a mask of the nodes that
    wait for another node.
    """
    after: dict[int, int] = {}
    inner = np.zeros(len(operations), np.bool_)
    at = np.flatnonzero(nodes)
    at = at[np.argsort(operations.call[at], kind="stable")]
    bounds = np.flatnonzero(np.diff(operations.call[at], prepend=-1, append=-1)) if len(at) else np.empty(0, np.int64)
    last: dict[int, int] = {}
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        members = at[low:high]
        by_end = members[np.argsort(operations.end[members], kind="stable")]
        ended = np.searchsorted(operations.end[by_end], operations.start[members], "right") - 1
        inner[members[ended >= 0]] = True
        awaited = by_end[np.maximum(ended, 0)]
        across = (ended >= 0) & (operations.stream[awaited] != operations.stream[members])
        after |= dict(zip(members[across].tolist(), awaited[across].tolist(), strict=True))
        last[int(operations.call[members[0]])] = int(by_end[-1])
    behind = np.flatnonzero((before >= 0) & ~inner)
    for j in behind[nodes[before[behind]]].tolist():
        node = last[int(operations.call[before[j]])]
        same = operations.call[j] == operations.call[before[j]] or operations.stream[node] == operations.stream[j]
        if not same and operations.end[node] <= operations.start[j]:
            after[j] = node
    return after, inner


def _find_stream_waits(calls: Calls, operations: Operations, before: Integers, inner: Flags) -> dict[int, int]:
    """Map operations to an operation of another stream on their GPU whose end they wait for.

    Such an operation starts right after the other one ends, and long after its own launch and the previous one in its
    stream. Nodes that wait for another node of their CUDA graph (``inner``) are left out.
    """
    called, follows = operations.call >= 0, before >= 0
    returned = np.where(called, calls.end[operations.call] if len(calls) else 0, -1)
    known = np.maximum(returned, np.where(follows, operations.end[before] if len(operations) else 0, -1))
    by_end = np.argsort(operations.end, kind="stable")
    ends = operations.end[by_end]
    after: dict[int, int] = {}
    for j in np.flatnonzero(~inner & (known >= 0) & (operations.start - known > NEAR_NS)).tolist():
        start = int(operations.start[j])
        at = int(np.searchsorted(ends, start, "right")) - 1
        reach = max(ACROSS_NS, min(FAR_NS, (start - int(known[j])) // 4))
        while at >= 0 and ends[at] > max(start - reach, int(known[j])):
            other = int(by_end[at])
            if operations.device[other] == operations.device[j] and operations.start[other] < start:
                after[j] = other
                break
            at -= 1
    return after


def _find_producers(calls: Calls, operations: Operations) -> dict[int, int]:
    """Map each collective to the operation that produces its input.

    Frameworks have the stream of a collective wait for an event that they record where the program stands, thus for
    the last operation issued to another stream of that GPU.
    """
    sends = operations.in_class("communication")
    issued = np.where(operations.call >= 0, calls.start[operations.call] if len(calls) else 0, operations.start)
    producers: dict[int, int] = {}
    for device in np.unique(operations.device[sends]):
        others = np.flatnonzero((operations.device == device) & ~sends)
        others = others[np.argsort(issued[others], kind="stable")]
        mine = np.flatnonzero((operations.device == device) & sends)
        at = np.searchsorted(issued[others], issued[mine], "left") - 1
        mine, last = mine[at >= 0], others[at[at >= 0]]
        waits = (operations.stream[mine] != operations.stream[last]) & (operations.end[last] <= operations.start[mine])
        producers |= dict(zip(mine[waits].tolist(), last[waits].tolist(), strict=True))
    return producers


def _find_free(
    calls: Calls, operations: Operations, before: Integers, after: dict[int, int], produced: dict[int, int]
) -> set[int]:
    """Return the collectives that something later than the operation in ``produced`` delayed."""
    free = set()
    for j, other in produced.items():
        end, call, last = operations.end[other], operations.call[j], before[j]
        launched_late = call >= 0 and calls.start[call] > end
        if after[j] == other and (launched_late or (last >= 0 and operations.end[last] > end)):
            free.add(j)
    return free


def _measure_other_lags(
    operations: Operations, after: dict[int, int], produced: dict[int, int], free: set[int]
) -> dict[int, int]:
    """Return the lags behind operations of other streams; ``free`` ones get the median of collectives, if shorter."""
    lags = {j: int(operations.start[j] - operations.end[other]) for j, other in after.items()}
    bound = [lags[j] for j in produced if j not in free]
    usual = int(np.median(bound)) if bound else 0
    return lags | {j: min(lags[j], usual) for j in free}


def _measure_lags(
    calls: Calls, operations: Operations, before: Integers, elsewhere: Flags, nodes: Flags, inner: Flags
) -> tuple[Integers, Integers]:
    """Return the lags after the launch and in the stream.

    One of the two delayed each operation, or an operation of another stream did (``elsewhere``). The recording does not
    show how long the other lags would have been, so they get the median of their kind, capped at the observed time.
    Nodes of CUDA graphs are a kind of their own.
    """
    start, called, follows = operations.start, operations.call >= 0, before >= 0
    launch = np.where(called, start - (calls.start[operations.call] if len(calls) else 0), 0)
    stream = np.where(follows, start - (operations.end[before] if len(operations) else 0), 0)
    returned = np.where(called, calls.end[operations.call] if len(calls) else 0, -1)
    # A call that waits for its own operation returns too late to tell when it had launched it.
    waiting = called & (returned > start) & (launch > LONG_LAUNCH_NS)
    behind = follows & ((stream <= np.where(waiting, ACROSS_NS, NEAR_NS)) | (start - stream >= returned) | inner)
    kinds = 2 * operations.kind + nodes
    for kind in np.unique(kinds):
        ours = kinds == kind
        for lag, bound in ((launch, called & ~behind & ~elsewhere), (stream, behind & ~elsewhere)):
            usual = int(np.median(lag[ours & bound])) if np.any(ours & bound) else 0
            free = ours & ~bound
            lag[free] = np.minimum(lag[free], usual)
    return launch, stream


def _find_partners(operations: Operations) -> list[tuple[int, ...]]:
    """Return the operations of each collective: one on every GPU of its communicator, which end at the same time.

    Where streams do not tell the communicator, such as at the borders of the part, the operations of a name do that
    end together on all GPUs.
    """
    mine = np.flatnonzero(operations.in_class("communication"))
    devices = np.unique(operations.device[mine])
    if len(devices) < 2:
        return []
    matched = collectives.match(collectives.list_series(operations, np.ones(len(operations), np.bool_)), 1)
    rows = matched.list_operations()
    mine = np.setdiff1d(mine, np.concatenate([one.ravel() for one in rows]) if rows else mine[:0])
    for code in np.unique(operations.name[mine]):
        lists = [mine[(operations.name[mine] == code) & (operations.device[mine] == one)] for one in devices]
        rows.append(np.stack(_find_ending_together(operations.end, lists), axis=1))
    return [one for of_communicator in rows for one in collectives.keep_overlapping(operations, of_communicator)]


def _find_ending_together(end: Integers, lists: list[Integers]) -> list[Integers]:
    """Return the operations of the first list that end within ``TOGETHER_NS`` of one of each other list, and these."""
    known, partners = np.ones(len(lists[0]), np.bool_), [lists[0]]
    for one in lists[1:]:
        if not len(one):
            return [none[:0] for none in lists]
        by_end = one[np.argsort(end[one], kind="stable")]
        at = np.clip(np.searchsorted(end[by_end], end[lists[0]]), 1, max(1, len(by_end) - 1))
        nearest = [by_end[np.minimum(at - 1, len(by_end) - 1)], by_end[np.minimum(at, len(by_end) - 1)]]
        apart = np.abs(end[np.stack(nearest)] - end[lists[0]])
        known &= apart.min(axis=0) <= TOGETHER_NS
        partners.append(np.where(apart[0] <= apart[1], *nearest))
    for one in partners[1:]:  # each belongs to one collective
        known &= np.bincount(one, minlength=int(one.max(initial=0)) + 1)[one] == 1
    return [one[known] for one in partners]


def _order_events(
    calls: Calls, operations: Operations, needed: dict[int, tuple[int, ...]], partners: list[tuple[int, ...]]
) -> list[int]:
    """Order the events by time. ``needed`` lists the operations that must start before a waiting call ends."""
    waiting = np.array(sorted(needed), np.int64)
    begun = np.array([operations.start[list(members)].max() for members in partners], np.int64)
    last = np.array([operations.start[list(needed[i])].max() for i in waiting.tolist()], np.int64)
    times = np.concatenate([calls.start, operations.start, begun, calls.end[waiting]])
    # Ties: ends of calls that waited for earlier operations, then starts of calls, operations, collectives, other ends.
    sizes = (len(calls), len(operations), len(partners))
    kind = np.concatenate([np.repeat([1, 2, 3], sizes), np.where(last < calls.end[waiting], 0, 4)])
    events = np.concatenate([
        3 * np.arange(len(calls)), 3 * np.arange(len(operations)) + 2, -1 - np.arange(len(partners)), 3 * waiting + 1
    ])  # fmt: skip
    order: list[int] = events[np.lexsort((np.abs(events), kind, times))].tolist()
    return order
