"""Sections of the summary of a report of Nsight Compute."""

from typing import Any

from profiledb import words
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary.answers import Answers, Section, Shown, contradictions, table

TOP = 10


def _verdict(value: Any) -> str:
    return words.plain(value) if isinstance(value, str) else "no verdict"


_VERDICTS: Shown = {
    "Verdict": ("verdict", _verdict), "Share of the time": "share_pct", "Time": "duration_ns", "Launches": "launches",
}  # fmt: skip
_LAUNCHES: Shown = {
    "Launch": ("launch_id", words.code), "Kernel": "name", "Class": "class", "Duration": "duration_ns",
    "Compute": "compute_pct", "Memory": "memory_pct", "Verdict": ("verdict", _verdict),
    "Roof efficiency": ("roof", words.percent),
}  # fmt: skip


def verdicts(answers: Answers) -> str:
    """How many launches there are, and what limits them by time."""
    rows = answers.rows("ncu_verdicts")
    launches = words.counted(rows["launches"].sum(), "launch")
    return f"## What limits the launches\n\n{launches}.\n\n" + table("ncu_verdicts", rows, _VERDICTS)


def top(answers: Answers) -> str:
    """The longest launches: speed of light, verdict, and how near they come to the roof of the device memory."""
    rows = answers.rows("ncu_speed_of_light").sort_values("duration_ns", ascending=False, kind="stable").head(TOP)
    points = rows_or_none(answers.rows, "ncu_roofline", precision="main", level="dram")
    roofs = {} if points.empty else points.drop_duplicates("launch_id").set_index("launch_id")["pct_of_roof"].to_dict()
    shown = f"## Top launches\n\nThe longest {TOP}, with times under ncu's clock control:\n\n" + table(
        "ncu_speed_of_light", rows.assign(roof=rows["launch_id"].map(roofs)), _LAUNCHES
    )
    if points.empty:
        return shown
    return shown + contradictions(
        points[points["launch_id"].isin(rows["launch_id"])], "launch_id", "above_roof", "Launch "
    )


def roofline(answers: Answers) -> str:
    """Nothing of its own: says where work and traffic were not collected, so that no launch has a roof."""
    answers.rows("ncu_roofline")
    return ""


SECTIONS: tuple[Section, ...] = (verdicts, top, roofline)
