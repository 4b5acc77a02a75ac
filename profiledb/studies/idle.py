"""Where the program was while the GPU was idle, from the rows of ``idle_ranges``."""

from typing import Any

import pandas as pd

LEAST_PCT = 50.0
"""Share of the idle time below which no range is named as the place."""

MOST = 0.8
"""Part of a range's idle time that one range inside it holds, so that this one is the better name for the place."""


def place(rows: pd.DataFrame) -> "pd.Series[Any] | None":
    """The innermost range that holds most of the idle time, None where none does.

    Args:
        rows: the answer of ``idle_ranges``, with the columns range, level and share_pct.

    Returns:
        Its row. From the outermost range down, a range inside counts as the place where it holds ``MOST`` of it.
    """
    chosen = None
    for _, row in rows[rows["range"].notna()].sort_values("level", kind="stable").iterrows():
        if chosen is None:
            better = row["level"] == 0 and row["share_pct"] >= LEAST_PCT
        else:
            inside = row["level"] == chosen["level"] + 1 and str(row["range"]).startswith(f"{chosen['range']}/")
            better = inside and row["share_pct"] >= MOST * chosen["share_pct"]
        chosen = row if better else chosen
    return chosen
