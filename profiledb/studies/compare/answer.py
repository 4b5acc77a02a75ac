"""Compare two reports of a library: the sides, and the tables by name."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from profiledb.errors import AnalysisError
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.compare import matching, totals
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.compare.matching import Side


def gather_side(library: Library, report: Manifest, params: Mapping[str, Any]) -> Side:
    """Return a report's side of a comparison under a selection; raises AnalysisError if the report is of another
    kind.
    """
    if TIMELINE not in report.subjects:
        raise AnalysisError(
            f"{report.name} is not a report of Nsight Systems.", hint="Compare takes two Systems reports."
        )
    return matching.gather(lambda name, **more: analysis.run(library, report.id, name, {**params, **more}))


def make_table(name: str, a: Side, b: Side, basis: matching.Basis) -> pd.DataFrame:
    """Return the rows of a table of a comparison (``columns.TABLES``)."""
    if name == "summary":
        return totals.summarize(a, b)
    made = {
        "kernels": compare_rows.compare_kernels,
        "phases": compare_rows.compare_phases,
        "copies": compare_rows.compare_copies,
    }
    return made[name](a, b, basis)


def require_kernels(reports: list[Manifest], sides: list[Side]) -> None:
    """Raise AnalysisError if a report has no kernels."""
    for report, side in zip(reports, sides, strict=True):
        if side.lacks:
            raise AnalysisError(f"{report.name}: {side.lacks.message}", hint=side.lacks.hint)
