"""Deliberate differences from nsys, documented in the header of the analysis or by a message of nsys."""

import re

from profiledb.query import header

TOLD = {
    ("start_end_unclosed.qdrep", name): "nsys leaves their times empty if no event"
    for name in ("nvtx_sum", "nvtx_startend_sum")
} | {("host_python.nsys-rep", "nvtx_kern_sum"): "two calls of its process share counts once"}
"""For each report and analysis, words of the header sentence that documents the difference."""
SKIPPED = {
    "copies_without_enums.sqlite": "nsys skips what needs tables of enumerations, which this export of 2022.2 lacks;"
    " the numbers of copies and memory kinds are known without them",
}
"""Reports for which nsys prints nothing although they have the data, with the reason."""


def reason(report: str, analysis: str, *, silent: bool = False) -> str:
    """Return the documented reason for a difference, or an empty string.

    Args:
        report: the file name of the report.
        analysis: the analysis that differs.
        silent: True if nsys prints nothing at all.
    """
    if silent and report in SKIPPED:
        return SKIPPED[report]
    words = TOLD.get((report, analysis), "")
    prose = " ".join(header.get(analysis).prose.split()) if words else ""
    return next((one for one in re.split(r"(?<=[.;]) ", prose) if words and words in one), "")
