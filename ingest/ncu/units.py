"""Convert numbers and units as ncu prints them to base units: ns, byte, byte/s, hz, %.

ncu scales by powers of 1000 (32768 byte are 32.768 Kbyte) and has changed its spelling over the years: nsecond and ns,
byte/second and byte/s, cycle/nsecond and Ghz.
"""

import math
import re
from functools import cache

_PREFIX = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TIME_S = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisec", "msecond", "millisecond"), 1e-3),
    **dict.fromkeys(("us", "usec", "microsec", "usecond", "microsecond"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosec", "nsecond", "nanosecond"), 1e-9),
    **dict.fromkeys(("minute", "minutes"), 60.0),
    **dict.fromkeys(("hour", "hours"), 3600.0),
}
_SCALED = {"byte", "hz", "b", "inst", "cycle", "sector", "request", "thread", "warp", "pass", "sample", "op", "bit"}
_ALIAS = {"bytes": "byte", "b": "byte", "cycles": "cycle", "hertz": "hz"}
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_EMPTY = {"", "n/a", "nan", "-nan", "no data", "inf", "-inf", "infinity", "<na>", "-nan(ind)", "nan(ind)"}


def parse_number(text: str) -> float | None:
    """Return the number of a cell without thousands separators; None if it holds none (n/a, NaN, a word)."""
    if "," in text:
        return float(text.replace(",", "")) if _THOUSANDS.fullmatch(text.strip()) else None
    try:
        return parse_finite(float(text))
    except ValueError:
        return None


def parse_finite(value: float) -> float | None:
    """Return the value, or None if it is not a number or infinite."""
    return value if math.isfinite(value) else None


def is_empty(text: str) -> bool:
    """Return True if a cell says that there is no value."""
    return text.strip().lower() in _EMPTY


def parse_cell(text: str, factor: float = 1.0) -> tuple[float | None, str | None]:
    """Return a cell as (number in base units, None) or (None, text); (None, None) if it has no value."""
    value = parse_number(text)
    if value is not None:
        return value * factor, None
    return None, None if is_empty(text) else text.strip()


@cache
def to_base_unit(unit: str) -> tuple[float, str]:
    """Return the factor to the base unit and the base unit's name.

    ``to_base_unit("msecond")`` is ``(1e6, "ns")``, ``to_base_unit("Gbyte/second")`` is ``(1e9, "byte/s")`` and
    ``to_base_unit("cycle/nsecond")`` is ``(1e9, "hz")``. An unknown unit is its own base unit.
    """
    top, slash, bottom = unit.strip().partition("/")
    if top.lower() == "nan":
        return 1.0, ""
    if not slash and top in _TIME_S:
        return _round_factor(_TIME_S[top] * 1e9), "ns"
    factor, name = _find_scale(top)
    if bottom in _TIME_S:
        name = "hz" if name == "cycle" else f"{name}/s"
        return _round_factor(factor / _TIME_S[bottom]), name
    return factor, f"{name}/{bottom}" if bottom else name


def _find_scale(name: str) -> tuple[float, str]:
    rest = name[1:].lower()
    if name[:1] in _PREFIX and rest in _SCALED | set(_ALIAS):
        return _PREFIX[name[0]], _ALIAS.get(rest, rest)
    lower = name.lower()
    return 1.0, _ALIAS.get(lower, lower if lower in _SCALED else name)


def _round_factor(factor: float) -> float:
    """Correct powers of ten that a division left a bit off."""
    return float(f"{factor:.12g}")
