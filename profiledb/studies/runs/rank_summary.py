"""The summary of a rank, bounded: identity, steps, collectives, kernels, idle time, from answers about its report."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, answer_store
from profiledb.studies.scaling import family, runs
from profiledb.studies.scaling.family import Named
from profiledb.words import shortened

READINGS = ("power_w", "sm_clock_mhz")
"""Columns of ``power_over_time`` by step, empty where no log covers it."""
CPU = ("period_ns", "cpu_ns", "pause_ns")
"""Columns of ``rank_cpu`` by step, empty in the last one and without the calls of CUDA."""
STEPS = ("step", "start_ns", "duration_ns", *runs.PARTS, "hidden_ns", *CPU, *READINGS, "memory_bytes")
"""Columns of the table of steps: number, start from the start of the capture, the parts of ``rank_split``, ns, the time
of the CPU, power, clock, and the most device memory that the program held."""
OPERATIONS = ("step", "operation", "bytes", "communicator", "sequence", "ranks", "start_ns", "duration_ns", "calls")
"""Columns of the table of collectives, those of ``nccl_ops``."""
KERNELS = ("name", "class", "calls", "total_ns", "threads")
"""Columns of the table of kernels, those with the most time (``kernel_totals``)."""
IDLE = ("reason", "idle_ns", "function", "range")
"""Columns of the table of idle time by cause, those of ``idle_reasons``."""
MOST = {"step_rows": 2_000, "operation_rows": 20_000, "kernel_rows": 100, "idle_rows": 20}
"""Most rows of each table: what lies behind the first 2,000 steps or 20,000 collectives is not in a run."""
TABLES = tuple(MOST)
COLUMNS = dict(zip(TABLES, (STEPS, OPERATIONS, KERNELS, IDLE), strict=True))
"""Columns of each table."""
_NAME = 160
_POINTS = 6_000
"""Readings of power, and changes of memory, from which those of steps are worked out."""
_APART_NS = 1_000_000_000
"""Longest time between two readings that tell the power between them."""

Ask = Callable[..., pd.DataFrame]


@dataclass(frozen=True)
class RankSummary:
    """A rank of a run, or one GPU and process of a report with several.

    Args:
        report_id: its report.
        lane: number within the report, from 0.
        rank: its rank; None if unknown.
        size: ranks of the run; None if unknown.
        run: name of the run: that of the report without its rank.
        is_named: whether the name of the report tells the rank.
        run_id: hash of the launcher's name of the run; "" if unknown.
        restarts: restarts of the run before; None if unknown.
        host: name of the machine; "" if unknown.
        gpu: product name; "" if unknown.
        begin_ns: start of the capture on the clock of its machine, ns since 1970; None if unknown.
        end_ns: its end.
        told_by: source of the steps, one of ``runs.STEPS``.
        steps: number of steps that count.
        step_ns: their mean length, ns.
        tables: Arrow tables as bytes, by the name in ``TABLES``; empty in lists of ranks.
    """

    report_id: str
    lane: int
    rank: int | None
    size: int | None
    run: str
    is_named: bool
    run_id: str
    restarts: int | None
    host: str
    gpu: str
    begin_ns: int | None
    end_ns: int | None
    told_by: str
    steps: int
    step_ns: float
    tables: Mapping[str, bytes] = field(default_factory=dict)


def summarize(library: Library, report: Manifest) -> list[RankSummary]:
    """Return the ranks of a report; none if it is of a single GPU and knows no rank, or no kernel ran."""
    run_facts = family.read_run_facts(library, report)
    named = family.parse_name(report.id, report.name, family.read_facts(library, report.id), run_facts)

    def ask(name: str, **params: Any) -> pd.DataFrame:
        return analysis.run(library, report.id, name, params)

    def ask_stored(name: str, **params: Any) -> pd.DataFrame:
        return answer_store.run(library, report.id, name, params)  # the Scaling page asks the same

    try:
        ranks = runs.read_ranks(named, ask_stored)
    except NotCapturedError:
        return []
    if len(ranks) < 2 and (named.rank is None or named.size == 1):
        return []
    return [
        _summarize_rank(named, run_facts, lane, rank, ask, alone=len(ranks) == 1) for lane, rank in enumerate(ranks)
    ]


def _summarize_rank(
    named: Named, run_facts: Mapping[str, Any], lane: int, rank: runs.Rank, ask: Ask, *, alone: bool
) -> RankSummary:
    part = {"within": "steps"} if rank.told_by == "ranges" else {}
    if not alone:
        part["device"] = str(rank.gpu_id)
    return RankSummary(
        report_id=named.id,
        lane=lane,
        rank=rank.number,
        size=named.size,
        run=shortened(named.run, _NAME),
        is_named=family.names_rank(named.name),
        run_id=str(run_facts.get("run_id", "")),
        restarts=_convert_whole(run_facts.get("restarts")),
        host=shortened(str(run_facts.get("host", "")), _NAME),
        gpu=shortened(rank.gpu, _NAME),
        begin_ns=_convert_whole(run_facts.get("begin_ns")),
        end_ns=_convert_whole(run_facts.get("end_ns")),
        told_by=rank.told_by,
        steps=rank.steps,
        step_ns=rank.step_ns,
        tables={
            "step_rows": encode(_list_steps(rank, ask), "step_rows"),
            "operation_rows": encode(rank.ops, "operation_rows"),
            "kernel_rows": encode(_try_answer(ask, "kernel_totals", **part), "kernel_rows"),
            "idle_rows": encode(_try_answer(ask, "idle_reasons", **part), "idle_rows"),
        },
    )


def _list_steps(rank: runs.Rank, ask: Ask) -> pd.DataFrame:
    """Return the steps of a rank with the time of its CPU, its power, clock and memory in each."""
    rows = rank.split.assign(step=rank.split["step"].fillna(0))
    cpu = _try_answer(ask, "rank_cpu", steps=rank.told_by)
    if len(cpu):
        rows = rows.merge(cpu[["pid", "gpu_id", "step", *CPU]], on=["pid", "gpu_id", "step"], how="left")
    begin = rows["start_ns"].to_numpy(dtype=float)
    end = begin + rows["duration_ns"].to_numpy(dtype=float)
    gpu = {"device": str(rank.gpu_id)}
    readings = _try_answer(ask, "power_over_time", bins=_POINTS, **gpu)
    if len(readings):
        at = readings["time_ns"].to_numpy(dtype=float)
        for name in READINGS:
            rows[name] = average_readings(at, readings[name].to_numpy(dtype=float), begin, end)
    held = _try_answer(ask, "memory_over_time", points=_POINTS)
    held = held[held["gpu_id"] == rank.gpu_id] if len(held) else held
    if len(held):
        at, amounts = held["time_ns"].to_numpy(dtype=float), held["held_bytes"].to_numpy(dtype=float)
        rows["memory_bytes"] = find_most_held(at, amounts, begin, end)
    return rows


Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def average_readings(at: Floats, values: Floats, begin: Floats, end: Floats) -> Floats:
    """Return the mean of a measured value in each span of time, between whose readings it is a straight line.

    NaN where the readings do not cover the span, or lie more than ``_APART_NS`` apart around it.
    """
    known = ~np.isnan(values)
    at, values = at[known], values[known]
    if len(at) < 2:
        return np.full(len(begin), np.nan)
    areas = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(at))])

    def integrate(time: Floats) -> Floats:
        after = np.clip(np.searchsorted(at, time, side="right"), 1, len(at) - 1)
        since = time - at[after - 1]
        slope = (values[after] - values[after - 1]) / np.maximum(1.0, at[after] - at[after - 1])
        return np.asarray(areas[after - 1] + since * (values[after - 1] + slope * since / 2))

    covered = (begin >= at[0]) & (end <= at[-1]) & (end > begin)
    gaps = np.concatenate([[0], np.cumsum(np.diff(at) > _APART_NS)])
    first = np.clip(np.searchsorted(at, begin, side="right") - 1, 0, None)
    last = np.clip(np.searchsorted(at, end, side="left"), 0, len(at) - 1)
    covered &= gaps[first] == gaps[last]
    return np.where(covered, (integrate(end) - integrate(begin)) / np.maximum(1.0, end - begin), np.nan)


def find_most_held(at: Floats, held: Floats, begin: Floats, end: Floats) -> Floats:
    """Return the most memory in each span of time, from the amounts held from these times on."""
    first = np.searchsorted(at, begin, side="right") - 1
    last = np.searchsorted(at, end, side="left")
    most = [
        held[max(0, low) : high].max(initial=0.0) if high > max(0, low) else np.nan
        for low, high in zip(first, last, strict=True)
    ]
    return np.array(most, dtype=float)


def _try_answer(ask: Ask, name: str, **params: Any) -> pd.DataFrame:
    with suppress(NotCapturedError):
        return ask(name, **params)
    return pd.DataFrame()


def _convert_whole(value: Any) -> int | None:
    return None if value is None or pd.isna(value) else int(value)


_TEXTS = {"operation", "communicator", "name", "class", "reason", "function", "range"}
_WHOLE = {"step", "calls"}


def encode(rows: pd.DataFrame, table: str) -> bytes:
    """Return the first rows of a table of ``TABLES``, without other columns, as bytes of Arrow."""
    columns = COLUMNS[table]
    chosen = rows.reindex(columns=list(columns)).head(MOST[table])
    schema = pa.schema([(name, _choose_type(name)) for name in columns])
    arrays = [
        chosen[name].map(lambda text: shortened(str(text), _NAME), na_action="ignore")
        if name in _TEXTS
        else chosen[name]
        for name in columns
    ]
    packed = pa.table(
        [pa.array(array, field.type, from_pandas=True) for array, field in zip(arrays, schema, strict=True)], schema
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(packed)
    return bytes(sink.getvalue())


def _choose_type(name: str) -> pa.DataType:
    if name in _TEXTS:
        return pa.string()
    return pa.int64() if name in _WHOLE else pa.float64()


def decode(content: bytes) -> pa.Table:
    """Return a table that ``encode`` wrote. Raises pyarrow.ArrowException if it is damaged."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()
