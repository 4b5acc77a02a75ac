"""Whether a report has what an analysis needs, and what to capture where it has not."""

import duckdb

from profiledb.errors import NotLinkedError
from profiledb.query import captures
from profiledb.query.header import Analysis

INCLUDES = ("program",)
"""The files of views that ``check`` looks at (views.py)."""

OF_TRACE = "trace_operator"
"""What an analysis needs of a trace: its own operators, or those of the one that a Systems report is linked to."""


def check(cursor: duckdb.DuckDBPyConnection, analysis: Analysis, *, alone: bool = True) -> None:
    """Raises NotCapturedError where none of the alternatives of a need has rows.

    ``alone`` says that no report stands beside this one: NotLinkedError where the analysis joins one.
    """
    for tables in analysis.needs:
        if analysis.joins == "trace" and alone and tables == (OF_TRACE,) and not captures.has_rows(cursor, OF_TRACE):
            raise NotLinkedError(
                "This report has no linked trace of the PyTorch profiler.",
                hint="Link one on the Library page, or: warpdeck link REPORT TRACE",
            )
        if analysis.joins == "ncu" and alone and tables[0].startswith("ncu_"):
            raise NotLinkedError(
                "This report has no linked Compute report.",
                hint="Link one on the Library page, or: warpdeck link REPORT COMPUTE_REPORT",
            )
        if not any(captures.has_rows(cursor, table) for table in tables):
            raise captures.lacking(cursor, tables[0])
