"""Link a Systems report to a trace of the same program, whose operators its kernels then have."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import analysis, request
from profiledb.studies.compare.matching import make_kernel_keys
from profiledb.studies.trace_link import sequences
from profiledb.studies.trace_link.sequences import NONE, Numbers, Side

LEAST_PCT = 90.0
"""Share of a Systems report's kernels that a linked trace must have, percent."""


@dataclass(frozen=True)
class Match:
    """The kernels of a Systems report that a trace has.

    ``pairs`` has rows of both (kernel_id, trace_kernel_id); ``differs`` locates the first kernel that the trace lacks,
    empty if it has all.
    """

    kernels: int
    pairs: pa.Table
    differs: str

    @property
    def pct(self) -> float:
        """Share of the Systems report's kernels that the trace has, percent."""
        return 100 * len(self.pairs) / self.kernels

    @property
    def count_text(self) -> str:
        """Number of matching kernels as text."""
        return f"{len(self.pairs):,} of {self.kernels:,} kernels match ({words.percent(self.pct)})"


def link_trace(library: Library, nsys: str, trace: str) -> Match:
    """Link two reports, named as for ``Library.find``, and return their match.

    Raises:
        AnalysisError: one of them is of another kind, or their kernels do not match.
    """
    report, other = library.find(nsys), library.find(trace)
    if not other.rows.get("operator"):
        raise AnalysisError(f"{other.name} is no trace of the PyTorch profiler with operators.")
    if report.rows.get("operator"):
        raise AnalysisError(f"{report.name} has operators of its own.", hint="Link a report of Nsight Systems to it.")
    match = match_kernels(library, report.id, other.id)
    if match.pct < LEAST_PCT:
        raise AnalysisError(
            f"{report.name} and {other.name} do not run the same kernels: {match.count_text}. {match.differs}",
            hint="Capture the same program with the same model, sizes and steps by both profilers.",
        )
    library.work.mkdir(exist_ok=True)
    file = library.work / library.pairs_path(report.id, other.id).name
    pyarrow.parquet.write_table(match.pairs, file, compression="zstd")
    library.link_trace(report.id, other.id, file)
    return match


def match_kernels(library: Library, nsys_id: str, trace_id: str) -> Match:
    """Match the kernels of a trace with those of a report.

    Raises:
        NotCapturedError: one of them has no kernels.
    """
    tables = [_answer_rows(library, one, "kernel_sequence") for one in (nsys_id, trace_id)]
    totals = [analysis.convert_frame(_answer_rows(library, one, "kernel_totals")) for one in (nsys_id, trace_id)]
    keys = pd.concat(make_kernel_keys(*totals))
    numbers = np.split(keys.astype("category").cat.codes.to_numpy(np.int64), [len(totals[0])])
    steps = pa.chunked_array([chunk for table in tables for chunk in table["step"].chunks]).unique().drop_null()
    ours, theirs = (_read_side(*one, steps) for one in zip(tables, totals, numbers, strict=True))
    places = sequences.match_sides(ours, theirs)
    here = np.flatnonzero(places != NONE)
    ids = [table["kernel_id"].to_numpy() for table in tables]
    order = np.argsort(ids[0][here])  # in the report's order, so that a single kernel is found quickly
    pairs = pa.table({"kernel_id": ids[0][here][order], "trace_kernel_id": ids[1][places[here]][order]})
    lacking = np.flatnonzero(places == NONE)
    first = lacking[np.argmin(tables[0]["start_ns"].to_numpy()[lacking])] if len(lacking) else None
    return Match(len(places), pairs, "" if first is None else _locate_difference(tables[0], totals[0], int(first)))


def _answer_rows(library: Library, report_id: str, name: str) -> pa.Table:
    return analysis.read_rows(library, request.build(library, report_id, name))


def _read_side(table: pa.Table, totals: pd.DataFrame, numbers: Numbers, steps: pa.Array) -> Side:
    """Return the kernels of a report, with the numbers that both reports share for kernels (rows of ``totals``) and
    steps.
    """
    kernels = totals["kernel"].to_numpy(np.int64)
    order = np.argsort(kernels)
    names = numbers[order][np.searchsorted(kernels[order], table["kernel"].to_numpy())]
    lanes = [table[column].fill_null(NONE).to_numpy() for column in ("pid", "gpu_id", "stream")]
    place = pa.compute.index_in(table["step"], value_set=steps).fill_null(NONE)
    return Side(names, np.column_stack(lanes).astype(np.int64), place.to_numpy().astype(np.int64))


def _locate_difference(table: pa.Table, totals: pd.DataFrame, at: int) -> str:
    row = table.slice(at, 1).to_pylist()[0]
    name = totals.loc[totals["kernel"] == row["kernel"], "name"].iloc[0]
    where = f"on stream {row['stream']} of GPU {row['gpu_id']}" + (f", in {row['step']}" if row["step"] else "")
    return f"The first that the trace lacks is {name}, {where}."
