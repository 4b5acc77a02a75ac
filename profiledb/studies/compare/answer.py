"""A comparison asked of a library: its sides, its tables by name, and a limit that it holds or not."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from profiledb.errors import AnalysisError
from profiledb.query import analysis
from profiledb.report.catalog import TIMELINE, Manifest
from profiledb.report.library import Library
from profiledb.studies.compare import matching, totals
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.compare.matching import Side


def side(library: Library, report: Manifest, params: Mapping[str, Any]) -> Side:
    """What a report and a selection of it bring to a comparison; AnalysisError where it is of another kind."""
    if TIMELINE not in report.subjects:
        raise AnalysisError(f"{report.name} is not a report of Nsight Systems.", hint="compare takes two of them.")
    return matching.gather(lambda name: analysis.run(library, report.id, name, params))


def table(name: str, a: Side, b: Side, basis: matching.Basis) -> pd.DataFrame:
    """The rows of a table of a comparison (``compare_columns.TABLES``)."""
    if name == "summary":
        return totals.summary(a, b)
    made = {"kernels": compare_rows.kernels, "phases": compare_rows.phases, "copies": compare_rows.copies}
    return made[name](a, b, basis)


def limit(a: Side, b: Side, percent: float) -> tuple[bool, str]:
    """Whether B's kernel time, of a step where both have steps, is more than ``percent`` above A's; and in words.

    Raises:
        AnalysisError: no kernel runs in the selection of one of them: a broken run must not pass.
    """
    if not a.kernel_ns or not b.kernel_ns:
        raise AnalysisError(f"No kernel runs in the selection of {'B' if a.kernel_ns else 'A'}: no limit can be held.")
    both = matching.units(a, b) or matching.Units(1, 1, "")
    before, after = a.kernel_ns / both.a, b.kernel_ns / both.b
    change = 100 * (after / before - 1)
    per = "" if both == matching.Units(1, 1, "") else f" of a {both.name or 'step'}"
    what = f"Kernel time{per}: {before / 1e6:,.3f} ms in A, {after / 1e6:,.3f} ms in B"
    above = change > percent
    return above, f"{what}, {change:+.2f} %: {'above' if above else 'within'} the limit of {percent:+g} %."


def need_kernels(reports: list[Manifest], sides: list[Side]) -> None:
    """Raises AnalysisError where one of them has no kernels."""
    for report, side in zip(reports, sides, strict=True):
        if side.lacks:
            raise AnalysisError(f"{report.name}: {side.lacks.message}", hint=side.lacks.hint)
