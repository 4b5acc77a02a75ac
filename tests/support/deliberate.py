"""Differences to what nsys prints that are meant: told in the header of the analysis, or by what nsys says itself."""

import re

from profiledb.query import header

TOLD = {
    ("start_end_unclosed.qdrep", name): "nsys leaves its times empty where no event"
    for name in ("nvtx_sum", "nvtx_startend_sum")
} | {("host_python.nsys-rep", "nvtx_kern_sum"): "two calls of its process share counts once"}
"""By report and analysis, words of the sentence in the header that tells it."""
SKIPPED = {
    "copies_without_enums.sqlite": "nsys skips what needs tables of enumerations, which this export of 2022.2 lacks;"
    " the numbers of copies and memory kinds are known without them",
}
"""Reports of which nsys prints nothing although they have the data, and why."""


def reason(report: str, analysis: str, *, silent: bool = False) -> str:
    """Why a difference is meant; empty where nothing tells it.

    Args:
        report: the name of the report's file.
        analysis: the analysis that differs.
        silent: whether nsys prints nothing at all.
    """
    if silent and report in SKIPPED:
        return SKIPPED[report]
    words = TOLD.get((report, analysis), "")
    prose = " ".join(header.get(analysis).prose.split()) if words else ""
    return next((one for one in re.split(r"(?<=[.;]) ", prose) if words and words in one), "")
