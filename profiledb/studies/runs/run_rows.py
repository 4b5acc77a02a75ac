"""Tables of a run: its ranks, its kernels and its communicators over the ranks."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from profiledb.query.header import Column
from profiledb.studies.runs import communicators
from profiledb.studies.runs.run_tables import RunTables
from profiledb.studies.scaling import members, nccl

Row = dict[Any, Any]

RANKS = (
    Column("rank", "id", "", "rank"),
    Column("host", "text", "", "name of the machine; empty if the report does not tell", "Node"),
    Column("step_ns", "ns", ".0f", "mean step time"),
    Column("compute_ns", "ns", ".0f", "mean time per step in which kernels other than communication ran"),
    Column("exposed_ns", "ns", ".0f", "mean time per step in which communication ran without compute"),
    Column("wait_ns", "ns", ".0f", "mean time per step in its collectives beyond that of the last rank to arrive"),
    Column("copy_ns", "ns", ".0f", "mean time per step in which copies or memsets ran without kernels"),
    Column("idle_ns", "ns", ".0f", "mean time per step in which the GPU did nothing"),
    Column("power_w", "W", ".0f", "mean power in its steps; empty without a power log that covers them", "Power"),
    Column("sm_clock_mhz", "MHz", ".0f", "mean clock of the SMs in its steps, from the same log", "SM clock"),
    Column(
        "memory_bytes", "bytes", "", "most device memory that it held in a step, if allocations were recorded", "Memory"
    ),
    Column("last", "count", "", "collectives at which it was the last to arrive", "Last to arrive"),
    Column("report", "text", "", "id of its report"),
)
"""Columns of ``list_ranks``."""

KERNELS = (
    Column("name", "text", "", "readable name", "Kernel"),
    Column("class", "class", "", "kernel class"),
    Column("ranks", "count", "", "ranks that run it"),
    Column("median_ns", "ns", ".0f", "median over the ranks of its time per step"),
    Column("min_ns", "ns", ".0f", "its shortest time per step of a rank"),
    Column("max_ns", "ns", ".0f", "its longest time per step of a rank"),
    Column("spread_pct", "%", ".1f", "longest minus shortest, relative to the median"),
    Column("slowest", "id", "", "rank with the longest time", "Slowest rank"),
    Column("calls", "count", ".1f", "median over the ranks of its launches per step", "Launches"),
)
"""Columns of ``list_kernels``."""

COMMUNICATORS = (
    Column("operation", "text", "", "NCCL operation"),
    Column("communicator", "text", "", "its name, or that of the process group, or the ranks that end together"),
    Column("kind", "text", "", "parallelism that it serves, told by who takes part; empty if that is unclear"),
    Column("members", "text", "", "ranks that take part; empty if that is unclear", "Who"),
    Column("ranks", "count", "", "number of ranks that have it"),
    Column("nodes", "count", "", "machines of these ranks: between several it goes over the network", "Nodes"),
    Column("count", "count", "", "operations that all of them have"),
    Column(
        "transfer_ns", "ns", ".0f", "sum of the shortest durations over the ranks: the last to arrive does not wait"
    ),
    Column("wait_ns", "ns", ".0f", "sum of the time beyond that, mean over the ranks; of sends beyond the shortest"),
    Column("busbw_gb_per_s", "GB/s", ".1f", "bus bandwidth of nccl-tests: data per link over transfer time", "Bus"),
)
"""Columns of ``list_communicators``."""


def list_ranks(tables: RunTables) -> pd.DataFrame:
    """Return one row per rank (``RANKS``), in order."""
    parts = ["duration_ns", "compute_ns", "exposed_ns", "copy_ns", "idle_ns", "power_w", "sm_clock_mhz"]
    by_rank = tables.steps.groupby("rank")
    frame = by_rank[parts].mean().rename(columns={"duration_ns": "step_ns"})
    means = frame.assign(memory_bytes=by_rank["memory_bytes"].max()).to_dict("index")
    arrived = tables.matches.assign(last=tables.matches["wait_ns"] == 0)
    waits: dict[Any, Row] = arrived.groupby("rank")[["wait_ns", "last"]].sum().to_dict("index")
    rows: list[Row] = []
    for one in tables.run.ranks:
        rank = one.rank or 0
        row: Row = {"rank": rank, "host": one.host or None, "report": one.report_id, **means.get(rank, {})}
        if rank in waits:
            row |= {"wait_ns": waits[rank]["wait_ns"] / tables.step_count[rank], "last": waits[rank]["last"]}
        rows.append(row)
    return _tabulate(rows, RANKS)


def list_kernels(tables: RunTables) -> pd.DataFrame:
    """Return one row per kernel (``KERNELS``), the most time first; time per step on each rank."""
    rows = tables.kernels.assign(
        ns=tables.kernels["total_ns"] / tables.kernels["rank"].map(tables.step_count),
        launches=tables.kernels["calls"] / tables.kernels["rank"].map(tables.step_count),
    )
    if rows.empty:
        return _tabulate([], KERNELS)
    each = rows.groupby(["name", "class", "rank"], dropna=False)[["ns", "launches"]].sum().reset_index()
    groups = each.groupby(["name", "class"], dropna=False)
    frame = groups.agg(
        ranks=("rank", "nunique"), median_ns=("ns", "median"), min_ns=("ns", "min"), max_ns=("ns", "max"),
        calls=("launches", "median"),
    )  # fmt: skip
    frame["slowest"] = each.loc[groups["ns"].idxmax(), "rank"].to_numpy()
    frame["spread_pct"] = 100 * (frame["max_ns"] - frame["min_ns"]) / frame["median_ns"]
    return _tabulate(frame.sort_values("median_ns", ascending=False).reset_index().to_dict("records"), KERNELS)


def list_communicators(tables: RunTables) -> pd.DataFrame:
    """Return one row per operation and communicator (``COMMUNICATORS``), the most waiting first."""
    every = communicators.list_communicators(tables.matches)
    kinds = {one.name: communicators.tell_kind(one, every, tables.run.size) or None for one in every}
    rows: list[Row] = []
    for (operation, named), group in tables.matches.groupby(["operation", "communicator"], dropna=False):
        ranks, name = sorted(group["rank"].unique().tolist()), communicators.read_name(named)
        transfers = group.drop_duplicates("key")
        row = _describe_members(tables, name, ranks) | {
            "operation": operation,
            "kind": kinds[name],
            "count": len(transfers),
            "transfer_ns": transfers["shortest_ns"].sum(),
            "wait_ns": group["wait_ns"].sum() / len(ranks),
        }
        rows.append(row | {"busbw_gb_per_s": nccl.compute_bandwidth(transfers).get("busbw_gb_per_s")})
    for name, senders, group in communicators.split_sends(tables.operations):
        stages = tables.sends[tables.sends.index.isin(group.index)]
        is_pipeline = len(stages) == len(group)
        row = {"operation": "SendRecv", "kind": "pipeline" if is_pipeline else "expert", "count": len(group)}
        waited = stages["wait_ns"].sum() / len(senders) if is_pipeline else None
        rows.append(_describe_members(tables, name, senders) | row | {"wait_ns": waited})
    return _tabulate(sorted(rows, key=lambda row: -(row["wait_ns"] or 0)), COMMUNICATORS)


def _describe_members(tables: RunTables, name: str | None, ranks: Sequence[int]) -> Row:
    known = {} if name is None else {"members": members.list_members(ranks)}
    nodes = communicators.count_nodes(ranks, tables.hosts)
    return known | {"communicator": name, "ranks": len(ranks), "nodes": nodes}


def _tabulate(rows: list[Row], columns: tuple[Column, ...]) -> pd.DataFrame:
    return nccl.cast_columns(pd.DataFrame(rows, columns=[column.name for column in columns]), columns)
