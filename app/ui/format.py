"""Numbers and names as people read them on the pages: the words of ``profiledb.words``, and what Plotly needs."""

from typing import Any

from profiledb.words import (
    BYTE_UNITS,
    DURATION_UNITS,
    FLOP_UNITS,
    MISSING,
    bytes_,
    count,
    counted,
    duration,
    flops,
    number,
    percent,
    plain,
    rate,
    sentence,
    shortened,
    significant,
    unit_for,
    visible,
    when,
    work,
)

__all__ = [
    "BYTE_UNITS",
    "DURATION_UNITS",
    "FLOP_UNITS",
    "MISSING",
    "bytes_",
    "count",
    "counted",
    "duration",
    "flops",
    "number",
    "percent",
    "plain",
    "plotly_text",
    "rate",
    "sentence",
    "shortened",
    "significant",
    "unit_for",
    "visible",
    "when",
    "work",
]


def plotly_text(text: Any) -> str:
    """Untrusted text for a Plotly figure, which reads some HTML and LaTeX in every text it shows."""
    shown = visible(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        shown = shown.replace(character, entity)
    return shown
