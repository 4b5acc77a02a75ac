"""Sentences of the Phases page from ``matmul_split`` rows: pure functions, Markdown escaped."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from app.ui import format as fmt
from profiledb.rules.phases import ALL, NONE
from profiledb.studies.summary.matmul_share import describe_share, get_phase_title, join_names

__all__ = ["describe_change", "list_class_changes"]

STEADY = 0.5
"""A share that changes by at most this many points counts as unchanged."""
_SMALL = 0.3
"""Smallest contribution of a phase, in points, to be named as a cause."""


def describe_change(
    first: pd.DataFrame,
    second: pd.DataFrame,
    names: tuple[str, str],
    titles: Mapping[str, str],
    classes: tuple["pd.Series[float]", "pd.Series[float]"],
    class_titles: Mapping[str, str],
) -> str:
    """Say how the matmul share changes between two reports, and which phases cause the change.

    A phase contributes ``w₂ (m₂ - M₁) - w₁ (m₁ - M₁)`` points, where ``w`` is its share of the time, ``m`` the matmul
    share inside it, and ``M₁`` the matmul share of the first report; over all phases the contributions add up to the
    change. If a report has no phases, the class that changes most in the opposite direction is named as the cause.

    Args:
        first: ``matmul_split`` of one report, by phase.
        second: ``matmul_split`` of the other report.
        names: display names of the reports (untrusted).
        titles: display names of the phases.
        classes: shares by class in percent, of both reports.
        class_titles: display names of the classes.
    """
    before, after = _read_value(first, ALL, "matmul_pct"), _read_value(second, ALL, "matmul_pct")
    ends = f"**{fmt.percent(before)}** ({fmt.plain(names[0])}) to **{fmt.percent(after)}** ({fmt.plain(names[1])})"
    if abs(after - before) < STEADY:
        return f"The matmul share stays the same: {ends}."
    verb = "rises" if after > before else "falls"
    if any(set(rows.index) == {ALL, NONE} for rows in (first, second)):
        return f"Matmul {verb} from {ends} because {_name_changed_class(*classes, class_titles, up=after < before)}."
    moves = _compute_moves(first, second, before)
    along = [m for m in moves if m[1] * (after - before) > 0 and abs(m[1]) >= _SMALL][:2]
    against = [m for m in moves if m[1] * (after - before) < 0 and abs(m[1]) >= _SMALL][:1]
    because = " and ".join(_describe_phase(first, second, phase, move, titles) for phase, move in along)
    although = ", ".join(_describe_phase(first, second, phase, move, titles) for phase, move in against)
    return (
        f"Matmul {verb} from {ends}"
        + (f" because {because}" if because else "")
        + (f", although {although}" if although else "")
        + "."
    )


def list_class_changes(first: "pd.Series[float]", second: "pd.Series[float]", titles: Mapping[str, str]) -> str:
    """List the other classes whose share changes most, in either direction; shares are in percent by class."""
    change = second.sub(first, fill_value=0).drop("matmul", errors="ignore")
    order = change.abs().sort_values(ascending=False, kind="stable").index
    changes = [
        f"{fmt.plain(titles.get(name, name))} {_format_points(change[name])}"
        for name in order
        if abs(change[name]) >= STEADY
    ]
    return (
        f"Other classes, in points: {join_names(changes[:5])}."
        if changes
        else ("The shares of other classes stay the same.")
    )


def _name_changed_class(
    first: "pd.Series[float]", second: "pd.Series[float]", titles: Mapping[str, str], *, up: bool
) -> str:
    """Name the other class that gains (``up``) or loses most."""
    change = second.sub(first, fill_value=0).drop("matmul", errors="ignore")
    name = str(change.idxmax() if up else change.idxmin())
    now, then = (fmt.percent(shares.get(name, 0.0)) for shares in (second, first))
    return f"{fmt.plain(titles.get(name, name))} takes {now} instead of {then}"


def _compute_moves(first: pd.DataFrame, second: pd.DataFrame, before: float) -> list[tuple[str, float]]:
    """Return each phase's contribution to the change of the matmul share in points, largest first."""
    moves = {
        phase: _compute_pull(second, phase, before) - _compute_pull(first, phase, before)
        for phase in dict.fromkeys([*first.index, *second.index])
        if phase != ALL
    }
    return sorted(moves.items(), key=lambda pair: -abs(pair[1]))


def _compute_pull(rows: pd.DataFrame, phase: str, level: float) -> float:
    """Return by how many points a phase pulls the matmul share away from ``level``."""
    if not _has_phase(rows, phase):
        return 0.0
    return _read_value(rows, phase, "share_pct") / 100 * (_read_value(rows, phase, "matmul_pct") - level)


def _has_phase(rows: pd.DataFrame, phase: str) -> bool:
    return phase in rows.index and _read_value(rows, phase, "total_ns") > 0


def _read_value(rows: pd.DataFrame, phase: str, column: str) -> float:
    value: Any = rows.loc[phase, column]
    return fmt.number(value) or 0.0


def _describe_phase(
    first: pd.DataFrame, second: pd.DataFrame, phase: str, move: float, titles: Mapping[str, str]
) -> str:
    """Describe what changed in a phase, with its contribution in points."""
    title, points = get_phase_title(titles, phase), f" ({_format_points(move)})"
    (share, matmul), (new_share, new_matmul) = (
        [_read_value(rows, phase, column) if _has_phase(rows, phase) else 0.0 for column in ("share_pct", "matmul_pct")]
        for rows in (first, second)
    )
    if not _has_phase(first, phase):
        return f"{title} adds {fmt.percent(new_share)} of the time, {describe_share(new_matmul)} of it matmul{points}"
    if not _has_phase(second, phase):
        return f"{title} is gone, {fmt.percent(share)} of the time with {describe_share(matmul)} of it matmul{points}"
    if abs(new_matmul - matmul) >= STEADY:
        return f"{title} is {describe_share(new_matmul)} matmul instead of {describe_share(matmul)}{points}"
    return f"{title} takes {fmt.percent(new_share)} of the time instead of {fmt.percent(share)}{points}"


def _format_points(value: float) -> str:
    return f"{'+' if value > 0 else '−'}{abs(value):.1f}"
