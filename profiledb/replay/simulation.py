"""Replay a graph: compute when each call and operation starts and ends, and the cause of each start."""

from dataclasses import dataclass

import numpy as np

from profiledb.replay.graph import Graph

ORIGIN, LAUNCH, STREAM, OTHER = range(4)
"""What determined the start of an operation: nothing, its launch, its stream, or an operation of another stream."""


@dataclass(frozen=True)
class Replayed:
    """Times of a replay, in ns on the clock of the capture.

    ``cause`` says what determined the start of each operation. ``awaited`` is the operation that each call waited for,
    or -1.
    """

    call_begin: list[int]
    call_end: list[int]
    awaited: list[int]
    begin: list[int]
    end: list[int]
    cause: list[int]

    @property
    def length_ns(self) -> int:
        """Return the time from the first start to the last end."""
        return max([*self.call_end, *self.end], default=0) - min([*self.call_begin, *self.begin], default=0)


def replay(graph: Graph) -> Replayed:  # noqa: C901, PLR0912, PLR0915 (one loop: calls would take as long again)
    """Replay a graph, which takes about half a microsecond per event."""
    calls, operations = graph.recording.calls, graph.recording.operations
    chain, gap, cost = graph.chain.tolist(), graph.gap.tolist(), graph.cost.tolist()
    length, launched = graph.length.tolist(), operations.call.tolist()
    launch_lag, stream_lag, other_lag = graph.launch_lag.tolist(), graph.stream_lag.tolist(), graph.other_lag
    before, after, original = graph.stream_before.tolist(), graph.after, operations.start.tolist()
    waits, queued, after_wait = graph.waits, graph.queued, graph.after_wait
    call_begin, call_end, awaited = [0] * len(chain), [0] * len(chain), [-1] * len(chain)
    begin, end, cause = [0] * len(length), [0] * len(length), [ORIGIN] * len(length)
    until = [int(calls.start[0]) if len(calls) else 0] * (max(chain, default=0) + 1)
    for kind, i in zip(*_list_events(graph), strict=True):
        if kind == _CALL:
            one = chain[i]
            call_begin[i] = moment = until[one] + gap[i]
            call_end[i] = moment = moment + cost[i]
            if moment > until[one]:  # noqa: PLR1730 (max takes three times as long, in each event)
                until[one] = moment
        elif kind == _OPERATION:
            call, last, moment, why = launched[i], before[i], original[i], ORIGIN
            if call >= 0:
                moment, why = call_begin[call] + launch_lag[i], LAUNCH
            if last >= 0:
                ready = end[last] + stream_lag[i]
                if not why or ready >= moment:
                    moment, why = ready, STREAM
            if i in after:
                ready = end[after[i]] + other_lag[i]
                if not why or ready >= moment:
                    moment, why = ready, OTHER
            begin[i] = moment
            end[i], cause[i] = moment + length[i], why
        elif kind == _WAITING_CALL:
            call_begin[i] = moment = until[chain[i]] + gap[i]
            call_end[i] = moment + cost[i]
        elif kind == _RETURN:
            if i in queued:
                j = queued[i]
                if begin[j] > call_end[i]:
                    call_end[i], awaited[i] = begin[j], j
                call_end[i] += after_wait[i]
            else:
                j = max(waits[i], key=end.__getitem__)
                if end[j] > call_begin[i]:
                    call_end[i], awaited[i] = end[j] + after_wait[i], j
                else:
                    call_end[i] = call_begin[i] + after_wait[i]
            until[chain[i]] = max(until[chain[i]], call_end[i])
        else:
            members = graph.partners[i]
            begun = max(begin[j] for j in members)
            recorded = max(original[j] for j in members)
            for j in members:
                end[j] = begun + max(0, length[j] - (recorded - original[j]))
    return Replayed(call_begin, call_end, awaited, begin, end, cause)


_CALL, _RETURN, _OPERATION, _WAITING_CALL, _COLLECTIVE = range(5)


def _list_events(graph: Graph) -> tuple[list[int], list[int]]:
    """Return kind and index of each event in order; calls that do not wait have no event when they return."""
    order = np.array(graph.order, np.int64)
    kind, index = np.where(order < 0, _COLLECTIVE, order % 3), np.where(order < 0, -1 - order, order // 3)
    waiting = np.zeros(len(graph.chain) + 1, np.bool_)
    waiting[[*graph.waits, *graph.queued]] = True
    of_call = (kind == _CALL) | (kind == _RETURN)
    waits = waiting[np.where(of_call, index, -1)]
    kind[(kind == _CALL) & waits] = _WAITING_CALL
    has_event = (kind != _RETURN) | waits
    return kind[has_event].tolist(), index[has_event].tolist()
