"""Moments of a recording in a replay, such as the starts of its steps."""

from typing import Any

import numpy as np

from profiledb.replay.graph import Graph
from profiledb.replay.recording import Integers
from profiledb.replay.simulation import Replayed
from profiledb.replay.window import Window


def find_first_call(built: Graph, window: Window) -> int:
    """Return the first call of the window's thread."""
    return int(np.argmax(built.recording.calls_of(window.thread)))


def map_moments(built: Graph, window: Window, replayed: Replayed, times: Integers) -> Integers:
    """Map times of the recording on the window's thread to times of a replay."""
    calls = built.recording.calls
    chain = built.chain[find_first_call(built, window)]
    mine = np.flatnonzero(built.chain == chain)
    at = np.searchsorted(calls.start[mine], times, "right") - 1
    begins, ends = np.array(replayed.call_begin)[mine], np.array(replayed.call_end)[mine]
    here = np.maximum(at, 0)
    inside = times <= calls.end[mine][here]
    moment = np.where(
        inside, np.minimum(begins[here] + times - calls.start[mine][here], ends[here]),
        ends[here] + times - calls.end[mine][here],
    )  # fmt: skip
    following = np.minimum(at + 1, len(mine) - 1)
    moment = np.where((at + 1 < len(mine)) & ~inside, np.minimum(moment, begins[following]), moment)
    first = times - calls.start[mine][0] + begins[0]
    return np.where(at < 0, first, moment)


def measure_step_lengths(built: Graph, window: Window, replayed: Replayed) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the time from the start of each step to the start of the next one."""
    begins = np.array([begin for begin, _ in window.steps.values()] + [window.end_ns] * bool(window.steps), np.int64)
    return np.diff(map_moments(built, window, replayed, begins)).astype(np.float64)
