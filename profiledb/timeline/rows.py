"""Rows for overlapping events of a lane: each gets the first row that is free when it starts."""

import numpy as np
from numpy.typing import NDArray

ROWS = 64
"""Rows per lane."""

Times = NDArray[np.int64]


class FirstFit:
    """Assigns rows to events of one lane in order of their starts, some events at a time."""

    def __init__(self) -> None:
        self._free_at: list[int] = []

    def place(self, starts: Times, ends: Times) -> tuple[NDArray[np.int16], Times, Times]:
        """Return the row of each event, and its start and end in that row, ns.

        If all rows are taken, an event is put in the last one, cut to the part after the events before: events of a row
        never overlap.
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
