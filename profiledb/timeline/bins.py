"""Binning as in ``binning_sql.build_binning`` for a tile's few rows, where planning that query would take longest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
NAMES = ("lane", "row", "s", "e", "n", "busy", "name", "ref", "d")


def make_items(rows: Columns, z: int, base: int) -> Columns:
    """Return the items in bins of 2^z ns, ordered by lane, row and start.

    Args:
        rows: columns of ``binning_sql.SOURCE``, ordered by lane, row and start.
        z: logarithm of a bin's width in ns.
        base: an edge of a bin at or before the start of everything shorter than a bin, ns.
    """
    long = (rows["n"] == 1) & (rows["e"] - rows["s"] >= 1 << z)
    parts = [_select_rows(rows, long)]
    if not long.all():
        parts += _bin_short(_select_rows(rows, ~long), z, base)
    items = {name: np.concatenate([part[name] for part in parts]) for name in NAMES}
    return _select_rows(items, np.lexsort((items["e"], items["s"], items["row"], items["lane"])))


def _select_rows(rows: Columns, which: NDArray[Any]) -> Columns:
    return {name: rows[name][which] for name in NAMES}


def _bin_short(x: Columns, z: int, base: int) -> list[Columns]:
    """Return the items of everything shorter than a bin."""
    at = (x["s"] - base) >> z
    new = np.ones(len(at), dtype=bool)
    new[1:] = (np.diff(at) != 0) | (np.diff(x["row"]) != 0) | (np.diff(x["lane"]) != 0)
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    n = np.add.reduceat(x["n"].astype(np.int64), first)
    low = base + (at[first] << z)
    high = low + (1 << z)
    reach = np.maximum.reduceat(x["e"], first)
    inside = np.add.reduceat(x["busy"] - np.maximum(0, x["e"] - high[group]), first)
    next_to = np.zeros(len(first) + 1, dtype=bool)  # True for a group in the bin after that of the group before
    same = (np.diff(x["row"][first]) == 0) & (np.diff(x["lane"][first]) == 0)
    next_to[1:-1] = same & (np.diff(at[first]) == 1)
    several = n > 1
    carried = np.zeros(len(first), dtype=np.int64)
    carried[1:] = np.where(next_to[1:-1] & several[:-1], np.maximum(0, reach[:-1] - low[1:]), 0)
    is_taken = np.zeros(len(first), dtype=bool)
    is_taken[:-1] = next_to[1:-1] & several[1:]
    top = _find_first_chosen(x["d"] == np.maximum.reduceat(x["d"], first)[group], group)
    last = _find_first_chosen(x["e"] == reach[group], group)
    over = several & (reach > high) & ~is_taken
    rest = (x["n"] == 0) & ~several[group] & (x["e"] > low[group])
    return [
        _make_item(x, top[several], low[several], high[several], n[several], (inside + carried)[several]),
        _select_rows(x, (x["n"] == 1) & (n[group] == 1)),
        _make_ends(x, np.flatnonzero(rest), low[group][rest], x["e"][rest]),
        _make_ends(x, last[over], high[over], reach[over]),
    ]


def _find_first_chosen(chosen: NDArray[np.bool_], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first chosen row of each group; each group has one."""
    rows = np.flatnonzero(chosen)
    return rows[np.unique(group[rows], return_index=True)[1]]


def _make_item(
    x: Columns, named: NDArray[Any], s: NDArray[Any], e: NDArray[Any], n: NDArray[Any], busy: NDArray[Any]
) -> Columns:
    columns = {name: x[name][named] for name in ("lane", "row", "name", "ref", "d")}
    return {**columns, "s": s, "e": e, "n": n, "busy": busy}


def _make_ends(x: Columns, named: NDArray[Any], s: NDArray[Any], e: NDArray[Any]) -> Columns:
    """Return items for ends of events that started in the bin before; they count nothing."""
    item = _make_item(x, named, s, e, np.zeros(len(s), dtype=np.int64), e - s)
    return {**item, "d": np.full(len(s), -1, dtype=np.int64)}
