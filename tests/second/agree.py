"""Our rows against those of the second computation, cell by cell."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Key = tuple[Any, ...]
Table = Mapping[Key, Mapping[str, Any]]


def keyed(rows: Sequence[Mapping[str, Any]], *columns: str) -> dict[Key, Mapping[str, Any]]:
    """Rows by the values of some columns, which tell each of them."""
    found = {tuple(row[column] for column in columns): row for row in rows}
    assert len(found) == len(rows), f"rows share {columns}"
    return found


LAST_DIGITS = 1e-9
"""How far sums of doubles may lie apart that were added in another order, as a part of them."""

SMALLEST = 1e-6
"""And how far, in any unit, where differences of large numbers are next to nothing."""


def same(ours: Any, second: Any, tolerance: float = LAST_DIGITS) -> bool:
    """Whether two values are the same; of numbers with decimals, nearly."""
    if isinstance(ours, float) and isinstance(second, int | float):
        return math.isclose(ours, second, rel_tol=tolerance, abs_tol=SMALLEST)
    return bool(ours == second)


def differences(ours: Table, second: Table, tolerance: float = LAST_DIGITS) -> list[str]:
    """A line for each row that only one side has, and for each cell of the second one that differs in ours."""
    found = [f"only ours: {key} {dict(ours[key])}" for key in ours if key not in second]
    found += [f"only second: {key} {dict(second[key])}" for key in second if key not in ours]
    for key in ours.keys() & second.keys():
        for column, value in second[key].items():
            if not same(ours[key][column], value, tolerance):
                found.append(f"{key} {column}: {ours[key][column]!r} in ours, {value!r} in the second")
    return sorted(found)


def agree(ours: Table, second: Table, *, tolerance: float = LAST_DIGITS) -> None:
    """Fails with the first differences."""
    found = differences(ours, second, tolerance)
    assert not found, "\n".join([f"{len(found)} differences", *found[:12]])
