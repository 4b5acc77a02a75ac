"""What differs between two reports, class by class and kernel by kernel: frames to frames, no Streamlit."""

import pandas as pd

NEW, GONE, SAME = "new", "gone", "same"
SAME_PCT = 2.0
"""A time that differs by less, in percent of the longer one, counts as the same."""


def classes(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Rows by class of two reports side by side (``a_``, ``b_``), with the change; the farthest change first.

    Args:
        first: rows by class with share_pct, pass_ns and pass_calls (empty where there are no passes).
        second: those of the other report.
    """
    columns = ["share_pct", "pass_ns", "pass_calls"]
    both = _beside(first.set_index("class")[columns], second.set_index("class")[columns])
    both["points"] = both["b_share_pct"].fillna(0) - both["a_share_pct"].fillna(0)
    both["change_ns"] = _change(both, "pass_ns", first, second)
    return both.sort_values("points", key=abs, ascending=False, kind="stable").reset_index(names="class")


def kernels(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Kernels of two reports side by side by their full name, with the change and why; the farthest change first.

    Where both have passes the change is that of the time in a pass, and only kernels inside passes count; else it is
    that of the share of all kernel time.

    Args:
        first: rows of ``top_kernels`` of one phase.
        second: those of the other report.
    """
    by_pass = _has_passes(first) and _has_passes(second)
    if by_pass:
        first, second = (rows[rows["pass_calls"] > 0] for rows in (first, second))
    columns = ["share_pct", "pass_ns", "pass_calls", "avg_ns"]
    keyed = [rows.drop_duplicates("demangled").set_index("demangled") for rows in (first, second)]
    both = _beside(*(rows[columns] for rows in keyed))
    for column in ("name", "class"):
        both[column] = keyed[0][column].reindex(both.index).fillna(keyed[1][column].reindex(both.index))
    both["points"] = both["b_share_pct"].fillna(0) - both["a_share_pct"].fillna(0)
    both["change_ns"] = _change(both, "pass_ns", first, second)
    both["why"] = [_why(row, by_pass=by_pass) for _, row in both.iterrows()]
    order = "change_ns" if by_pass else "points"
    return both.sort_values(order, key=abs, ascending=False, kind="stable").reset_index(names="demangled")


def _beside(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return first.add_prefix("a_").join(second.add_prefix("b_"), how="outer")


def _change(both: pd.DataFrame, column: str, first: pd.DataFrame, second: pd.DataFrame) -> "pd.Series[float]":
    """The difference, where what is not there counts 0; missing where one of the reports has no passes."""
    if not (_has_passes(first) and _has_passes(second)):
        return pd.Series(float("nan"), index=both.index)
    return both[f"b_{column}"].fillna(0) - both[f"a_{column}"].fillna(0)


def _has_passes(rows: pd.DataFrame) -> bool:
    return bool(rows["passes"].notna().any())


def _why(row: "pd.Series[float]", *, by_pass: bool) -> str:
    """new, gone, same, or what changes the time more: how often it is called or how long a call takes."""
    if pd.isna(row["a_share_pct"]):
        return NEW
    if pd.isna(row["b_share_pct"]):
        return GONE
    if not by_pass:
        longer = row["b_avg_ns"] - row["a_avg_ns"]
        return _word(longer, max(row["a_avg_ns"], row["b_avg_ns"]), "slower", "faster")
    more = (row["b_pass_calls"] - row["a_pass_calls"]) * row["a_avg_ns"]
    longer = row["b_pass_ns"] - row["a_pass_ns"] - more
    whole = max(row["a_pass_ns"], row["b_pass_ns"])
    return (
        _word(more, whole, "more calls", "fewer calls")
        if abs(more) >= abs(longer)
        else _word(longer, whole, "slower", "faster")
    )


def _word(change: float, whole: float, up: str, down: str) -> str:
    if abs(change) < SAME_PCT / 100 * whole:
        return SAME
    return up if change > 0 else down
