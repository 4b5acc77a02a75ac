"""A selection in URL form: convert parameters to fields and back, dropping what the report lacks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import pandas as pd

from app.ui import format as fmt
from profiledb.selection import model
from profiledb.selection.model import Selection

_NS_PER_MS = 1_000_000
_MOST_NS = 2**62


def format_milliseconds(ns: int) -> str:
    """Format a time in ns for the URL: milliseconds without trailing zeros."""
    return f"{Decimal(ns) / _NS_PER_MS:f}"


def split(text: str, paths: pd.DataFrame) -> tuple[str, int | None, int | None, int]:
    """Split a range into its name, its first and last instance (None for all), and its number of instances.

    The count is 0 if the report has no such range.
    """
    if most := _count_most_instances(text, paths):
        return text, None, None, most
    match = model.INSTANCE.fullmatch(text)
    if match and (most := _count_most_instances(match["path"], paths)):
        return match["path"], int(match["first"]), int(match["last"] or match["first"]), most
    return text, None, None, 0


def _count_most_instances(text: str, paths: pd.DataFrame) -> int:
    for column in ("path", "name"):
        instances = paths.loc[paths[column] == text, "most"]
        if len(instances):
            return int(instances.max())
    return 0


def list_changed(chosen: Selection, default: Selection) -> dict[str, list[str]]:
    """Return the URL parameters that differ from the default; an empty one overrides a default with nothing."""
    forms: dict[str, tuple[str, Callable[[Any], str]]] = {
        "first": ("skip_first", str),
        "warmup": ("warmup", str),
        "mode": ("mode", str),
        "device": ("device", str),
        "stream": ("stream", str),
        "from": ("from_ns", format_milliseconds),
        "to": ("to_ns", format_milliseconds),
    }
    query = {
        key: [""] if value is None else [form(value)]
        for key, (name, form) in forms.items()
        if (value := getattr(chosen, name)) != getattr(default, name)
    }
    return query | ({"range": list(chosen.ranges) or [""]} if chosen.ranges != default.ranges else {})


def parse(
    given: Mapping[str, list[str]],
    default: Selection,
    paths: pd.DataFrame,
    places: pd.DataFrame,
    problems: list[str],
) -> Selection:
    """Parse the selection in the URL; parts that the report lacks are dropped and reported in ``problems``."""
    asked = {key: values[-1].strip() for key, values in given.items() if values and key != "range"}
    skip = (_parse_number(asked, "first", problems) or 0) if "first" in asked else default.skip_first
    ranges = tuple(text for text in dict.fromkeys(given.get("range", default.ranges)) if text)
    valid_ranges = tuple(text for text in ranges if has_range(text, skip, paths, problems))
    first = _parse_time(asked, "from", problems) if "from" in asked else default.from_ns
    last = _parse_time(asked, "to", problems) if "to" in asked else default.to_ns
    if first is not None and last is not None and first >= last:
        problems.append("The time window ends before it starts.")
        first = last = None
    return replace(
        default,
        ranges=valid_ranges,
        skip_first=skip if valid_ranges else 0,
        warmup=_parse_choice(asked, "warmup", default.warmup, problems),
        mode=_parse_choice(asked, "mode", default.mode, problems),
        device=_parse_place(asked, "device", "gpu_id", places, problems) if "device" in asked else default.device,
        stream=_parse_place(asked, "stream", "stream", places, problems) if "stream" in asked else default.stream,
        from_ns=first,
        to_ns=last,
    )


def has_range(text: str, skip: int, paths: pd.DataFrame, problems: list[str]) -> bool:
    """Return whether a report has a range with instances left after ``skip``; if not, report it in ``problems``."""
    _, first, last, most = split(text, paths)
    if not most:
        problems.append(f"Range {fmt.plain(text)} is not in this report.")
    elif max(first or 1, 1 + skip) > min(most if last is None else last, most):
        problems.append(f"Range {fmt.plain(text)} has no such instance: it has {fmt.count(most)}.")
    else:
        return True
    return False


def _parse_choice(asked: Mapping[str, str], key: str, default: str, problems: list[str]) -> str:
    value = asked.get(key) or default
    if value in model.CHOICES[key]:
        return value
    problems.append(f"{fmt.plain(key)} cannot be {fmt.plain(value)}.")
    return default


def _parse_place(
    asked: Mapping[str, str], key: str, column: str, places: pd.DataFrame, problems: list[str]
) -> int | None:
    number = _parse_number(asked, key, problems)
    if number is not None and number not in places[column].dropna().tolist():
        problems.append(f"{'GPU' if key == 'device' else 'Stream'} {number} is not in this report, or it ran nothing.")
        return None
    return number


def _parse_number(asked: Mapping[str, str], key: str, problems: list[str]) -> int | None:
    value = asked.get(key, "")
    if value.isdecimal() and len(value) < len(str(_MOST_NS)):
        return int(value)
    if value:
        problems.append(f"{fmt.plain(key)} takes a whole number, not {fmt.plain(fmt.shortened(value, 40))}.")
    return None


def _parse_time(asked: Mapping[str, str], key: str, problems: list[str]) -> int | None:
    if not (value := asked.get(key, "")):
        return None
    try:
        ns = Decimal(value) * _NS_PER_MS
        if 0 <= ns < _MOST_NS:
            return round(ns)
    except (InvalidOperation, ValueError):
        pass  # not a number: reported below
    problems.append(f"{fmt.plain(key)} takes milliseconds from the start of the capture, not {fmt.plain(value[:40])}.")
    return None
