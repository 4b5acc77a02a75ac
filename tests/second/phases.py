"""Kernel time by phase (forward, backward, optimizer): that of the innermost range around a launch that has one."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

from tests.second import names
from tests.second.nesting import Mode, nest, ran
from tests.second.raw import Capture, Operation
from tests.second.steps import loops

Table = dict[tuple[Any, ...], dict[str, Any]]
Placed = tuple[str, bool, Operation]
"""A kernel with its phase, and whether it lies in a pass."""


def passes(capture: Capture, mode: Mode) -> int | None:
    """Closed steps of rank 1 without warm-up; None if there are none."""
    return len(_passes(capture, mode)) or None


@cache
def _passes(capture: Capture, mode: Mode) -> frozenset[Any]:
    return frozenset(loop.counted if (loop := next(iter(loops(capture, mode)), None)) else ())


@cache
def placed(capture: Capture, mode: Mode) -> list[Placed]:
    """Every kernel with its phase."""
    nesting, steps = nest(capture), _passes(capture, mode)
    found = []
    for one in capture.kernels:
        held = nesting.of(one, mode)
        told = (phase for r in reversed(held) if (phase := names.phase(r.name)))
        found.append((next(told, "none"), any(r in steps for r in held), one))
    return found


def split(capture: Capture, mode: Mode, by: Callable[[Operation], Hashable], *, every: bool = False) -> Table:
    """Kernel time by phase and another key; with ``every`` also that of all phases, under ``all``."""
    groups: dict[tuple[str, Hashable], list[Placed]] = defaultdict(list)
    for row in placed(capture, mode):
        groups[row[0], by(row[2])].append(row)
        if every:
            groups["all", by(row[2])].append(row)
    of_phase: dict[str, int] = defaultdict(int)
    for (phase, _), there in groups.items():
        of_phase[phase] += _ns(there)
    number = passes(capture, mode) if _holds_work(capture, mode) else None
    whole = sum(one.ns for one in capture.kernels)
    return {key: _figures(there, of_phase[key[0]], whole, number) for key, there in groups.items()}


def _holds_work(capture: Capture, mode: Mode) -> bool:
    """Whether steps hold a quarter of the kernel time from the first to the last of them; not asked of threads."""
    steps, held = _passes(capture, mode), ran(capture, mode)
    if mode == "thread" or not steps:
        return True
    low = min(one.start for one in steps)
    high = max([one.end for one in steps] + [held[one].start + held[one].ns for one in steps if one in held])
    inside = sum(one.ns for _, is_inside, one in placed(capture, mode) if is_inside)
    return 4 * inside >= sum(one.ns for one in capture.kernels if low <= one.start <= high)


def _figures(there: Sequence[Placed], of_phase: int, whole: int, number: int | None) -> dict[str, Any]:
    inside = [row for row in there if row[1]]
    return {
        "total_ns": _ns(there),
        "phase_pct": 100 * _ns(there) / of_phase,
        "share_pct": 100 * _ns(there) / whole,
        "calls": len(there),
        "passes": number,
        "pass_ns": _ns(inside) / number if number else None,
        "pass_calls": len(inside) / number if number else None,
    }


def _ns(there: Sequence[Placed]) -> int:
    return sum(one.ns for _, _, one in there)
