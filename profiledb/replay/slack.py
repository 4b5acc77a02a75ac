"""Slack: how much longer each call and operation may take before the part that contains it takes longer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profiledb.replay.graph import Graph, strip_version
from profiledb.replay.part import Part
from profiledb.replay.recording import COPY, GRAPH, MEMSET, Flags, Integers
from profiledb.replay.simulation import Replayed

NEVER = 1 << 62
"""The latest time of events that nothing in the part waits for."""
_KINDS = {COPY: "copy", MEMSET: "memset", GRAPH: "graph"}


@dataclass(frozen=True)
class Latest:
    """When calls and operations may start, and calls return, at the latest; about ``NEVER`` if that does not matter."""

    call: Integers
    returned: Integers
    operation: Integers


@dataclass(frozen=True)
class Slack:
    """The slack of all kernels, calls or ranges of a name; times in ns.

    Attributes:
        kind: ``kernel``, ``copy``, ``memset``, ``graph``, ``call`` or ``range``.
        name: of the kernel, call or range; empty for copies, memory sets and graphs.
        count: how many there are in the part.
        ns: how long they take together.
        critical: how many have no slack.
        least_ns: the least slack of any of them.
        median_ns: the median of their slacks.
    """

    kind: str
    name: str
    count: int
    ns: int
    critical: int
    least_ns: int
    median_ns: int


def compute_latest(  # noqa: C901, PLR0912, PLR0915 (one loop, as in the replay)
    graph: Graph, replayed: Replayed, operation_ends: Integers, call_ends: Mapping[int, int]
) -> Latest:
    """Return when calls and operations may take place at the latest.

    The events of the replay are visited backward: each has to take place before all that wait for it.

    Args:
        graph: the program.
        replayed: its replay.
        operation_ends: when each operation must have ended; ``NEVER`` if that does not matter.
        call_ends: the same for the calls for which it matters.
    """
    chain, gap, cost = graph.chain.tolist(), graph.gap.tolist(), graph.cost.tolist()
    launched, before, after = graph.recording.operations.call.tolist(), graph.stream_before.tolist(), graph.after
    launch_lag, stream_lag, other_lag = graph.launch_lag.tolist(), graph.stream_lag.tolist(), graph.other_lag
    waits, queued, begin, end = graph.waits, graph.queued, replayed.begin, replayed.end
    late_end: list[int] = operation_ends.tolist()
    late_begin, late_call, late_return = [NEVER] * len(end), [NEVER] * len(chain), [NEVER] * len(chain)
    of_chain = dict.fromkeys(chain, NEVER)
    members = {j for group in graph.partners for j in group}
    for event in reversed(graph.order):
        if event < 0:
            group = graph.partners[-1 - event]
            begun = max(begin[j] for j in group)
            bound = min(late_end[j] - (end[j] - begun) for j in group)
            for j in group:
                late_begin[j] = min(late_begin[j], bound)
            continue
        i, kind = divmod(event, 3)
        if kind == 2:
            if i not in members:
                late_begin[i] = min(late_begin[i], late_end[i] - end[i] + begin[i])
            bound, call, last = late_begin[i], launched[i], before[i]
            if call >= 0:
                late_call[call] = min(late_call[call], bound - launch_lag[i])
            if last >= 0:
                late_end[last] = min(late_end[last], bound - stream_lag[i])
            if i in after:
                late_end[after[i]] = min(late_end[after[i]], bound - other_lag[i])
            continue
        waiting, returned = i in waits or i in queued, NEVER
        if kind == 1 or not waiting:
            late_return[i] = returned = min(call_ends.get(i, NEVER), of_chain[chain[i]])
        if kind == 1:
            returned -= graph.after_wait[i]
            for j in waits.get(i, ()):
                late_end[j] = min(late_end[j], returned)
            if i in queued:
                late_begin[queued[i]] = min(late_begin[queued[i]], returned)
                returned -= cost[i]
            late_call[i] = min(late_call[i], returned)
            continue
        if not waiting:
            late_call[i] = min(late_call[i], returned - cost[i])
        of_chain[chain[i]] = min(of_chain[chain[i]], late_call[i] - gap[i])
    return Latest(*(np.array(times, np.int64) for times in (late_call, late_return, late_begin)))


def measure_part(graph: Graph, replayed: Replayed, part: Part, latest: Latest) -> list[Slack]:
    """Return the slack of kernels, copies, calls and ranges of a part by name, the longest first."""
    calls, operations = graph.recording.calls, graph.recording.operations
    begin, length = np.array(replayed.begin, np.int64), np.array(replayed.end, np.int64) - replayed.begin
    call_begin = np.array(replayed.call_begin, np.int64)
    call_end = np.array(replayed.call_end, np.int64)
    # A launch that takes longer may delay its kernel, too.
    longer = np.minimum(latest.call - call_begin, latest.returned - call_end)
    waiting = [*graph.waits]
    longer[waiting] = (latest.returned - call_end)[waiting]
    rows = [
        *_list_by_name("kernel", [kernel.name for kernel in operations.kernels], operations.name,
                  latest.operation - begin, length, part.operations),
        *_list_by_name("call", [strip_version(name) for name in calls.names], calls.name, longer,
                  call_end - call_begin, part.calls),
        *(_compute_range_slack(graph, name, spans, latest.call - call_begin) for name, spans in part.ranges.items()),
    ]  # fmt: skip
    for kind, name in _KINDS.items():
        rows.append(_make_row(name, "", latest.operation - begin, length, part.operations & (operations.kind == kind)))
    return sorted((row for row in rows if row and row.median_ns < NEVER // 2), key=lambda row: (-row.ns, row.name))


def _list_by_name(
    kind: str, names: Sequence[str], codes: Integers, slack: Integers, took: Integers, chosen: Flags
) -> Iterable[Slack | None]:
    listed = sorted(set(names))
    place = np.array([listed.index(name) for name in names] + [-1], np.int64)[codes]
    return [_make_row(kind, name, slack, took, chosen & (place == at)) for at, name in enumerate(listed)]


def _make_row(kind: str, name: str, slack: Integers, took: Integers, chosen: Flags) -> Slack | None:
    if not chosen.any():
        return None
    values = slack[chosen]
    return Slack(
        kind, name, len(values), int(took[chosen].sum()), int(np.sum(values <= 0)), int(values.min()),
        int(np.median(values)),
    )  # fmt: skip


def _compute_range_slack(graph: Graph, name: str, spans: Integers, of_calls: Integers) -> Slack | None:
    """Return the slack of a range: by how much the next call on its thread may be late."""
    values, took = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for thread in np.unique(spans[:, 0]).tolist():
        mine = np.flatnonzero(graph.recording.calls_of(thread))
        ours = spans[spans[:, 0] == thread]
        at = np.searchsorted(graph.recording.calls.start[mine], ours[:, 1])
        known = at < len(mine)
        values.append(of_calls[mine[at[known]]])
        took.append(ours[known, 2] - ours[known, 1])
    every = np.concatenate(values)
    return _make_row("range", name, every, np.concatenate(took), np.ones(len(every), np.bool_))
