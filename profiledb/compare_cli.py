"""``python -m profiledb compare A B``: the rows of a comparison, and a limit that a continuous integration can hold."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd

from profiledb import analysis, compare, compare_columns, compare_rows, compare_summary
from profiledb.catalog import Manifest
from profiledb.compare import Side
from profiledb.errors import AnalysisError
from profiledb.library import Library

ABOVE = 1
"""Exit status where the kernel time of B is above the limit."""
TROUBLE = 2
"""Exit status of an error, so that a limit that was never looked at is told from one that was not held."""


def run(library: Library, arguments: argparse.Namespace, mine: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Prints the rows on standard output and what the limit says on standard error; returns the exit status."""
    reports = [library.find(name) for name in (arguments.a, arguments.b)]
    a, b = _side(library, reports[0], mine), _side(library, reports[1], {**mine, **other})
    basis = compare.choose_basis(a, b, arguments.basis)
    if arguments.table == "kernels" or arguments.fail_above is not None:
        _need_kernels(reports, [a, b])
    rows = table(arguments.table, a, b, basis)
    if arguments.format == "json":
        print(rows.to_json(orient="records", indent=1, double_precision=15))
    else:
        print(csv_text(rows, compare_columns.TABLES[arguments.table]), end="")
    if compare.other_gpus(a, b):
        print(f"Different GPUs: {', '.join(a.gpus)} and {', '.join(b.gpus)}.", file=sys.stderr)
    if arguments.fail_above is None:
        return 0
    above, words = limit(a, b, arguments.fail_above)
    print(words, file=sys.stderr)
    return ABOVE if above else 0


def table(name: str, a: Side, b: Side, basis: compare.Basis) -> pd.DataFrame:
    """The rows of a table of a comparison (``compare_columns.TABLES``)."""
    if name == "summary":
        return compare_summary.summary(a, b)
    made = {"kernels": compare_rows.kernels, "phases": compare_rows.phases, "copies": compare_rows.copies}
    return made[name](a, b, basis)


def limit(a: Side, b: Side, percent: float) -> tuple[bool, str]:
    """Whether B's kernel time, of a step where both have steps, is more than ``percent`` above A's; and in words.

    Raises:
        AnalysisError: no kernel runs in the selection of one of them: a broken run must not pass.
    """
    if not a.kernel_ns or not b.kernel_ns:
        raise AnalysisError(f"No kernel runs in the selection of {'B' if a.kernel_ns else 'A'}: no limit can be held.")
    both = compare.units(a, b) or compare.Units(1, 1, "")
    before, after = a.kernel_ns / both.a, b.kernel_ns / both.b
    change = 100 * (after / before - 1)
    per = "" if both == compare.Units(1, 1, "") else f" of a {both.name or 'step'}"
    what = f"Kernel time{per}: {before / 1e6:,.3f} ms in A, {after / 1e6:,.3f} ms in B"
    above = change > percent
    return above, f"{what}, {change:+.2f} %: {'above' if above else 'within'} the limit of {percent:+g} %."


def _side(library: Library, report: Manifest, params: Mapping[str, Any]) -> Side:
    if report.kind != "nsys":
        raise AnalysisError(f"{report.name} is not a report of Nsight Systems.", hint="compare takes two of them.")
    return compare.gather(lambda name: analysis.run(library, report.id, name, params))


def _need_kernels(reports: list[Manifest], sides: list[Side]) -> None:
    for report, side in zip(reports, sides, strict=True):
        if side.lacks:
            raise AnalysisError(f"{report.name}: {side.lacks.message}", hint=side.lacks.hint)


def csv_text(rows: pd.DataFrame, columns: tuple[analysis.Column, ...]) -> str:
    """Numbers in the format of their column; what is missing is nothing."""
    shown = rows.copy()
    for column in columns:
        if column.format:
            values = pd.to_numeric(rows[column.name], errors="coerce")
            shown[column.name] = [None if pd.isna(value) else format(float(value), column.format) for value in values]
    return shown.to_csv(index=False, lineterminator="\n")
