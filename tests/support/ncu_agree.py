"""Compare the two ways to read a Nsight Compute report, ncu and the ncu-report wheel, value by value."""

import math
from collections.abc import Mapping
from typing import Any

from ingest.ncu.tables import Capture

LISTS = ("breakdown:", "group:", "regex:")
"""Prefixes of metrics that only the wheel returns: lists of other metrics' names."""
Value = tuple[float | None, str | None]


def close(printed: float | None, exact: float | None) -> bool:
    """Return True if ``printed`` is ``exact`` rounded to two decimals; floats hold about 15 digits."""
    if printed is None or exact is None:
        return printed is exact
    return math.isclose(printed, exact, rel_tol=1e-12, abs_tol=0.005001)  # 4e7 leaves no digits for a half


def same(printed: Value, exact: Value) -> bool:
    """Return True if the printed number or text matches the exact one."""
    return close(printed[0], exact[0]) and printed[1] == exact[1]


def values(capture: Capture) -> dict[tuple[int, str], Value]:
    """Return the value of each metric of each launch."""
    names = list(capture.metrics.ids)
    rows = capture.metrics.table().to_pylist()
    return {
        (row["launch_id"], names[row["metric_id"]]): (row["value"], row["text"])
        for row in rows
        if not names[row["metric_id"]].startswith(LISTS)
    }


def instances(capture: Capture) -> dict[tuple[object, ...], float | None]:
    """Return each instance value of each metric."""
    names = list(capture.metrics.ids)
    rows = [tuple(row.values()) for row in capture.metrics.instances.table().to_pylist()]
    return {(launch_id, names[metric_id], *keys): value for launch_id, metric_id, *keys, value in rows}


def details(capture: Capture) -> dict[tuple[int, str, str, str | None], Value]:
    """Return each row of the details page that has a value."""
    return {
        (one.launch_id, one.section, one.label, one.metric): (one.value, one.text)
        for one in capture.details
        if one.value is not None or one.text is not None
    }


def compared(by_ncu: Capture, by_wheel: Capture) -> tuple[int, list[str]]:
    """Return the number of values that agree, and one line for each value that differs or is missing on one side."""
    wrong: list[str] = []
    pairs: list[tuple[Mapping[Any, Value], Mapping[Any, Value]]] = [
        (values(by_ncu), values(by_wheel)),
        (details(by_ncu), details(by_wheel)),
    ]
    for theirs, mine in pairs:
        wrong += [
            f"{key}: {theirs.get(key)} expected, {mine.get(key)} found"
            for key in mine.keys() | theirs.keys()
            if key not in mine or key not in theirs or not same(theirs[key], mine[key])
        ]
    return sum(len(mine.keys() | theirs.keys()) for theirs, mine in pairs) - len(wrong), sorted(wrong)
