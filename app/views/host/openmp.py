"""OpenMP regions: their duration, and how evenly their threads share the work."""

import pandas as pd

from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable


def describe_regions(rows: pd.DataFrame) -> str:
    """Describe the duration of the regions, the share that threads work, and the cost of imbalance (Markdown)."""
    count, wall = (int(rows[name].sum()) for name in ("regions", "wall_ns"))
    many = "1 region takes" if count == 1 else f"{fmt.count(count)} regions take"
    team = sum(int(rows[name].sum()) for name in ("work_ns", "barrier_ns", "lock_ns", "late_ns"))
    if not team:
        return f"{many} {fmt.duration(wall)}. The capture does not tell which threads worked in them."
    works = fmt.percent(100 * int(rows["work_ns"].sum()) / team)
    lost = fmt.duration(int(rows["lost_ns"].sum()))
    return (
        f"{many} {fmt.duration(wall)}; their threads work {works} of it. Evenly shared work would save at most {lost}."
    )


REGIONS = AnalysisTable(
    "openmp_regions",
    "OpenMP regions",
    "No OpenMP region begins in this selection.",
    {"lost_ns": {"label": "Lost"}},
    lead=describe_regions,
    note=(
        "Working: in tasks of a region. Waiting: in barriers, for locks, or not yet there. Imbalance: the work of the"
        " thread that works longest over the mean; 1 is even."
    ),
    filled=True,
    few=True,
)
