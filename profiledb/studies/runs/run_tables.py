"""The tables of all ranks of a run, joined: steps, collectives with their waits, kernels, idle time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from profiledb.studies.runs import communicators, rank_summary
from profiledb.studies.runs.run_list import Run
from profiledb.studies.scaling import nccl

Matrix = np.ndarray[Any, np.dtype[np.float64]]
"""Values by rank (row) and step (column); NaN where a rank lacks a step."""

MEASURES = {
    "duration_ns": "Step time",
    "compute_ns": "Compute",
    "exposed_ns": "Exposed communication",
    "wait_ns": "Waiting for other ranks",
    "copy_ns": "Copies",
    "idle_ns": "Idle",
    "power_w": "Power",
}
"""What the heat map of a run shows, ns or W, with its title."""

Content = Mapping[tuple[str, int], Mapping[str, bytes]]
"""Tables of ranks by report and lane."""


@dataclass(frozen=True)
class RunTables:
    """A run with the tables of its ranks; each row has the number of its rank in ``rank``."""

    run: Run
    steps: pd.DataFrame
    operations: pd.DataFrame
    kernels: pd.DataFrame
    idle: pd.DataFrame

    @cached_property
    def numbers(self) -> list[int]:
        """Ranks in order, the rows of every matrix."""
        return [one.rank or 0 for one in self.run.ranks]

    @cached_property
    def step_numbers(self) -> list[int]:
        """Steps that at least one rank has, the columns of every matrix."""
        return sorted(self.steps["step"].unique().tolist())

    @cached_property
    def matches(self) -> pd.DataFrame:
        """Collectives that every rank of their communicator has (``nccl.match_operations``)."""
        return nccl.match_rows(self.operations, not self.run.missing)

    @cached_property
    def hosts(self) -> Mapping[int, str]:
        """Machine by rank; "" if unknown."""
        return {one.rank or 0: one.host for one in self.run.ranks}

    @cached_property
    def sends(self) -> pd.DataFrame:
        """Transfers between stages of a pipeline in the steps; ``wait_ns`` is their time beyond the shortest of their
        size on their rank.
        """
        sent = self.operations[
            self.operations["operation"].eq("SendRecv")
            & ~self.operations["calls"].gt(communicators.MESSAGES)
            & self.operations["step"].notna()
        ]
        shortest = sent.groupby(["rank", "bytes"], dropna=False)["duration_ns"].transform("min")
        return sent.assign(wait_ns=sent["duration_ns"] - shortest)

    @cached_property
    def step_count(self) -> Mapping[int, int]:
        """Number of steps by rank."""
        return {one.rank or 0: max(1, one.steps) for one in self.run.ranks}

    @cached_property
    def waits(self) -> Matrix:
        """Waits by rank and step as far as communication is exposed, ns: compute hides the rest."""
        return np.minimum(self.matrix("wait_ns"), self.matrix("exposed_ns"))

    @cached_property
    def spare(self) -> Matrix:
        """Time by rank and step that the CPU does not need for the step, ns; NaN for ranks without calls of CUDA."""
        spare = self.matrix("period_ns") - self.matrix("cpu_ns")
        count = (~np.isnan(spare)).sum(axis=1, keepdims=True)
        mean = np.nansum(spare, axis=1, keepdims=True) / np.where(count, count, np.nan)
        return np.where(np.isnan(spare), mean, spare)  # the last step has none

    @cached_property
    def held(self) -> Matrix:
        """The cost of waits by rank and step, ns: a step cannot be shorter than the work of its CPU.

        A CPU that never waits for its GPU needs the whole step, although its GPU waits for other ranks meanwhile.
        """
        return np.where(np.isnan(self.spare), self.waits, np.minimum(self.waits, np.maximum(0, self.spare)))

    def matrix(self, measure: str) -> Matrix:
        """Return a measure (``MEASURES``) by rank and step; of waits NaN if no collective could be matched."""
        if measure == "wait_ns":
            return self.spread(self.matches, "wait_ns")
        return self._place(self.steps, measure)

    def spread(self, rows: pd.DataFrame, column: str) -> Matrix:
        """Sum a column of operations by rank and step; a step without an operation is NaN."""
        return self._place(rows.groupby(["rank", "step"])[[column]].sum().reset_index(), column)

    def _place(self, rows: pd.DataFrame, column: str) -> Matrix:
        values = np.full((len(self.numbers), len(self.step_numbers)), np.nan)
        row = pd.Index(self.numbers).get_indexer(pd.Index(rows["rank"]))
        at = pd.Index(self.step_numbers).get_indexer(pd.Index(rows["step"]))
        known = (row >= 0) & (at >= 0)
        values[row[known], at[known]] = rows[column].to_numpy(dtype=float)[known]
        return values


def join_tables(run: Run, content: Content) -> RunTables:
    """Return the tables of a run; a rank whose tables cannot be read has no rows."""
    joined = {table: _join_ranks(run, content, table) for table in rank_summary.TABLES}
    return RunTables(
        run,
        steps=joined["step_rows"],
        operations=joined["operation_rows"].sort_values(["rank", "start_ns"], ignore_index=True),
        kernels=joined["kernel_rows"],
        idle=joined["idle_rows"],
    )


def _join_ranks(run: Run, content: Content, table: str) -> pd.DataFrame:
    parts: list[pa.Table] = []
    for one in run.ranks:
        encoded = content.get((one.report_id, one.lane), {}).get(table, b"")
        try:
            rows = rank_summary.decode(encoded)
        except (pa.ArrowException, OSError):  # damaged, or of a rank whose summary is made anew
            continue
        parts.append(rows.append_column("rank", pa.array(np.full(rows.num_rows, one.rank or 0, dtype=np.int64))))
    columns: Sequence[str] = rank_summary.COLUMNS[table]
    return pa.concat_tables(parts).to_pandas() if parts else pd.DataFrame(columns=[*columns, "rank"])
