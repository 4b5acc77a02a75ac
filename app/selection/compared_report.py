"""The report to compare with: the one that the URL names, and the cached rows of the comparison."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection as selecting
from app.selection.page_selection import Settled
from profiledb.studies.compare import matching, rows, totals
from profiledb.studies.compare.matching import Basis, Side

OTHER = "other"
"""URL parameter with the report to compare with."""
BASIS = "basis"
"""URL parameter with the basis of the comparison, if it is not the default for the two reports."""


@dataclass(frozen=True)
class Compared:
    """Two sides and the rows of their comparison (``profiledb.studies.compare.columns``)."""

    a: Side
    b: Side
    basis: Basis
    kernels: pd.DataFrame
    phases: pd.DataFrame
    copies: pd.DataFrame
    summary: pd.DataFrame


def choose_side(settled: Settled) -> Side:
    """Gather one side under its selection; each analysis is cached separately."""
    params = settled.params
    return matching.gather(lambda name, **more: session.run_whole(settled.report_id, name, **params | more))


def compare_answers(a: Side, b: Side, basis: Basis, mine: Settled, theirs: Settled) -> Compared:
    """Return the rows of a comparison, computed once per pair of selections."""
    sides = tuple(session.make_key(side.report_id, "comparison", side.params) for side in (mine, theirs))
    return session.work_out(
        (*sides, basis),
        lambda: Compared(
            a, b, basis, rows.compare_kernels(a, b, basis), rows.compare_phases(a, b, basis),
            rows.compare_copies(a, b, basis), totals.summarize(a, b),
        ),
    )  # fmt: skip


def swap_reports(mine: Settled, theirs: Settled) -> None:
    """Rewrite the URL with the two reports swapped."""
    basis = st.query_params.get(BASIS)
    reports = {session.PARAMETER: [theirs.report_id], OTHER: [mine.report_id]} | ({BASIS: [basis]} if basis else {})
    st.query_params.from_dict(reports | selecting.swap_parameters(mine, theirs))
