"""Numbers and names as the pages show them: the formatters of ``profiledb.words``, and escaping for Plotly."""

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
    "escape_plotly",
    "flops",
    "number",
    "percent",
    "plain",
    "rate",
    "sentence",
    "shortened",
    "significant",
    "unit_for",
    "visible",
    "when",
    "work",
]


def escape_plotly(text: Any) -> str:
    """Escape untrusted text for a Plotly figure, which interprets some HTML and LaTeX in every text."""
    shown = visible(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        shown = shown.replace(character, entity)
    return shown
