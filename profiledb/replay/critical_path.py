"""The critical path of a replay, traced back from its last event, each time to the event that it waited for."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from profiledb.replay.graph import Graph, base_name
from profiledb.replay.recording import COPY, KERNEL, MEMSET
from profiledb.replay.simulation import LAUNCH, ORIGIN, STREAM, Replayed

HOST, CALLS, LATENCY = "host code", "CUDA calls", "launch latency"
_OTHERS = {COPY: "copies", MEMSET: "memory sets"}


@dataclass(frozen=True)
class Piece:
    """A part of the critical path. ``kind`` is a kernel class, copies, CUDA calls, host code ...; times in ns."""

    kind: str
    name: str
    ns: int


def pieces(graph: Graph, replayed: Replayed, begin_ns: int, end_ns: int) -> list[Piece]:
    """Return the parts of the path that leads to ``end_ns``, on the clock of the replay, the longest first."""
    walk = _Walk(graph, replayed, begin_ns)
    walk.run(end_ns)
    rows = [Piece(kind, name, ns) for (kind, name), ns in walk.took.items() if ns > 0]
    return sorted(rows, key=lambda piece: (-piece.ns, piece.kind, piece.name))


class _Walk:
    def __init__(self, graph: Graph, replayed: Replayed, begin_ns: int) -> None:
        self.graph, self.replayed, self.begin_ns = graph, replayed, begin_ns
        self.took: Counter[tuple[str, str]] = Counter()
        self.before = _find_chain_before(graph, replayed)
        self.last_of = {j: group for group in graph.partners for j in group}

    def run(self, end_ns: int) -> None:
        """Follow the path from the event that ended last."""
        at = self._find_last(end_ns)
        while at is not None:
            kind, i = at
            at = self._step_from_operation(i) if kind == "operation" else self._step_from_call(i, ended=kind == "end")

    def _find_last(self, end_ns: int) -> tuple[str, int] | None:
        ends, call_ends = np.array(self.replayed.end), np.array(self.replayed.call_end)
        found = []
        for kind, times in (("operation", ends), ("end", call_ends)):
            earlier = np.flatnonzero(times <= end_ns)
            if len(earlier):
                i = int(earlier[np.argmax(times[earlier])])
                found.append((int(times[i]), kind, i))
        return max(found)[1:] if found else None

    def _add_time(self, kind: str, name: str, begin: int, end: int) -> None:
        self.took[kind, name] += max(0, end - max(begin, self.begin_ns))

    def _step_from_operation(self, j: int) -> tuple[str, int] | None:
        replayed, operations = self.replayed, self.graph.recording.operations
        end = replayed.end[j]
        if group := self.last_of.get(j):
            j = max(group, key=replayed.begin.__getitem__)
        begin = replayed.begin[j]
        code = int(operations.name[j])
        kernel = operations.kind[j] == KERNEL and code >= 0
        kind = operations.classes[code] if kernel else _OTHERS.get(int(operations.kind[j]), "CUDA graphs")
        self._add_time(kind, operations.names[code] if kernel else "", begin, end)
        cause, call = replayed.cause[j], int(operations.call[j])
        if begin <= self.begin_ns or cause == ORIGIN:
            return None
        if cause == LAUNCH:
            self._add_time(LATENCY, "", replayed.call_begin[call], begin)
            return "begin", call
        before = int(self.graph.stream_before[j]) if cause == STREAM else self.graph.after[j]
        self._add_time(LATENCY, "", replayed.end[before], begin)
        return "operation", before

    def _step_from_call(self, i: int, *, ended: bool) -> tuple[str, int] | None:
        replayed, calls = self.replayed, self.graph.recording.calls
        if ended:
            begin, end, j = replayed.call_begin[i], replayed.call_end[i], replayed.awaited[i]
            rest = self.graph.after_wait.get(i, 0)
            self._add_time(CALLS, base_name(calls.names[calls.name[i]]), end - rest if j >= 0 else begin, end)
            if end <= self.begin_ns:
                return None
            if j >= 0 and i not in self.graph.queued:
                return "operation", j
            if j >= 0:  # it waited for the operation before that one
                before = int(self.graph.stream_before[j])
                return ("operation", before) if before >= 0 else None
        begin, before = replayed.call_begin[i], self.before[i]
        self._add_time(HOST, "", begin - int(self.graph.gap[i]), begin)
        return ("end", before) if before >= 0 and begin > self.begin_ns else None


def _find_chain_before(graph: Graph, replayed: Replayed) -> list[int]:
    """Return, for each call, the earlier call of its chain that ended last."""
    found, last = [-1] * len(graph.chain), dict[int, int]()
    for i, one in enumerate(graph.chain.tolist()):
        j = last.get(one, -1)
        found[i] = j
        if j < 0 or replayed.call_end[i] >= replayed.call_end[j]:
            last[one] = i
    return found
