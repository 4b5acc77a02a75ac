"""The rows of a comparison: kernels, phases and copies of two sides, matched. A change is B minus A.

``matching.make_kernel_keys`` matches kernels; kernels that only A has are gone, those that only B has are new. With the
basis ``step`` all figures cover the content of the steps of both sides.
"""

from typing import Any

import numpy as np
import pandas as pd

from profiledb.query.header import Column
from profiledb.studies.compare.columns import COPIES, KERNELS, PHASES, list_names
from profiledb.studies.compare.matching import Basis, Part, Side, make_kernel_keys, read_parts
from profiledb.studies.compare.significance import compute_intervals

_RANKED = {"total": "change_ns", "step": "change_ns", "share": "share_change_points"}


def compare_kernels(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """Return one row per kernel of either side (``columns.KERNELS``), largest change first.

    With the basis ``step``, summed times and numbers of calls are per step.
    """
    sides = read_parts(a, b, basis)
    if any(part.kernel_totals.empty for part, _ in sides):
        return pd.DataFrame(columns=list_names(KERNELS))
    totals = _add_keys(sides[0][0], sides[1][0])
    grouped = [_group_by_key(rows, number) for rows, (_, number) in zip(totals, sides, strict=True)]
    rows = _join_sides(grouped[0], grouped[1], ["key"])
    for column in ("name", "class", "demangled"):
        rows[column] = rows[f"b_{column}"].combine_first(rows[f"a_{column}"])
    _add_changes(rows)
    drawn = [_sample_durations(part, keyed) for (part, _), keyed in zip(sides, totals, strict=True)]
    _add_spread(rows, drawn[0], drawn[1])
    order = rows.assign(size=rows[_RANKED[basis]].abs()).sort_values(["size", "demangled"], ascending=[False, True])
    return order.reset_index(drop=True)[list_names(KERNELS)]


def sample_durations(a: Side, b: Side, basis: Basis, row: "pd.Series[Any]") -> tuple[pd.Series, pd.Series]:
    """Return sampled durations in ns, of both sides, for a row of ``kernels``; empty if it is new or gone."""
    durations = []
    sides = [part for part, _ in read_parts(a, b, basis)]
    for letter, part, keyed in zip("ab", sides, _add_keys(sides[0], sides[1]), strict=True):
        wanted = keyed.loc[keyed["kernel"] == row[f"{letter}_kernel"], "key"]
        chosen = _sample_durations(part, keyed[keyed["key"].isin(wanted)])
        durations.append(pd.Series(next(iter(chosen.values()), np.empty(0)), dtype=float))
    return durations[0], durations[1]


def compare_phases(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """Return one row per pattern of ranges at the top levels (``PHASES``), in the order of A and then of B."""
    sums = ("instances", "kernel_ns", "busy_ns", "cpu_ns")
    return _compare_sides(a, b, basis, "range_patterns", "pattern", sums, PHASES)


def compare_copies(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """Return one row per direction of copies, and one for memsets (``COPIES``), ordered as phases."""
    rows = _compare_sides(a, b, basis, "copies", "direction", ("total_ns", "count", "bytes"), COPIES)
    results = [part.copies for part, _ in read_parts(a, b, basis) if len(part.copies)]
    rows["kind"] = rows["direction"].map(
        {way: kind for one in results for way, kind in zip(one["direction"], one["kind"], strict=True)}
    )
    for letter in "ab":
        nanoseconds = rows[f"{letter}_total_ns"].astype("Float64")
        rows[f"{letter}_bytes_per_s"] = rows[f"{letter}_bytes"] * 1e9 / nanoseconds.where(nanoseconds > 0)
    return rows


def _add_keys(a: Part, b: Part) -> list[pd.DataFrame]:
    """Return the kernels of both with the ``key`` that matches them."""
    keys = make_kernel_keys(a.kernel_totals, b.kernel_totals)
    return [part.kernel_totals.assign(key=key) for part, key in zip((a, b), keys, strict=True)]


def _group_by_key(rows: pd.DataFrame, steps: int) -> pd.DataFrame:
    """Group the kernels of one side by key: sums, divided by the steps, and the names of the longest."""
    groups = rows.groupby("key", sort=False)
    longest = groups[["name", "class", "demangled", "kernel"]].first()
    longest["kernels"] = groups.size().astype("Int64")
    longest["avg_ns"] = groups["total_ns"].sum() / groups["calls"].sum()
    longest["threads"] = groups["threads"].sum() / groups["calls"].sum()
    for column in ("total_ns", "calls"):
        longest[column] = _divide_sums(groups[column].sum(), steps)
    whole = float(longest["total_ns"].sum())
    longest["share_pct"] = 100 * longest["total_ns"].astype("Float64") / (whole or np.nan)
    return longest.reset_index()


def _divide_sums(values: pd.Series, steps: int) -> pd.Series:
    return values.astype("Int64") if steps == 1 else values.astype("Float64") / steps


def _join_sides(a: pd.DataFrame, b: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Join all rows of both sides; columns get the letter of their side, and ``status`` is same, new or gone."""
    named = [
        frame.rename(columns={column: f"{letter}_{column}" for column in frame.columns if column not in on})
        for letter, frame in (("a", a), ("b", b))
    ]
    rows = named[0].merge(named[1], on=on, how="outer", sort=False, indicator="status")
    rows["status"] = rows["status"].astype(str).map({"both": "same", "left_only": "gone", "right_only": "new"})
    return rows


def _add_changes(rows: pd.DataFrame) -> None:
    """Add the change, and its parts due to more calls and to longer ones."""
    before, after = (rows[f"{letter}_total_ns"].fillna(0) for letter in "ab")
    calls = [rows[f"{letter}_calls"].fillna(0).astype("Float64") for letter in "ab"]
    rows["change_ns"] = after - before
    rows["change_pct"] = _compute_relative_pct(rows["b_total_ns"], rows["a_total_ns"])
    rows["share_change_points"] = rows["b_share_pct"].fillna(0) - rows["a_share_pct"].fillna(0)
    longer = calls[1] * (rows["b_avg_ns"] - rows["a_avg_ns"]).astype("Float64")
    rows["longer_ns"] = longer.where(rows["status"] == "same", 0.0)
    rows["more_calls_ns"] = rows["change_ns"] - rows["longer_ns"]
    rows["avg_change_pct"] = _compute_relative_pct(rows["b_avg_ns"], rows["a_avg_ns"])


def _compute_relative_pct(after: pd.Series, before: pd.Series) -> pd.Series:
    before = before.astype("Float64")
    return 100 * (after.astype("Float64") - before) / before.where(before > 0)


def _sample_durations(side: Part, keyed: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return sampled durations by key. Kernels of one row contribute in proportion to their calls."""
    by_kernel = {
        kernel: group.to_numpy(dtype=float) for kernel, group in side.kernel_sample.groupby("kernel")["duration_ns"]
    }
    by_key = {}
    for key, group in keyed.groupby("key", sort=False):
        drawn = [by_kernel.get(kernel, np.empty(0)) for kernel in group["kernel"]]
        part = min(len(one) / calls for one, calls in zip(drawn, group["calls"], strict=True))
        trimmed = [one[: max(1, round(calls * part))] for one, calls in zip(drawn, group["calls"], strict=True)]
        by_key[str(key)] = np.concatenate(trimmed)
    return by_key


def _add_spread(rows: pd.DataFrame, a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Add medians, 95th percentiles, and the interval of the change of the mean."""
    none = np.empty(0)
    for letter, drawn in (("a", a), ("b", b)):
        for name, at in (("median_ns", 50), ("p95_ns", 95)):
            rows[f"{letter}_{name}"] = pd.array(
                [float(np.percentile(drawn[key], at)) if key in drawn else None for key in rows["key"]], dtype="Float64"
            )
    ends = compute_intervals([(a.get(key, none), b.get(key, none)) for key in rows["key"]])
    rows["low_pct"], rows["high_pct"] = (pd.array(100 * (ends[:, side] - 1), dtype="Float64") for side in (0, 1))
    verdicts = np.select(
        [rows["status"] != "same", np.isnan(ends[:, 0]), ends[:, 0] > 1, ends[:, 1] < 1],
        ["", "too few launches", "slower", "faster"],
        "not significant",
    )
    rows["verdict"] = pd.Series(verdicts, index=rows.index).where(rows["status"] == "same")


def _compare_sides(
    a: Side, b: Side, basis: Basis, name: str, key: str, sums: tuple[str, ...], columns: tuple[Column, ...]
) -> pd.DataFrame:
    """Return rows of one analysis of both sides, matched by a text: sums divided by the steps, and their changes."""
    wanted = list_names(columns)
    frames = []
    for part, number in read_parts(a, b, basis):
        rows = getattr(part, name)
        rows = rows if len(rows) else pd.DataFrame(columns=[key, *sums], dtype="Int64").astype({key: "str"})
        frames.append(rows[[key]].assign(**{s: _divide_sums(rows[s], number) for s in sums}))
    order = {text: number for number, text in enumerate(dict.fromkeys([*frames[0][key], *frames[1][key]]))}
    joined = _join_sides(frames[0], frames[1], [key])
    for column in sums:
        pair = [joined[f"{letter}_{column}"] for letter in "ab"]
        known = pair[0].notna() | pair[1].notna()
        joined[f"change_{column}"] = (pair[1].fillna(0) - pair[0].fillna(0)).where(known)
        joined[f"change_{column.removesuffix('_ns')}_pct"] = _compute_relative_pct(pair[1], pair[0])
    places = np.argsort([order[text] for text in joined[key]])
    return joined.iloc[places].reset_index(drop=True).reindex(columns=wanted)
