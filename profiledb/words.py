"""Format numbers and names for people; pure functions, the same on every page and in every text.

Every number formatter takes None, NaN or NA as a missing value and returns ``MISSING``, never 0.
"""

import math
import re
from datetime import UTC, datetime
from typing import Any

MISSING = "–"
NOT_MEASURED = "not measured"
"""The verdict on launches of which nothing tells what limits them."""
DURATION_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
FLOP_UNITS = (("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9), ("MFLOP", 1e6), ("kFLOP", 1e3), ("FLOP", 1.0))
BYTE_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0))

KIND_TITLES = {
    "nsys": "Nsight Systems", "ncu": "Nsight Compute", "torch": "PyTorch profiler",
    "snapshot": "PyTorch memory snapshot", "rocprof": "rocprofv3", "xla": "XLA profiler",
    "nvprof": "nvprof", "perfetto": "Perfetto", "proton": "Triton's proton",
}  # fmt: skip
"""Names of the kinds of reports for people; other kinds keep their own name."""

_MOST_DIGITS = 6
"""Decimal places from which a plain number is written as a power of ten."""
_JOINER = "\u2060"  # invisible, has no width and allows no line break
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&=^@:])")
# Links, emoji and arrows are found after escapes are read: a backslash does not stop them, a joiner does.
_AUTOMATIC = re.compile(r"(://|@|:(?=[\w+-])|www(?=\.)|[<>~-](?=[-=>]))", re.IGNORECASE)


def duration(ns: Any) -> str:
    """Format nanoseconds with three significant digits: ``1.23 ms``."""
    return _format_scaled(ns, DURATION_UNITS)


def bytes_(n: Any) -> str:
    """Format bytes with three significant digits in decimal units: ``1.23 GB``."""
    return _format_scaled(n, BYTE_UNITS)


def rate(bytes_per_s: Any) -> str:
    """Format a throughput with three significant digits: ``1.23 GB/s``."""
    text = bytes_(bytes_per_s)
    return text if text == MISSING else f"{text}/s"


def work(flops_: Any) -> str:
    """Format a number of floating-point operations with three significant digits: ``1.23 TFLOP``."""
    return _format_scaled(flops_, FLOP_UNITS)


def flops(flops_per_s: Any, *, digits: bool = True) -> str:
    """Format a rate of floating-point operations with three significant digits: ``1.23 TFLOP/s``; shorter without
    ``digits``.
    """
    value = number(flops_per_s)
    if digits or value is None:
        text = _format_scaled(flops_per_s, FLOP_UNITS)
        return text if text == MISSING else f"{text}/s"
    name, size = unit_for(value, FLOP_UNITS)
    return f"{value / size:,.4g} {name}/s"


def count(n: Any) -> str:
    """Format an integer with separators: ``12,345``."""
    value = number(n)
    return MISSING if value is None else _replace_minus(f"{round(value):,}")


def counted(n: Any, noun: str) -> str:
    """Format an integer with its noun: ``1 launch``, ``12 launches``, ``3 operations``; a missing one without."""
    ending = "" if number(n) == 1 else "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count(n)} {noun}{ending}"


def percent(x: Any) -> str:
    """Format a percentage with one decimal: ``12.3 %``; a tiny share is not shown as 0."""
    value = number(x)
    if value is None:
        return MISSING
    return "<0.1 %" if 0 < value < 0.05 else _format_decimals(value) + " %"


def _format_decimals(value: float) -> str:
    digits = 1 if abs(value) < 999.95 else 0
    return _replace_minus(f"{rounded(value, digits):,.{digits}f}")


def significant(x: Any) -> str:
    """Format a plain number with three significant digits, all before the point of a large one: ``0.0123``,
    ``21,590``.
    """
    value = number(x)
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value)) + 0.0002))  # 9.996 rounds to 10.0
    shown = rounded(value, min(digits, _MOST_DIGITS))
    return _replace_minus(f"{shown:,.{digits}f}" if digits <= _MOST_DIGITS else f"{value:.3g}")


def rounded(value: float, digits: int) -> float:
    """Round to some decimal places; never to negative zero, which would show as ``-0.0``."""
    return round(value, digits) + 0.0


def when(iso: str | None) -> str:
    """Format a time (ISO 8601) in UTC to the minute: ``2026-11-21 05:20 UTC``; no zone counts as UTC."""
    try:
        moment = datetime.fromisoformat(iso or "")
    except ValueError:
        return MISSING
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def visible(text: Any) -> str:
    """Put untrusted text on one line, without control characters and marks that change the reading direction."""
    return _CONTROLS.sub(" ", "" if text is None else str(text))


def shortened(text: Any, length: int) -> str:
    """Put text on one line of at most ``length`` characters, with an ellipsis in the middle for the part cut."""
    shown = visible(text)
    if len(shown) <= length:
        return shown
    head = (length - 1) * 2 // 3
    return f"{shown[:head]}…{shown[head + 1 - length :]}"


def plain(text: Any) -> str:
    """Escape untrusted text for a Markdown context (titles, labels, captions): it shows literally and has no effect.

    Markdown, LaTeX, HTML, Streamlit's colors and icons are escaped; an invisible joiner breaks up links, emoji codes
    and arrows.
    """
    marked = _AUTOMATIC.sub(lambda match: match[0] + _JOINER, visible(text))
    return _MARKUP.sub(r"\\\1", marked)


def code(text: Any, *, cell: bool = False) -> str:
    """Format untrusted text as Markdown code on one line, so that nothing in it is read as Markdown.

    ``cell`` means that it is in a table, where a bar ends a cell even within code unless it is escaped. The fence is
    longer than every run of backticks inside.
    """
    shown = visible(text).strip()
    if not shown:
        return MISSING
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{space}{shown.replace('|', chr(92) + '|') if cell else shown}{space}{fence}"


def sentence(text: Any) -> str:
    """Escape a sentence for Markdown and keep the commands between its backticks as code that can be copied.

    The rest is escaped as by ``plain``, which breaks up two dashes.
    """
    parts = visible(text).split("`")
    if len(parts) % 2 == 0:
        return plain(text)
    return "".join(code(part) if at % 2 and part.strip() else plain(part) for at, part in enumerate(parts))


def number(value: Any) -> float | None:
    """Convert to a float; None for a missing (None, NaN, NA) or infinite value."""
    try:
        converted = float(value)
    except (TypeError, ValueError):  # pandas' NA refuses to become a float
        return None
    return converted if math.isfinite(converted) else None


def unit_for(value: float, units: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    """Return the unit (name, size) in which a value has one to three digits before the point."""
    for name, size in units:
        if abs(value) >= size * 0.9995:  # 999.6 µs rounds to 1.00 ms
            return name, size
    return units[-1]


def _format_scaled(value: Any, units: tuple[tuple[str, float], ...]) -> str:
    amount = number(value)
    if amount is None:
        return MISSING
    name, size = unit_for(amount, units)
    if size == 1 and amount == round(amount):
        return _replace_minus(f"{amount + 0.0:.0f} {name}")
    shown = amount / size
    digits = 2 if abs(shown) < 9.995 else 1 if abs(shown) < 99.95 else 0
    return _replace_minus(f"{rounded(shown, digits):,.{digits}f} {name}")


def _replace_minus(text: str) -> str:
    """Replace the hyphen before a number by a minus sign, as in charts."""
    return f"−{text[1:]}" if text.startswith("-") else text
