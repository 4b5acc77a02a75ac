"""Sections of the summary of a report of Nsight Compute."""

import pandas as pd

from profiledb import words
from profiledb.studies.summary.answers import Answers, Section, class_title, name, table

TOP = 10


def verdicts(answers: Answers) -> str:
    """How many launches there are, and what limits them by time."""
    rows = answers.rows("ncu_verdicts")
    launches = words.count(rows["launches"].sum())
    return f"## What limits the launches\n\n{launches} launches.\n\n" + table(
        [
            {
                "Verdict": words.plain(row["verdict"]) if isinstance(row["verdict"], str) else "no verdict",
                "Share of the time": words.percent(row["share_pct"]),
                "Time": words.duration(row["duration_ns"]),
                "Launches": words.count(row["launches"]),
            }
            for _, row in rows.iterrows()
        ]
    )


def top(answers: Answers) -> str:
    """The longest launches: speed of light, verdict, and how near they come to the roof of the device memory."""
    rows = answers.rows("ncu_speed_of_light").sort_values("duration_ns", ascending=False, kind="stable").head(TOP)
    points = answers.rows_or_none("ncu_roofline", precision="main", level="dram")
    roofs = {} if points.empty else points.drop_duplicates("launch_id").set_index("launch_id")["pct_of_roof"].to_dict()
    shown = f"## Top launches\n\nThe {TOP} longest, with times under ncu's clock control:\n\n" + table(
        [
            {
                "Launch": words.code(row["launch_id"]),
                "Kernel": name(row["name"]),
                "Class": class_title(row["class"]),
                "Duration": words.duration(row["duration_ns"]),
                "Compute": words.percent(row["compute_pct"]),
                "Memory": words.percent(row["memory_pct"]),
                "Verdict": words.plain(row["verdict"]) if isinstance(row["verdict"], str) else "no verdict",
                "Of the roof": words.percent(roofs.get(row["launch_id"])),
            }
            for _, row in rows.iterrows()
        ]
    )
    return shown + ("" if points.empty else _above_roof(points[points["launch_id"].isin(rows["launch_id"])]))


def _above_roof(points: pd.DataFrame) -> str:
    """A line for each launch whose share of the roof cannot be, and so is not in the table."""
    lines = [
        f"- Launch {words.code(row['launch_id'])}: {words.plain(row['above_roof'])}"
        for _, row in points.dropna(subset=["above_roof"]).iterrows()
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def roofline(answers: Answers) -> str:
    """Nothing of its own: says where work and traffic were not collected, so that no launch has a roof."""
    answers.rows("ncu_roofline")
    return ""


SECTIONS: tuple[Section, ...] = (verdicts, top, roofline)
