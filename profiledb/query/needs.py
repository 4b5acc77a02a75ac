"""Whether a report has what an analysis needs, and what to capture where it has not."""

import duckdb

from profiledb.errors import NotLinkedError
from profiledb.query import captures
from profiledb.query.header import Analysis

INCLUDES = ("program",)
"""The files of views that ``check`` looks at (views.py)."""


def check(cursor: duckdb.DuckDBPyConnection, analysis: Analysis, *, alone: bool = True) -> None:
    """Raises NotCapturedError where none of the alternatives of a need has rows.

    ``alone`` says that no Compute report stands beside this one: NotLinkedError where the analysis joins one.
    """
    for tables in analysis.needs:
        if analysis.joins and alone and tables[0].startswith("ncu_"):
            raise NotLinkedError(
                "This report has no linked Compute report.",
                hint="Link one on the Library page, or: warpdeck link REPORT COMPUTE_REPORT",
            )
        if not any(captures.has_rows(cursor, table) for table in tables):
            raise captures.lacking(cursor, tables[0])
