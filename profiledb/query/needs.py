"""Check that a report has the data that an analysis needs."""

from profiledb.errors import NotLinkedError
from profiledb.query import captures
from profiledb.query.header import Analysis

INCLUDES = ("program",)
"""View files that ``check`` reads (views.py)."""

OF_TRACE = "trace_operator"
"""The need of analyses that read a trace: the report's own operators, or those of the trace linked to a Systems
report."""


def check(cursor: captures.Reader, analysis: Analysis, *, alone: bool = True) -> None:
    """Raise NotCapturedError if all alternatives of a need are empty.

    ``alone`` means that no other report is joined; an analysis that joins one then raises NotLinkedError.
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
            raise captures.find_lack(cursor, tables[0])
