"""The critical path of a replay, traced back from its last event, each time to the event that it waited for."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from profiledb.replay.graph import Graph, strip_version
from profiledb.replay.recording import COPY, KERNEL, MEMSET, Operations
from profiledb.replay.simulation import LAUNCH, ORIGIN, STREAM, Replayed

HOST, CALLS, LATENCY = "host code", "CUDA calls", "launch latency"
_OTHERS = {COPY: "copies", MEMSET: "memory sets"}


class Segment(NamedTuple):
    """A stretch of the critical path, in ns on the clock of the replay.

    ``call`` is the call that it belongs to, or -1: the launch of an operation, the call before or after host code.
    ``operation`` is the operation that runs, or -1.
    """

    begin_ns: int
    end_ns: int
    kind: str
    name: str
    call: int
    operation: int = -1

    @property
    def ns(self) -> int:
        """Return its length."""
        return self.end_ns - self.begin_ns


@dataclass(frozen=True)
class Piece:
    """A part of the critical path. ``kind`` is a kernel class, copies, CUDA calls, host code ...; times in ns."""

    kind: str
    name: str
    ns: int


def trace(graph: Graph, replayed: Replayed, begin_ns: int, end_ns: int, last_call: int = -1) -> list[Segment]:
    """Return the segments of the path between two moments on the clock of the replay, by time; none overlap.

    The path leads to ``last_call``, after which the host works until ``end_ns``, or else to the event that ended last.
    """
    walk = _Walk(graph, replayed, begin_ns, end_ns)
    walk.run(last_call)
    return walk.segments[::-1]


def cut(segments: Iterable[Segment], begin_ns: int, end_ns: int) -> list[Segment]:
    """Return the path between two moments, such as those of a step."""
    cropped = (one._replace(begin_ns=max(one.begin_ns, begin_ns), end_ns=min(one.end_ns, end_ns)) for one in segments)
    return [one for one in cropped if one.ns > 0]


def sum_pieces(segments: Iterable[Segment]) -> list[Piece]:
    """Return the parts of a path by kind and name, the longest first."""
    took: Counter[tuple[str, str]] = Counter()
    for one in segments:
        took[one.kind, one.name] += one.ns
    rows = [Piece(kind, name, ns) for (kind, name), ns in took.items()]
    return sorted(rows, key=lambda piece: (-piece.ns, piece.kind, piece.name))


def name_kind(operations: Operations, j: int) -> str:
    """Return the kind of an operation: its kernel class, copies, memory sets, CUDA graphs."""
    kind, code = operations.kind[j], operations.name[j]
    return operations.kernels[code].class_ if kind == KERNEL and code >= 0 else _OTHERS.get(int(kind), "CUDA graphs")


class _Walk:
    def __init__(self, graph: Graph, replayed: Replayed, begin_ns: int, end_ns: int) -> None:
        self.graph, self.replayed, self.begin_ns, self.until_ns = graph, replayed, begin_ns, end_ns
        self.segments: list[Segment] = []
        self.before = _find_chain_before(graph, replayed)
        self.last_of = {j: group for group in graph.partners for j in group}
        calls, operations = graph.recording.calls, graph.recording.operations
        self.call_titles = [strip_version(name) for name in calls.names]
        self.call_name, self.gap = calls.name.tolist(), graph.gap.tolist()
        self.launch, self.stream_before = operations.call.tolist(), graph.stream_before.tolist()
        self.kernel_name = np.where(operations.kind == KERNEL, operations.name, -1).tolist()

    def run(self, last_call: int) -> None:
        """Follow the path from a call, or else from the event that ended last, to the begin."""
        at: tuple[str, int] | None = ("end", last_call) if last_call >= 0 else self._find_last()
        if last_call >= 0:
            self._add_time(HOST, "", self.replayed.call_end[last_call], self.until_ns, last_call)
        while at is not None and self.until_ns > self.begin_ns:
            kind, i = at
            at = self._step_from_operation(i) if kind == "operation" else self._step_from_call(i, ended=kind == "end")

    def _find_last(self) -> tuple[str, int] | None:
        ends, call_ends = np.array(self.replayed.end), np.array(self.replayed.call_end)
        candidates = []
        for kind, times in (("operation", ends), ("end", call_ends)):
            earlier = np.flatnonzero(times <= self.until_ns)
            if len(earlier):
                i = int(earlier[np.argmax(times[earlier])])
                candidates.append((int(times[i]), kind, i))
        return max(candidates)[1:] if candidates else None

    def _add_time(self, kind: str, name: str, begin: int, end: int, call: int, operation: int = -1) -> None:
        """Add a stretch up to the one that follows it: operations of a stream may overlap."""
        until = self.until_ns
        if begin < self.begin_ns:  # noqa: PLR1730 (max takes three times as long, a million times)
            begin = self.begin_ns
        if end > until:  # noqa: PLR1730
            end = until
        if end > begin:
            self.segments.append(Segment(begin, end, kind, name, call, operation))
        if begin < until:
            self.until_ns = begin

    def _step_from_operation(self, j: int) -> tuple[str, int] | None:
        operations = self.graph.recording.operations
        end = self.replayed.end[j]
        if group := self.last_of.get(j):
            j = max(group, key=self.replayed.begin.__getitem__)
        code = self.kernel_name[j]
        name = operations.kernels[code].name if code >= 0 else ""
        self._add_time(name_kind(operations, j), name, self.replayed.begin[j], end, self.launch[j], j)
        return self._explain_begin(j)

    def _explain_begin(self, j: int) -> tuple[str, int] | None:
        """Return the event that an operation waited for before it began."""
        replayed, call = self.replayed, self.launch[j]
        begin, cause = replayed.begin[j], replayed.cause[j]
        if cause == ORIGIN:
            return None
        if cause == LAUNCH:
            self._add_time(LATENCY, "", replayed.call_begin[call], begin, call)
            return "begin", call
        before = self.stream_before[j] if cause == STREAM else self.graph.after[j]
        self._add_time(LATENCY, "", replayed.end[before], begin, call)
        return "operation", before

    def _step_from_call(self, i: int, *, ended: bool) -> tuple[str, int] | None:
        replayed = self.replayed
        if ended:
            begin, end, j = replayed.call_begin[i], replayed.call_end[i], replayed.awaited[i]
            rest = self.graph.after_wait.get(i, 0)
            self._add_time(CALLS, self.call_titles[self.call_name[i]], end - rest if j >= 0 else begin, end, i)
            if j >= 0:
                return self._explain_begin(j) if i in self.graph.queued else ("operation", j)
        begin, before = replayed.call_begin[i], self.before[i]
        self._add_time(HOST, "", begin - self.gap[i] if before >= 0 else self.begin_ns, begin, i)
        return ("end", before) if before >= 0 else None


def _find_chain_before(graph: Graph, replayed: Replayed) -> list[int]:
    """Return, for each call, the earlier call of its chain that ended last."""
    before, last = [-1] * len(graph.chain), dict[int, int]()
    for i, one in enumerate(graph.chain.tolist()):
        j = last.get(one, -1)
        before[i] = j
        if j < 0 or replayed.call_end[i] >= replayed.call_end[j]:
            last[one] = i
    return before
