"""Add ranges that a well-behaved program does not make, for tests and measurements of attribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.process import PUSH_POP, START_END, ProcessTables


@dataclass(frozen=True)
class OddRanges:
    """Number of each kind per process."""

    crossing: int = 0
    equal: int = 0
    touching: int = 0
    zero_length: int = 0
    unclosed: int = 0

    HELP: ClassVar[dict[str, str]] = {
        "crossing": "start/end ranges from inside one forward range to past its end",
        "equal": "push/pop ranges with the very bounds of a forward range",
        "touching": "pairs of push/pop ranges: the second starts when the first ends",
        "zero_length": "push/pop ranges that end when they start",
        "unclosed": "push/pop ranges that never end",
    }


def write_odd_ranges(tables: ProcessTables, rng: np.random.Generator, odd: OddRanges) -> None:
    """Place the odd ranges on random forward ranges of the process's main thread."""
    if not tables.forward:
        return
    forward = np.concatenate(tables.forward)

    def draw(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        start, end = forward[rng.integers(0, len(forward), count)].T
        return start, end, start + ((end - start) * rng.uniform(0.1, 0.9, count)).astype(np.int64)

    def write(name: str, start: NDArray[np.int64], end: NDArray[np.int64] | pa.Array, kind: int = PUSH_POP) -> None:
        if len(start) == 0:
            return
        numbers = np.arange(1, len(start) + 1) if kind == START_END else None
        row = {"start": start, "end": end, "eventType": kind, "rangeId": numbers, "text": name, "domainId": 0}
        tables.writer.write("NVTX_EVENTS", row | {"globalTid": int(tables.tids[0])})

    start, end, middle = draw(odd.crossing)
    write("crossing", middle, end + (end - start) // 3, START_END)
    start, end, _ = draw(odd.equal)
    write("equal", start, end)
    start, end, middle = draw(odd.touching)
    write("touching_first", start, middle)
    write("touching_second", middle, end)
    _, _, middle = draw(odd.zero_length)
    write("zero_length", middle, middle)
    _, _, middle = draw(odd.unclosed)
    write("unclosed", middle, pa.nulls(len(middle), pa.int64()))
