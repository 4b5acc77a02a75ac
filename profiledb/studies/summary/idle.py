"""The place of idle time in the program: the range (``idle_ranges``) and the code (``idle_code``)."""

import re
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.findings.finding import SLASH

LEAST_PCT = 50.0
"""Share of the idle time below which no range is named as the place."""

MOST = 0.8
"""Part of a range's idle time from which a range inside it is the better place."""

ALL_PCT = 99.95
"""Share of the idle time from which a range holds all of it."""

_STEP = re.compile(r"(^|[/_ ])(profiler|train(ing)?_?)?(step|iter|iteration|epoch)s?[ _#]*\*$", re.IGNORECASE)

LEAST_SAMPLES = 20
"""CPU samples in gaps from which their shares are meaningful."""


def find_place(rows: pd.DataFrame) -> "pd.Series[Any] | None":
    """Return the row of the innermost range that holds most of the idle time; None if none does.

    Going down from the outermost range, a range inside is the place if it holds ``MOST`` of the idle time, unless it
    has the same name: ranges that were pushed and never popped nest in each other and hold whatever follows.

    Args:
        rows: the answer of ``idle_ranges``, with the columns range, level and share_pct.
    """
    chosen = None
    for _, row in rows[rows["range"].notna()].sort_values("level", kind="stable").iterrows():
        if chosen is None:
            better = row["level"] == 0 and row["share_pct"] >= LEAST_PCT
        else:
            around, path = str(chosen["range"]), str(row["range"])
            inside = row["level"] == chosen["level"] + 1 and path.startswith(f"{around}/")
            alike = SLASH.split(path)[-1] == SLASH.split(around)[-1]
            better = inside and not alike and row["share_pct"] >= MOST * chosen["share_pct"]
        chosen = row if better else chosen
    return chosen


def is_whole_step(path: str) -> bool:
    """Return True if a path with stars for numbers ends with a step, which is no useful place of idle time."""
    return bool(_STEP.search(path))


def is_whole(place: "pd.Series[Any]") -> bool:
    """Return True if a place (``find_place``) is no more than a step, or the range around all work.

    That is one that holds all of the idle time, or most of it as the outermost range of those that repeat.
    """
    path, share = str(place["range"]), float(place["share_pct"])
    repeats = place["level"] == 0 and path.endswith("*")
    return is_whole_step(path) or share >= ALL_PCT or (repeats and share >= 100 * MOST)


def find_code(rows: pd.DataFrame) -> str:
    """Return the most frequent function of the launching thread in gaps, as a Markdown sentence; "" if none is clear.

    Args:
        rows: the answer of ``idle_code``, most samples first; may have no columns.
    """
    top = rows.iloc[0] if len(rows) else None
    if top is None or top["share_pct"] < LEAST_PCT or round(100 * top["samples"] / top["share_pct"]) < LEAST_SAMPLES:
        return ""
    by = "" if pd.isna(top["called_from"]) else f", called from {words.code(words.shortened(top['called_from'], 60))}"
    name = words.code(words.shortened(top["function"], 60))
    file = f" ({words.code(words.shortened(top['module'], 60))})" if top["source"] == "Python" else ""
    return f"{words.percent(top['share_pct'])} of the {top['source']} samples in these gaps are in {name}{file}{by}."
