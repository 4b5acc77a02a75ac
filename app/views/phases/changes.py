"""Differences between two reports by class and by kernel: data frames in and out, no Streamlit."""

from typing import Any

import pandas as pd

NEW, GONE, SAME = "new", "gone", "same"
SAME_PCT = 2.0
"""Times that differ by less than this percentage of the longer one count as the same."""


def join_classes(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Join the class rows of two reports (``a_``, ``b_``) with their difference, largest change of the share first.

    Args:
        first: rows by class with share_pct, pass_ns and pass_calls (empty without steps).
        second: the same rows of the other report.
    """
    columns = ["share_pct", "pass_ns", "pass_calls"]
    both = _join_sides(first.set_index("class")[columns], second.set_index("class")[columns])
    both["points"] = both["b_share_pct"].fillna(0) - both["a_share_pct"].fillna(0)
    both["change_ns"] = _subtract_sides(both, "pass_ns", first, second)
    return both.sort_values("points", key=abs, ascending=False, kind="stable").reset_index(names="class")


def add_reasons(rows: pd.DataFrame, *, by_pass: bool) -> pd.DataFrame:
    """Add the reason of each change to the kernels of a comparison, in the order of the Compare page.

    Args:
        rows: the compared kernels (``profiledb.studies.compare.rows.kernels``).
        by_pass: whether the rows cover only the steps, with times and launches per step.
    """
    kernels = rows.rename(columns={"share_change_points": "points"})
    for letter in "ab":
        for pass_column, column in (("pass_ns", "total_ns"), ("pass_calls", "calls")):
            kernels[f"{letter}_{pass_column}"] = kernels[f"{letter}_{column}"] if by_pass else float("nan")
    if not by_pass:
        kernels["change_ns"] = float("nan")
    return kernels.assign(why=[_explain_change(row, by_pass=by_pass) for _, row in rows.iterrows()])[KERNEL_COLUMNS]


KERNEL_COLUMNS = [
    "name", "class", "why", "change_ns", "points", "demangled",
    *(f"{letter}_{name}" for name in ("share_pct", "pass_ns", "pass_calls", "avg_ns") for letter in "ab"),
]  # fmt: skip


def _join_sides(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return first.add_prefix("a_").join(second.add_prefix("b_"), how="outer")


def _subtract_sides(both: pd.DataFrame, column: str, first: pd.DataFrame, second: pd.DataFrame) -> "pd.Series[float]":
    """Return second minus first, with 0 for a class missing on one side; NaN if either report has no steps."""
    if not (_has_passes(first) and _has_passes(second)):
        return pd.Series(float("nan"), index=both.index)
    return both[f"b_{column}"].fillna(0) - both[f"a_{column}"].fillna(0)


def _has_passes(rows: pd.DataFrame) -> bool:
    return bool(rows["passes"].notna().any())


def _explain_change(row: "pd.Series[Any]", *, by_pass: bool) -> str:
    """Return new, gone, same, or the larger cause of the change in time: the number of launches or their duration."""
    if row["status"] in (NEW, GONE):
        return str(row["status"])
    if not by_pass:
        longer = row["b_avg_ns"] - row["a_avg_ns"]
        return _choose_word(longer, max(row["a_avg_ns"], row["b_avg_ns"]), "slower", "faster")
    more, longer = row["more_calls_ns"], row["longer_ns"]
    whole = max(row["a_total_ns"], row["b_total_ns"])
    return (
        _choose_word(more, whole, "more launches", "fewer launches")
        if abs(more) >= abs(longer)
        else _choose_word(longer, whole, "slower", "faster")
    )


def _choose_word(change: float, whole: float, up: str, down: str) -> str:
    if abs(change) < SAME_PCT / 100 * whole:
        return SAME
    return up if change > 0 else down
