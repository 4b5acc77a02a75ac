"""Shares of time by category of calls or reason of idle time: one bar, in colors that each keeps on every page."""

import pandas as pd

from app.ui import chart_element, charts, tables, theme
from app.ui import format as fmt

SHORT = 10
"""Rows of a table before it scrolls by itself: this page has many."""

REASONS = {
    "host code": "Non-CUDA code",
    "launch call": "Launch call",
    "synchronization": "Synchronization",
    "copy call": "Memcpy or memset call",
    "allocation": "Allocation",
    "module loading": "Module loading",
    "other CUDA call": "Other CUDA call",
    "OS runtime call": "OS runtime call",
    "launch latency": "Launch latency",
    "between operations": "Between operations",
    "page migration": "Page migration",
    "unknown": "Unknown",
}
"""What people read for each reason of ``idle_reasons``."""

_FIXED = {
    "launch": 0, "launch call": 0, "synchronization": 1, "blocking copy": 2, "copy call": 2,
    "queued copy": 3, "launch latency": 3, "allocation": 4, "host code": 5, "OS runtime call": 6, "module loading": 7,
}  # fmt: skip
"""Which of the colors each has; what is not here is gray."""


def color(name: str) -> str:
    """The color of a category or reason in this visitor's theme; gray for what says little."""
    return theme.category_colors()[_FIXED[name]] if name in _FIXED else charts.NEUTRAL[theme.theme()]


def share_bar(rows: pd.DataFrame, column: str, amount: str, titles: dict[str, str], *, key: str) -> None:
    """Shares of categories or reasons as one bar; ``amount`` is the column of the time of each."""
    parts = [
        charts.Part(
            titles.get(row[column], row[column]), float(row["share_pct"]), fmt.duration(row[amount]), color(row[column])
        )
        for row in rows.to_dict("records")
    ]
    chart_element.chart(charts.share_bar(parts, theme.theme()), key)


def height(rows: int) -> int | None:
    """The height of a table that scrolls after a few rows; None where all fit."""
    return (SHORT + 1) * tables.ROW_PX + 2 if rows > SHORT else None
