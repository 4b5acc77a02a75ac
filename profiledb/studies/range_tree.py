"""Choose the depth to which the tree of ranges (analysis ``nvtx_tree``) opens, and the range that the page shows."""

import pandas as pd

BOXES = 500
"""Paths of ranges that the icicle draws at most."""
ROWS = 300
"""Rows of the tree that a reader may still scroll."""
FEW = 60
"""The tree opens at the deepest level at which it has no more rows than this."""


def count_rows_by_level(top: pd.DataFrame) -> list[int]:
    """Count the rows of the tree down to each of its levels; ``top`` are the largest paths of ``nvtx_tree``."""
    return [int(level) for level in (top["level"] - top["level"].min() + 1).value_counts().sort_index().cumsum()]


def choose_levels(top: pd.DataFrame) -> int:
    """Return the number of levels to which the tree opens."""
    return max([depth for depth, count in enumerate(count_rows_by_level(top), 1) if count <= FEW], default=1)


def choose_depth(top: pd.DataFrame, depth: int) -> int | None:
    """Return the parameter ``depth`` of ``nvtx_tree`` for a number of levels; None for all of them."""
    return None if depth == len(count_rows_by_level(top)) and len(top) < int(top["paths"].iloc[0]) else depth


def find_outermost(top: pd.DataFrame) -> str:
    """Return the outermost range with the most time, which the page shows unless the URL names one."""
    rows = top[top["level"] == top["level"].min()]
    plain = rows[~rows["warmup"].fillna(False).astype(bool)]
    rows = plain if len(plain) else rows
    measure = "busy_ns" if rows["busy_ns"].notna().any() else "cpu_ns"
    return str(rows["path"].loc[rows[measure].astype("Float64").fillna(0).idxmax()])
