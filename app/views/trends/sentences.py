"""Text that describes the changes of a series."""

from collections.abc import Callable, Sequence
from typing import Any

from app.ui import format as fmt
from profiledb.studies.compare.verdict import format_percent_change
from profiledb.studies.trends.measures import Measure
from profiledb.studies.trends.series import Point
from profiledb.studies.trends.series_changes import Shift
from profiledb.studies.trends.series_lines import LineChange

KINDS = {"regression": "Worse", "improvement": "Better", "surroundings": "Surroundings"}
"""Display names of the kinds of change."""
_VALUES: dict[str, Callable[[Any], str]] = {
    "ns": fmt.duration, "bytes": fmt.bytes_, "%": fmt.percent, "count": fmt.significant,
    "J": lambda value: f"{fmt.significant(value)} J",
}  # fmt: skip


def format_value(measure: Measure, number: float) -> str:
    """Format a value of a measure with its unit."""
    return _VALUES[measure.unit](number)


def format_share(share: float | None) -> str:
    """Format a change relative to the level before it: ``+11.1 %``."""
    return fmt.MISSING if share is None else format_percent_change(100 * share)


def format_point(point: Point | LineChange) -> str:
    """Return a report's short commit, else its date."""
    return point.commit[:10] if point.commit else f"{point.at:%Y-%m-%d %H:%M}"


def format_labels(points: Sequence[Point]) -> tuple[str, ...]:
    """Return x-axis labels for reports: commits if they distinguish most of them, else dates, else times."""
    commits = [point.commit[:7] if point.commit else "" for point in points]
    if 2 * len({*commits} - {""}) > len(points):
        return tuple(commits)
    apart = 2 * len({point.at.date() for point in points}) > len(points)
    return tuple(f"{point.at:%Y-%m-%d}" if apart else f"{point.at:%m-%d %H:%M}" for point in points)


def describe_change(shift: Shift, measure: Measure) -> str:
    """Describe a change in a sentence (Markdown)."""
    change = shift.change
    text = f"**{measure.title} {format_share(change.share)}**: {format_value(measure, change.before)} →"
    text += f" {format_value(measure, change.after)}"
    if change.low is not None and change.high is not None:
        text += f" (95 % interval {format_share(change.low)} to {format_share(change.high)})"
    chance = "below 0.001" if change.p < 0.001 else f"{change.p:.3f}"
    first = f"{fmt.plain(shift.point.facts.name)}, {fmt.plain(format_point(shift.point))}"
    return f"{text}. First report: {first}. p {chance}."


def list_other_changes(shift: Shift) -> str:
    """Say what else changed at the same report (Markdown); "" if nothing did."""
    sentences = []
    if shift.around:
        sentences.append(f"Not the code alone: {fmt.plain('; '.join(shift.around))}.")
    if shift.versions:
        sentences.append(f"Versions: {fmt.plain('; '.join(shift.versions))}.")
    return " ".join(sentences)
