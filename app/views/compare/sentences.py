"""The sentences of the Compare page, built from its rows."""

import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd

from app.ui import format as fmt
from profiledb.selection import model
from profiledb.studies.compare import verdict
from profiledb.studies.compare.matching import Basis, Side
from profiledb.studies.compare.verdict import format_difference, format_percent_change, get_sign

NAMED = 3
"""Maximum number of kernels named in a sentence."""
_MAINLY = 0.8
_STATUS = {"new": "new", "gone": "gone"}


def format_points(x: Any) -> str:
    """Format a difference of shares: ``+1.2 points``."""
    value = fmt.number(x)
    if value is None:
        return fmt.MISSING
    return f"{get_sign(value) if abs(value) >= 0.05 else '±'}{abs(value):.1f} points"


def list_verdict_lines(a: Side, b: Side) -> list[str]:
    """Return the command line's summary as Markdown: which side is faster, by how much, and what changed."""
    headline = f"**{verdict.state_headline(a, b, fmt.plain)}**"
    lines = [
        headline,
        verdict.state_figures(a, b, fmt.plain),
        verdict.explain_change(a, b),
        verdict.state_outside(a, b),
    ]
    return [line for line in lines if line]


def describe_causes(rows: pd.DataFrame, basis: Basis) -> str:
    """Describe the kernels that account for the change, and those that work against it (Markdown)."""
    column = "share_change_points" if basis == "share" else "change_ns"
    changes = pd.to_numeric(rows[column]).astype(float)
    if basis == "share":
        named = [_format_kernel(row, column) for _, row in rows.head(NAMED).iterrows() if abs(row[column]) >= 0.05]
        return f"Largest changes in share of kernel time: {', '.join(named)}." if named else ""
    net = float(changes.sum())
    ahead = rows[changes * (net or 1.0) > 0]
    against = rows[changes * (net or 1.0) < 0]
    sentences = []
    if len(ahead):
        sum_ns = float(ahead[column].sum())
        top = ahead.head(NAMED)
        part = float(top[column].sum())
        rest = (
            f"; {fmt.count(len(ahead) - len(top))} other kernels {format_difference(sum_ns - part)}"
            if len(ahead) > len(top)
            else ""
        )
        named_parts = ", ".join(_format_kernel(row, column) for _, row in top.iterrows())
        sentences.append(f"Largest changes in kernel time: {named_parts}{rest}.")
    if len(against) and abs(float(against[column].sum())) >= 0.02 * abs(net):
        top = against.head(1)
        rest = (
            f", {format_difference(against[column].sum())} for all {fmt.count(len(against))} such kernels"
            if len(against) > 1
            else ""
        )
        sentences.append(f"In the other direction: {_format_kernel(top.iloc[0], column)}{rest}.")
    return " ".join(sentences)


def _format_kernel(row: "pd.Series[Any]", column: str) -> str:
    size = format_points(row[column]) if column == "share_change_points" else format_difference(row[column])
    return f"{fmt.plain(fmt.shortened(row['name'], 60))} **{size}** ({explain_change(row)})"


def explain_change(row: "pd.Series[Any]") -> str:
    """Explain why the total time of a kernel changed: new, gone, number of launches, mean duration, or both."""
    if row["status"] in _STATUS:
        return _STATUS[str(row["status"])]
    change = float(row["change_ns"])
    calls, longer = float(row["more_calls_ns"]), float(row["longer_ns"])
    words = []
    if abs(calls) >= (1 - _MAINLY) * abs(change) and calls:
        words.append(f"{'more' if calls > 0 else 'fewer'} launches")
    if abs(longer) >= (1 - _MAINLY) * abs(change) and longer:
        words.append(_describe_mean(row))
    return ", ".join(words) or "the same"


def _describe_mean(row: "pd.Series[Any]") -> str:
    change = format_percent_change(row["avg_change_pct"])
    sure = "" if row["verdict"] in ("slower", "faster") else f", {row['verdict']}"
    size = compute_size_change(row)
    return f"mean {change}{f' at {size} threads per launch' if size else ''}{sure}"


def compute_size_change(row: "pd.Series[Any]") -> str:
    """Return the factor by which the mean number of threads per launch changed, or "" if it did not."""
    before, after = fmt.number(row["a_threads"]), fmt.number(row["b_threads"])
    if not before or not after or abs(after / before - 1) < 0.005:
        return ""
    return f"{after / before:.3g}×"


def format_interval(row: "pd.Series[Any]") -> str:
    """Format the 95 % interval for the change of a mean."""
    low, high = fmt.number(row["low_pct"]), fmt.number(row["high_pct"])
    if low is None or high is None:
        return ""
    return f"{get_sign(low)}{abs(low):,.1f} to {get_sign(high)}{abs(high):,.1f}"


def count_significant(rows: pd.DataFrame) -> str:
    """Count the kernels in both reports that are slower, faster, or without a clear change."""
    counts = rows["verdict"].value_counts()
    both = int((rows["status"] == "same").sum())
    if not both:
        return "The two reports have no kernel in common."
    parts = [
        f"{fmt.count(counts[word])} {shown}"
        for word, shown in (
            ("slower", "slower"),
            ("faster", "faster"),
            ("not significant", "without a significant change"),
            ("too few launches", "with too few launches to tell"),
        )
        if counts.get(word, 0)
    ]
    ends = [f"{fmt.count(n)} {word}" for word in ("new", "gone") if (n := int((rows["status"] == word).sum()))]
    noun = "kernel" if both == 1 else "kernels"
    return f"{fmt.count(both)} {noun} in both: {', '.join(parts)}" + (f"; {', '.join(ends)}." if ends else ".")


def build_command(basis: Basis, a: str, b: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return the shell command that prints the rows of the page."""
    plain = dict.fromkeys(model.HELP, "")
    other = {name: value for name, value in (plain | dict(theirs)).items() if value != (plain | dict(mine))[name]}
    words = ["warpdeck", "compare", a, b]
    for option, params in (("--param", mine), ("--other-param", other)):
        for name, value in params.items():
            values = [value] if isinstance(value, str) else value
            words += [part for one in values for part in (option, f"{name}={one}")]
    return shlex.join([*words, "--basis", basis])
