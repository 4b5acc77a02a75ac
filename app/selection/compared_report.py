"""The report that a page compares with: which one the address names, and the cached rows of the comparison."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from app import script_queue, session
from app.selection import page_selection as selecting
from app.selection.page_selection import Settled
from profiledb.studies.compare import matching, rows, totals
from profiledb.studies.compare.matching import Basis, Side

OTHER = "other"
"""The parameter of the address that names the report to compare with."""
BASIS = "basis"
"""The parameter of the address that names what is compared, where it is not what suits the two reports."""


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


def side(settled: Settled) -> Side:
    """One side, under its selection; each analysis is cached by itself."""
    params = settled.params
    return matching.gather(lambda name, **more: session.whole(settled.report_id, name, **params | more))


def compared(a: Side, b: Side, basis: Basis, mine: Settled, theirs: Settled) -> Compared:
    """The rows of a comparison; they are cached by what both sides show."""
    key = tuple((session.stamp(side.report_id), tuple(sorted(side.params.items()))) for side in (mine, theirs))
    with script_queue.page_scripts.step_aside():
        return _compared(key, basis, a, b)


@st.cache_data(show_spinner=False, max_entries=64)
def _compared(key: tuple[Any, ...], basis: Basis, _a: Side, _b: Side) -> Compared:  # noqa: ARG001 (part of the key)
    return Compared(
        _a,
        _b,
        basis,
        rows.kernels(_a, _b, basis),
        rows.phases(_a, _b, basis),
        rows.copies(_a, _b, basis),
        totals.summary(_a, _b),
    )


def swap(mine: Settled, theirs: Settled) -> None:
    """Writes the address in which the two reports have changed places."""
    basis = st.query_params.get(BASIS)
    reports = {session.PARAMETER: [theirs.report_id], OTHER: [mine.report_id]} | ({BASIS: [basis]} if basis else {})
    st.query_params.from_dict(reports | selecting.swapped(mine, theirs))
