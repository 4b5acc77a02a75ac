"""Numbers and units as ncu prints them, brought to base units: ns, byte, byte/s, hz, %.

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


def number(text: str) -> float | None:
    """The number that a cell holds, thousands separators removed; None where it holds none (n/a, NaN, a word)."""
    if "," in text:
        return float(text.replace(",", "")) if _THOUSANDS.fullmatch(text.strip()) else None
    try:
        return finite(float(text))
    except ValueError:
        return None


def finite(value: float) -> float | None:
    """The value, or None where it is no number or has no bound."""
    return value if math.isfinite(value) else None


def is_empty(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.strip().lower() in _EMPTY


def cell(text: str, factor: float = 1.0) -> tuple[float | None, str | None]:
    """A cell as (number in base units, None) or (None, text); (None, None) where there is no value."""
    value = number(text)
    if value is not None:
        return value * factor, None
    return None, None if is_empty(text) else text.strip()


@cache
def base(unit: str) -> tuple[float, str]:
    """The factor to the base unit and the base unit's name.

    ``base("msecond")`` is ``(1e6, "ns")``, ``base("Gbyte/second")`` is ``(1e9, "byte/s")`` and
    ``base("cycle/nsecond")`` is ``(1e9, "hz")``. A unit that is not known is its own base unit.
    """
    top, slash, bottom = unit.strip().partition("/")
    if top.lower() == "nan":
        return 1.0, ""
    if not slash and top in _TIME_S:
        return _round(_TIME_S[top] * 1e9), "ns"
    factor, name = _scaled(top)
    if bottom in _TIME_S:
        name = "hz" if name == "cycle" else f"{name}/s"
        return _round(factor / _TIME_S[bottom]), name
    return factor, f"{name}/{bottom}" if bottom else name


def _scaled(name: str) -> tuple[float, str]:
    rest = name[1:].lower()
    if name[:1] in _PREFIX and rest in _SCALED | set(_ALIAS):
        return _PREFIX[name[0]], _ALIAS.get(rest, rest)
    lower = name.lower()
    return 1.0, _ALIAS.get(lower, lower if lower in _SCALED else name)


def _round(factor: float) -> float:
    """Powers of ten that a division left a bit off."""
    return float(f"{factor:.12g}")
