"""NCCL operations over the ranks of a run: who waits for whom, and how fast data traveled.

Needs no common clock. A rank's kernel runs until the operation is done on it, so the last rank to arrive has the
shortest kernel: that is the time of the transfer, and others wait for the rest of theirs.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from profiledb.query.header import Column
from profiledb.studies.scaling import members
from profiledb.studies.scaling.runs import Run

PAIRED = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AlltoAll", "Gather", "Scatter")
"""Operations in which every rank of a communicator takes part, so that the nth of one rank is the nth of the others."""
_PARTS = ("AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter")
CLEAR = 0.01
"""Part of a step by which the last rank stands out."""
AHEAD = 2.0
"""How many times longer the waits for the last rank are than those for the rank next to it, at least."""

OPERATIONS = (
    Column("operation", "text", "", "NCCL operation"),
    Column("count", "count", "", "operations per rank in its steps"),
    Column("mean_ns", "ns", ".0f", "mean duration over all ranks, waits included"),
    Column("matched", "count", "", "operations that every rank of their communicator has"),
    Column("bytes", "bytes", "", "sum of their sizes as nccl-tests counts them; empty where one is unknown"),
    Column(
        "transfer_ns", "ns", "", "sum of their shortest durations over the ranks: the last rank to arrive does not wait"
    ),
    Column("wait_ns", "ns", ".0f", "sum of the time beyond the transfer, mean over the ranks"),
    Column("algbw_gb_per_s", "GB/s", ".2f", "bytes ÷ transfer time, 10^9 bytes per second", "Algorithm"),
    Column(
        "busbw_gb_per_s",
        "GB/s",
        ".2f",
        "algorithm bandwidth times the factor of nccl-tests (PERFORMANCE.md): what each link sees",
        "Bus",
    ),
)
"""Columns of ``operations``."""

WAITS = (
    Column("rank", "count", "", "rank"),
    Column("report", "text", "", "its report"),
    Column("matched", "count", "", "operations that every rank of their communicator has"),
    Column("wait_ns", "ns", "", "sum of its waits: duration minus the shortest over the ranks"),
    Column("wait_step_ns", "ns", ".0f", "the same, per step"),
    Column("last", "count", "", "operations that it was last to arrive at"),
    Column("step_ns", "ns", ".0f", "mean step time"),
)
"""Columns of ``waits``."""

SIZES = (
    Column("operation", "text", "", "NCCL operation"),
    Column("ranks", "count", "", "ranks of its communicator"),
    Column("size_bytes", "bytes", "", "size as nccl-tests counts it", "Size"),
    Column("matched", "count", "", "operations of this size that every rank of their communicator has", "Operations"),
    Column("transfer_ns", "ns", ".0f", "median of their shortest durations over the ranks"),
    Column("wait_ns", "ns", ".0f", "mean of what ranks wait beyond it"),
    Column("algbw_gb_per_s", "GB/s", ".2f", "bytes ÷ transfer time, 10^9 bytes per second", "Algorithm"),
    Column("busbw_gb_per_s", "GB/s", ".2f", "algorithm bandwidth times the factor of nccl-tests", "Bus"),
)
"""Columns of ``sizes``."""
FEWEST = 5
"""Operations needed to estimate how well the clocks of ranks align."""


def compute_bus_factor(operation: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth, without in-network reduction (source: PERFORMANCE.md of
    nccl-tests).
    """
    if operation == "AllReduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in _PARTS else 1.0


def match_operations(run: Run) -> pd.DataFrame:
    """Return one row per operation and rank, for operations on every rank of their communicator.

    Operations with the same number in their process group are the same; without numbers, the nth operation of a kind,
    size and communicator in a step of one rank is that of the others. Columns: key (a number per operation), rank,
    operation, start_ns, duration_ns, shortest_ns, wait_ns, ranks (of the communicator), size_bytes.
    """
    return match_rows(_gather_operations(run), run.whole)


def match_rows(every: pd.DataFrame, whole: bool) -> pd.DataFrame:
    """Return ``match_operations`` of the operations of all ranks.

    Args:
        every: rows of ``nccl_ops`` with the column rank, in the order of time on each rank.
        whole: whether every rank of the run is among them.
    """
    if every.empty or every["rank"].nunique() < 2:
        return every.iloc[:0].assign(key=[], shortest_ns=[], wait_ns=[])
    every = members.name_members(every, PAIRED)
    numbered = every["sequence"].notna()
    every["of_step"] = every["step"].mask(numbered, -1)  # a number identifies the operation without step and size
    is_uneven = every["operation"].eq("AlltoAll")  # ranks may send different sizes
    every["of_bytes"] = every["bytes"].mask(numbered | is_uneven, -1)
    alike = ["of_step", "operation", "of_bytes", "communicator", "sequence"]
    every["nth"] = every.groupby([*alike, "rank"], dropna=False).cumcount()
    every["key"] = every.groupby([*alike, "nth"], dropna=False).ngroup()
    ranks = every.groupby("communicator", dropna=False)["rank"].transform("nunique")
    present = every.groupby("key")["rank"].transform("nunique")
    matches = every[(present == ranks) & (ranks > 1) & every["operation"].isin(PAIRED)].copy()
    if whole:  # then a communicator has as many ranks as appear in it
        matches["ranks"] = ranks[matches.index]
        parts = matches["operation"].isin(_PARTS)
        matches["size_bytes"] = matches["bytes"] * matches["ranks"].where(parts, 1)
    matches["shortest_ns"] = matches.groupby("key")["duration_ns"].transform("min")
    matches["wait_ns"] = matches["duration_ns"] - matches["shortest_ns"]
    return matches


def _gather_operations(run: Run) -> pd.DataFrame:
    columns = [
        "step",
        "operation",
        "bytes",
        "size_bytes",
        "communicator",
        "sequence",
        "ranks",
        "start_ns",
        "duration_ns",
    ]
    frames = [rank.ops.reindex(columns=columns).sort_values("start_ns").assign(rank=rank.number) for rank in run.ranks]
    every = pd.concat(frames, ignore_index=True)
    every["ranks"] = every["ranks"].fillna(run.size)
    return every


def build_operations(run: Run) -> pd.DataFrame:
    """Return one row per operation (``OPERATIONS``), most time first; no row without NCCL in the steps."""
    every, matches = _gather_operations(run), match_operations(run)
    rows = []
    for operation, mine in every.groupby("operation"):
        pairs = matches[matches["operation"] == operation]
        row = {
            "operation": operation,
            "count": round(len(mine) / len(run.ranks)),
            "mean_ns": mine["duration_ns"].mean(),
        }
        rows.append(row | {"matched": pairs["key"].nunique()} | (_sum_transfers(pairs) if len(pairs) else {}))
    frame = pd.DataFrame(rows, columns=[column.name for column in OPERATIONS])
    order = (frame["count"] * frame["mean_ns"]).sort_values(ascending=False).index
    return cast_columns(frame.loc[order].reset_index(drop=True), OPERATIONS)


def build_sizes(run: Run) -> pd.DataFrame:
    """Return one row per operation, number of ranks and size (``SIZES``), for matched operations of known size."""
    matches = match_operations(run)
    rows = []
    if len(matches) and "size_bytes" in matches:
        known = matches[matches["size_bytes"].notna()]
        for (operation, ranks, size), pairs in known.groupby(["operation", "ranks", "size_bytes"]):
            row = _sum_transfers(pairs)
            count = pairs["key"].nunique()
            rows.append(row | {
                "operation": operation, "ranks": ranks, "size_bytes": size, "matched": count,
                "transfer_ns": pairs.drop_duplicates("key")["shortest_ns"].median(),
                "wait_ns": pairs["wait_ns"].mean(),
            })  # fmt: skip
    return cast_columns(pd.DataFrame(rows, columns=[column.name for column in SIZES]), SIZES)


def estimate_uncertainty(run: Run) -> float | None:
    """Return how far the ends of an operation differ between ranks, ns: 95 % of them by no more.

    An operation ends on all ranks at about the same moment. The clock of each rank is shifted by the median difference
    of its ends from the mean; the rest is the error of the waits. None with fewer than five operations.
    """
    matches = match_operations(run)
    if matches.empty or matches["key"].nunique() < FEWEST:
        return None
    ends = (matches["start_ns"] + matches["duration_ns"]).astype(float)
    apart = ends - ends.groupby(matches["key"]).transform("mean")
    left = apart - apart.groupby(matches["rank"]).transform("median")
    spread = left.groupby(matches["key"]).max() - left.groupby(matches["key"]).min()
    return float(spread.quantile(0.95))


def _sum_transfers(pairs: pd.DataFrame) -> dict[str, object]:
    transfers = pairs.drop_duplicates("key")
    return {
        "transfer_ns": float(transfers["shortest_ns"].sum()),
        "wait_ns": float(pairs.groupby("rank")["wait_ns"].sum().mean()),
    } | compute_bandwidth(transfers)


def compute_bandwidth(transfers: pd.DataFrame) -> dict[str, object]:
    """Return bytes, algorithm and bus bandwidth of matched operations, a row each; {} if a size is unknown."""
    transfer = float(transfers["shortest_ns"].sum())
    if "size_bytes" not in transfers or transfers["size_bytes"].isna().any() or not transfer:
        return {}
    sizes = transfers["size_bytes"].astype(float)
    alike = zip(transfers["operation"].astype(str), transfers["ranks"].astype(int), strict=True)
    factors = np.fromiter((compute_bus_factor(operation, ranks) for operation, ranks in alike), float, len(transfers))
    return {
        "bytes": sizes.sum(),
        "algbw_gb_per_s": sizes.sum() / transfer,
        "busbw_gb_per_s": (sizes * factors).sum() / transfer,
    }


def wait_rows(run: Run) -> pd.DataFrame:
    """Return one row per rank (``WAITS``); no row if no operation could be matched."""
    matches = match_operations(run)
    if matches.empty:
        return cast_columns(pd.DataFrame([], columns=[column.name for column in WAITS]), WAITS)
    rows = []
    for rank in run.ranks:
        mine = matches[matches["rank"] == rank.number]
        total = float(mine["wait_ns"].sum())
        last = int((mine["wait_ns"] == 0).sum())
        rows.append((rank.number, rank.report, len(mine), total, total / rank.steps, last, rank.step_ns))
    return cast_columns(pd.DataFrame(rows, columns=[column.name for column in WAITS]), WAITS)


def find_last(run: Run, rows: pd.DataFrame) -> int | None:
    """Return the rank that clearly waits least, because it arrives last; None if there is none.

    Clearly (``is_clear``): each of the others waits that much longer than it does.
    """
    if len(rows) < 2:
        return None
    order = rows.sort_values("wait_step_ns")
    least, next_ = (float(value) for value in order["wait_step_ns"].iloc[:2])
    return int(order["rank"].iloc[0]) if is_clear(next_ - least, next_, least, run.step_ns) else None


def is_clear(lead_ns: float, longer_ns: float, shorter_ns: float, step_ns: float) -> bool:
    """Return True if a lead is at least ``CLEAR`` of a step, and one time at least ``AHEAD`` times the other."""
    return lead_ns >= CLEAR * step_ns and longer_ns >= AHEAD * max(shorter_ns, 0.0)


def lacks_sizes(runs: Sequence[Run]) -> bool:
    """Return True if NCCL ran in steps, and no operation has a known size."""
    ops = [rank.ops for run in runs for rank in run.ranks if len(rank.ops)]
    return bool(ops) and all(frame["bytes"].isna().all() for frame in ops)


def cast_columns(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Give columns of numbers the nullable type of their unit; counts with decimals (means) are floats."""
    kinds = {
        c.name: "Int64" if c.unit in ("count", "id") and not c.format else "Float64"
        for c in columns
        if c.unit not in ("text", "class")
    }
    return frame.astype(kinds)
