"""Write predictions as plain data for programs and as Markdown for people."""

from dataclasses import asdict
from typing import Any

from profiledb import words
from profiledb.library.catalog import Manifest
from profiledb.replay.prediction import Predicted, WhatIf

MOST_PIECES = 10
"""Number of parts of the critical path in the output."""
MOST_SLACK = 30
"""Number of rows of slack in the output."""


def record(report: Manifest, what_if: WhatIf) -> dict[str, Any]:
    """Return predictions as plain data: times in ns, shares in percent.

    The lengths after ``baseline_ns`` are those with all requested changes together, or with the best change if none was
    requested.
    """
    prediction = what_if.together or next(iter(what_if.predictions), None)
    return {
        "report": report.name,
        "from_ns": what_if.begin_ns,
        "to_ns": what_if.end_ns,
        "steps": what_if.steps,
        "ranks": what_if.ranks,
        "alone": what_if.alone or None,
        "baseline_ns": what_if.baseline_ns,
        "replayed_ns": what_if.replayed_ns,
        "error_pct": what_if.error_pct,
        **_list_lengths(prediction),
        "changes": [_describe_change(one) for one in what_if.predictions],
        "refused": [
            {"change": one.change[0], "value": one.change[1] or None, "title": one.title, "reason": one.reason}
            for one in what_if.refused
        ],
        "critical_path": [
            {"kind": piece.kind, "name": piece.name, "ns": piece.ns, "share_pct": what_if.share_pct(piece.ns)}
            for piece in what_if.path[:MOST_PIECES]
        ],
        "slack": [asdict(one) for one in what_if.slack[:MOST_SLACK]],
    }


def _list_lengths(one: Predicted | None) -> dict[str, Any]:
    names = ("predicted_ns", "low_ns", "high_ns", "saving_ns", "saving_pct", "next", "next_pct")
    return {name: getattr(one, name, None) for name in names}


def _describe_change(one: Predicted) -> dict[str, Any]:
    ((name, value),) = one.changes
    entry = {"change": name, "value": value or None, "title": one.title, "assumes": one.assumes}
    return entry | _list_lengths(one)


def format_markdown(report: Manifest, what_if: WhatIf) -> str:
    """Return the predictions as a document: the replayed part, one row per change, and the critical path."""
    part = f"{words.counted(what_if.steps, 'step')} take" if what_if.steps else "The program takes"
    lines = [
        f"# What if: {words.plain(report.name)}",
        "",
        (
            f"{part} {words.duration(what_if.baseline_ns)}. Waits that nothing explains make up"
            f" {words.percent(what_if.error_pct)} of it."
            + (f" {what_if.ranks} ranks are replayed together." if what_if.ranks > 1 else "")
            + (f" {words.plain(what_if.alone)}" if what_if.alone else "")
        ),
        "",
    ]
    rows = [*what_if.predictions, *([what_if.together] if what_if.together and len(what_if.predictions) > 1 else [])]
    if rows:
        lines += [
            "| Change | Then it takes | Between | Saves | Largest part then |",
            "| --- | ---: | ---: | ---: | --- |",
        ]
        lines += [_format_row(one) for one in rows]
        lines += ["", "Each change assumes:", ""]
        lines += [f"- {words.plain(one.title)}: {words.plain(one.assumes)}" for one in what_if.predictions]
    else:
        lines += ["No change that Warpdeck knows saves anything here."]
    if what_if.refused:
        lines += ["", "Not in this report:", ""]
        lines += [f"- {words.plain(one.title)}: {words.plain(one.reason)}" for one in what_if.refused]
    lines += ["", "## Critical path", "", "| Part | Name | Time | Share |", "| --- | --- | ---: | ---: |"]
    lines += [
        f"| {piece.kind} | {words.code(piece.name, cell=True) if piece.name else ''} | {words.duration(piece.ns)}"
        f" | {words.percent(what_if.share_pct(piece.ns))} |"
        for piece in what_if.path[:MOST_PIECES]
    ]
    lines += [
        "", "## Slack", "", "How much longer each may take before the steps take longer.", "",
        "| Kind | Name | Number | Time | Critical | Least slack | Median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    lines += [
        f"| {one.kind} | {words.code(one.name, cell=True) if one.name else ''} | {one.count} | {words.duration(one.ns)}"
        f" | {one.critical} | {words.duration(one.least_ns)} | {words.duration(one.median_ns)} |"
        for one in what_if.slack[:MOST_PIECES]
    ]
    return "\n".join(lines) + "\n"


def _format_row(one: Predicted) -> str:
    saving = words.percent(one.saving_pct)
    between = f"{words.duration(one.low_ns)} – {words.duration(one.high_ns)}"
    title = "All of these" if len(one.changes) > 1 else words.plain(one.title)
    rest = f"{one.next}, {words.percent(one.next_pct)}" if one.next else ""
    return f"| {title} | {words.duration(one.predicted_ns)} | {between} | {saving} | {rest} |"
