"""Which ranks take part in a collective whose communicator no report names.

A collective ends on all its ranks within microseconds, while those of other communicators drift apart, so ranks whose
ends keep their distance from one collective to the next take part in it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

TOGETHER_NS = 20_000
"""Most by which the distance between the ends on two ranks changes from one collective to the next, ns. On a mesh of
two by two GPUs 92 % of the changes are below it where two ranks take part, 31 % at most where they do not."""
TOGETHER = 0.8
"""Share of collectives that do so from which two ranks take part in one."""
APART = 2.0
"""How many times as long as a transfer that change is, at the same share, if they do not: ends of one collective differ
by less than it takes. Between the two nothing is told."""
FEWEST = 8
"""Fewest collectives that tell anything."""
_MOST = 256
"""Collectives of a kind and rank that are looked at, the first ones."""
_NAMED = 4

Members = tuple[int, ...]


def name_members(operations: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """Return operations of a run, with the column rank, in which the ranks that end together stand for the name of an
    unnamed communicator; ``kinds`` are operations of all ranks of one.
    """
    unnamed = operations["communicator"].isna() & operations["operation"].isin(kinds) & operations["step"].notna()
    if not unnamed.any():
        return operations
    names = operations["communicator"].astype(object)
    for _, rows in operations[unnamed].groupby("operation"):
        for members in find_members(rows):
            names[rows.index[rows["rank"].isin(members)]] = f"ranks {list_members(members)}"
    return operations.assign(communicator=names)


def find_members(rows: pd.DataFrame) -> list[Members]:
    """Return the ranks of each communicator, from collectives of one kind; none if it is unclear."""
    rows = rows.groupby("rank").head(_MOST)
    places = rows.assign(nth=rows.groupby(["rank", "step"]).cumcount(), end_ns=rows["start_ns"] + rows["duration_ns"])
    wide = places.pivot_table(index=["step", "nth"], columns="rank", values=["end_ns", "duration_ns"]).dropna()
    if len(wide) <= FEWEST:
        return []
    ranks = places["rank"].drop_duplicates().sort_values().to_numpy()
    durations, ends = np.split(wide.to_numpy(dtype=float).T, 2)  # columns are in the order of their names
    transfer_ns = float(np.median(durations.min(axis=0)))
    left, members = np.arange(len(ends)), []
    while len(left):
        change = np.quantile(np.abs(np.diff(ends[left] - ends[left[0]])), TOGETHER, axis=1)
        is_member = change <= TOGETHER_NS
        if (change[~is_member] < APART * transfer_ns).any():
            return []
        members.append(tuple(ranks[left[is_member]].tolist()))
        left = left[~is_member]
    return members


def list_members(members: Sequence[int]) -> str:
    """Return ranks in short: ``0-7``, ``0, 2``, or ``0, 4, 8, 12 ... 60`` of many."""
    first, last = members[0], members[-1]
    if len(members) > 2 and last - first == len(members) - 1:
        return f"{first}-{last}"
    if len(members) <= _NAMED + 1:
        return ", ".join(map(str, members))
    return f"{', '.join(map(str, members[:_NAMED]))} ... {last}"
