"""Rows for events of a lane that overlap: each stands in the first row that is free when it begins."""

import numpy as np
from numpy.typing import NDArray

ROWS = 64
"""Rows of a lane at most."""

Times = NDArray[np.int64]


class FirstFit:
    """Gives events of one lane, in the order of their begin, a row each, some events at a time."""

    def __init__(self) -> None:
        self._free_at: list[int] = []

    def place(self, starts: Times, ends: Times) -> tuple[NDArray[np.int16], Times, Times]:
        """The row of each event, and the begin and end that it has there, ns.

        Where all rows are taken an event stands in the last one, with that part of it which sticks out of the events
        before: no two events of a row overlap.
        """
        free_at, placed = self._free_at, []
        starts, ends = starts.copy(), ends.copy()
        for at, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            row = 0
            for free in free_at:
                if free <= start:
                    break
                row += 1
            if row == ROWS:
                row = ROWS - 1
                starts[at] = free_at[row]
                ends[at] = max(end, free_at[row])
            elif row == len(free_at):
                free_at.append(start)
            free_at[row] = max(end, free_at[row])
            placed.append(row)
        return np.array(placed, dtype=np.int16), starts, ends
