"""The rows of a comparison: kernels, phases and copies of two sides, matched. A change is that of B less that of A.

Which kernels are the same ``matching.kernel_keys`` says; those that only A has are gone, those that only B has are new.
With the basis ``step`` all figures are of what lies in the steps of both sides.
"""

from typing import Any

import numpy as np
import pandas as pd

from profiledb.query.header import Column
from profiledb.studies.compare.columns import COPIES, KERNELS, PHASES, names
from profiledb.studies.compare.matching import Basis, Part, Side, kernel_keys, parts
from profiledb.studies.compare.significance import ratio_intervals

_RANKED = {"total": "change_ns", "step": "change_ns", "share": "share_change_points"}


def kernels(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """A row a kernel of either side (``compare_columns.KERNELS``), the largest change first.

    With the basis ``step`` sums of times and numbers of calls are those of a step.
    """
    sides = parts(a, b, basis)
    if any(part.kernel_totals.empty for part, _ in sides):
        return pd.DataFrame(columns=names(KERNELS))
    totals = _keyed(sides[0][0], sides[1][0])
    grouped = [_grouped(rows, number) for rows, (_, number) in zip(totals, sides, strict=True)]
    rows = _joined(grouped[0], grouped[1], ["key"])
    for column in ("name", "class", "demangled"):
        rows[column] = rows[f"b_{column}"].combine_first(rows[f"a_{column}"])
    _add_changes(rows)
    drawn = [_samples(part, keyed) for (part, _), keyed in zip(sides, totals, strict=True)]
    _add_spread(rows, drawn[0], drawn[1])
    order = rows.assign(size=rows[_RANKED[basis]].abs()).sort_values(["size", "demangled"], ascending=[False, True])
    return order.reset_index(drop=True)[names(KERNELS)]


def samples(a: Side, b: Side, basis: Basis, row: "pd.Series[Any]") -> tuple[pd.Series, pd.Series]:
    """Sampled durations in ns, of both sides, of a row of ``kernels``; empty where it is new or gone."""
    found = []
    sides = [part for part, _ in parts(a, b, basis)]
    for letter, part, keyed in zip("ab", sides, _keyed(sides[0], sides[1]), strict=True):
        wanted = keyed.loc[keyed["kernel"] == row[f"{letter}_kernel"], "key"]
        chosen = _samples(part, keyed[keyed["key"].isin(wanted)])
        found.append(pd.Series(next(iter(chosen.values()), np.empty(0)), dtype=float))
    return found[0], found[1]


def phases(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """A row a pattern of ranges at the top levels (``PHASES``), in the order of A and then of B."""
    sums = ("instances", "kernel_ns", "busy_ns", "cpu_ns")
    return _side_by_side(a, b, basis, "range_patterns", "pattern", sums, PHASES)


def copies(a: Side, b: Side, basis: Basis) -> pd.DataFrame:
    """A row a direction of copies, and one for memsets (``COPIES``), the order as for phases."""
    rows = _side_by_side(a, b, basis, "copies", "direction", ("total_ns", "count", "bytes"), COPIES)
    results = [part.copies for part, _ in parts(a, b, basis) if len(part.copies)]
    rows["kind"] = rows["direction"].map(
        {way: kind for one in results for way, kind in zip(one["direction"], one["kind"], strict=True)}
    )
    for letter in "ab":
        nanoseconds = rows[f"{letter}_total_ns"].astype("Float64")
        rows[f"{letter}_bytes_per_s"] = rows[f"{letter}_bytes"] * 1e9 / nanoseconds.where(nanoseconds > 0)
    return rows


def _keyed(a: Part, b: Part) -> list[pd.DataFrame]:
    """The kernels of both, with the ``key`` that tells which are the same."""
    keys = kernel_keys(a.kernel_totals, b.kernel_totals)
    return [part.kernel_totals.assign(key=key) for part, key in zip((a, b), keys, strict=True)]


def _grouped(rows: pd.DataFrame, steps: int) -> pd.DataFrame:
    """Kernels of one side by key: sums, over the steps, and the names of the longest."""
    groups = rows.groupby("key", sort=False)
    found = groups[["name", "class", "demangled", "kernel"]].first()
    found["kernels"] = groups.size().astype("Int64")
    found["avg_ns"] = groups["total_ns"].sum() / groups["calls"].sum()
    found["threads"] = groups["threads"].sum() / groups["calls"].sum()
    for column in ("total_ns", "calls"):
        found[column] = _divided(groups[column].sum(), steps)
    whole = float(found["total_ns"].sum())
    found["share_pct"] = 100 * found["total_ns"].astype("Float64") / (whole or np.nan)
    return found.reset_index()


def _divided(values: pd.Series, steps: int) -> pd.Series:
    return values.astype("Int64") if steps == 1 else values.astype("Float64") / steps


def _joined(a: pd.DataFrame, b: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """All rows of both sides, columns with the letter of their side in front, and ``status``: same, new or gone."""
    named = [
        frame.rename(columns={column: f"{letter}_{column}" for column in frame.columns if column not in on})
        for letter, frame in (("a", a), ("b", b))
    ]
    rows = named[0].merge(named[1], on=on, how="outer", sort=False, indicator="status")
    rows["status"] = rows["status"].astype(str).map({"both": "same", "left_only": "gone", "right_only": "new"})
    return rows


def _add_changes(rows: pd.DataFrame) -> None:
    """What changed, and how much of it is due to more calls and how much to longer ones."""
    before, after = (rows[f"{letter}_total_ns"].fillna(0) for letter in "ab")
    calls = [rows[f"{letter}_calls"].fillna(0).astype("Float64") for letter in "ab"]
    rows["change_ns"] = after - before
    rows["change_pct"] = _relative_pct(rows["b_total_ns"], rows["a_total_ns"])
    rows["share_change_points"] = rows["b_share_pct"].fillna(0) - rows["a_share_pct"].fillna(0)
    longer = calls[1] * (rows["b_avg_ns"] - rows["a_avg_ns"]).astype("Float64")
    rows["longer_ns"] = longer.where(rows["status"] == "same", 0.0)
    rows["more_calls_ns"] = rows["change_ns"] - rows["longer_ns"]
    rows["avg_change_pct"] = _relative_pct(rows["b_avg_ns"], rows["a_avg_ns"])


def _relative_pct(after: pd.Series, before: pd.Series) -> pd.Series:
    before = before.astype("Float64")
    return 100 * (after.astype("Float64") - before) / before.where(before > 0)


def _samples(side: Part, keyed: pd.DataFrame) -> dict[str, np.ndarray]:
    """Sampled durations by key. Of kernels that are one row, each gives as large a part as it has of their calls."""
    by_kernel = {
        kernel: group.to_numpy(dtype=float) for kernel, group in side.kernel_sample.groupby("kernel")["duration_ns"]
    }
    found = {}
    for key, group in keyed.groupby("key", sort=False):
        drawn = [by_kernel.get(kernel, np.empty(0)) for kernel in group["kernel"]]
        part = min(len(one) / calls for one, calls in zip(drawn, group["calls"], strict=True))
        kept = [one[: max(1, round(calls * part))] for one, calls in zip(drawn, group["calls"], strict=True)]
        found[str(key)] = np.concatenate(kept)
    return found


def _add_spread(rows: pd.DataFrame, a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Medians, 95th percentiles, and how sure the change of the mean is."""
    none = np.empty(0)
    for letter, drawn in (("a", a), ("b", b)):
        for name, at in (("median_ns", 50), ("p95_ns", 95)):
            rows[f"{letter}_{name}"] = pd.array(
                [float(np.percentile(drawn[key], at)) if key in drawn else None for key in rows["key"]], dtype="Float64"
            )
    ends = ratio_intervals([(a.get(key, none), b.get(key, none)) for key in rows["key"]])
    rows["low_pct"], rows["high_pct"] = (pd.array(100 * (ends[:, side] - 1), dtype="Float64") for side in (0, 1))
    told = np.select(
        [rows["status"] != "same", np.isnan(ends[:, 0]), ends[:, 0] > 1, ends[:, 1] < 1],
        ["", "too few launches", "slower", "faster"],
        "not significant",
    )
    rows["verdict"] = pd.Series(told, index=rows.index).where(rows["status"] == "same")


def _side_by_side(
    a: Side, b: Side, basis: Basis, name: str, key: str, sums: tuple[str, ...], columns: tuple[Column, ...]
) -> pd.DataFrame:
    """Rows of one analysis of both sides, matched by a text: sums over the steps, and their changes."""
    wanted = names(columns)
    frames = []
    for part, number in parts(a, b, basis):
        rows = getattr(part, name)
        rows = rows if len(rows) else pd.DataFrame(columns=[key, *sums], dtype="Int64").astype({key: "str"})
        frames.append(rows[[key]].assign(**{s: _divided(rows[s], number) for s in sums}))
    order = {text: number for number, text in enumerate(dict.fromkeys([*frames[0][key], *frames[1][key]]))}
    joined = _joined(frames[0], frames[1], [key])
    for column in sums:
        pair = [joined[f"{letter}_{column}"] for letter in "ab"]
        known = pair[0].notna() | pair[1].notna()
        joined[f"change_{column}"] = (pair[1].fillna(0) - pair[0].fillna(0)).where(known)
        joined[f"change_{column.removesuffix('_ns')}_pct"] = _relative_pct(pair[1], pair[0])
    places = np.argsort([order[text] for text in joined[key]])
    return joined.iloc[places].reset_index(drop=True).reindex(columns=wanted)
