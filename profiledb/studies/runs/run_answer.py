"""Everything that is asked of a run, worked out once from the tables of its ranks."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profiledb.studies.runs import clocks, run_findings, run_rows, sentences, straggler
from profiledb.studies.runs.clocks import Clock
from profiledb.studies.runs.run_findings import RunFinding
from profiledb.studies.runs.run_tables import MEASURES, Matrix, RunTables
from profiledb.studies.runs.straggler import Straggler

MOST_CELLS = 200_000
MOST_STEPS = 400
"""Most cells and columns of a heat map; of more steps each column is the longest of its neighbors: no slow step
disappears."""


@dataclass(frozen=True)
class RunAnswer:
    """The conclusions about a run and the tables that show them.

    Args:
        is_matched: whether collectives could be matched over the ranks, which waits need.
        headline: what holds the run up most, Markdown.
        held_ns: what waits for other ranks cost per step, mean over the ranks, ns; 0 if nothing is matched.
        straggler: the rank for which the others wait, if there is one.
        findings: everything that holds it up or is wrong with its reports, the costliest first.
        clocks: clocks of the ranks.
        ranks: rows of ``run_rows.RANKS``.
        kernels: rows of ``run_rows.KERNELS``.
        communicators: rows of ``run_rows.COMMUNICATORS``.
        steps: number of the step of each column of ``heat``.
        starts: start of the step of each cell of ``heat`` from the start of its capture, ns.
        heat: each of ``MEASURES`` that any rank has, by rank and step.
    """

    is_matched: bool
    headline: str
    held_ns: float
    straggler: Straggler | None
    findings: tuple[RunFinding, ...]
    clocks: tuple[Clock, ...]
    ranks: pd.DataFrame
    kernels: pd.DataFrame
    communicators: pd.DataFrame
    steps: tuple[int, ...]
    starts: Matrix
    heat: Mapping[str, Matrix]


def answer(tables: RunTables) -> RunAnswer:
    """Work out the answer."""
    columns = max(1, min(MOST_STEPS, MOST_CELLS // len(tables.numbers)))
    each = max(1, -(-len(tables.step_numbers) // columns))
    heat = {measure: tables.matrix(measure) for measure in MEASURES}
    late = straggler.find_straggler(tables)
    findings = run_findings.find(tables, late)
    about_ranks = [one.sentence for one in findings if one.rule in run_findings.ABOUT_RANKS]
    return RunAnswer(
        is_matched=not tables.matches.empty,
        headline=next(iter(about_ranks), _state_even(tables)),
        held_ns=min(run_findings.compute_mean(tables.held), run_findings.find_spare(tables)),
        straggler=late,
        findings=tuple(findings),
        clocks=tuple(clocks.align(tables.matches)),
        ranks=run_rows.list_ranks(tables),
        kernels=run_rows.list_kernels(tables),
        communicators=run_rows.list_communicators(tables),
        steps=tuple(tables.step_numbers[::each]),
        starts=tables.matrix("start_ns")[:, ::each],
        heat={
            measure: shrink(values, each).astype(np.float32)
            for measure, values in heat.items()
            if not np.isnan(values).all()
        },
    )


def _state_even(tables: RunTables) -> str:
    if tables.matches.empty:
        return sentences.state_unmatched(tables.operations["operation"].unique().tolist())
    step_ns = run_findings.compute_mean(tables.matrix("duration_ns"))
    return sentences.state_even(tables.run, run_findings.compute_mean(tables.waits) / step_ns if step_ns else 0.0)


def shrink(values: Matrix, each: int) -> Matrix:
    """Return a matrix whose columns are the largest values of ``each`` columns."""
    if each == 1:
        return values
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % each)), constant_values=np.nan)
    return np.fmax.reduce(padded.reshape(len(values), -1, each), axis=2)  # type: ignore[no-any-return]
