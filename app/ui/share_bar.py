"""Shares of time by call category or idle reason as one bar, in colors that are the same on every page."""

import pandas as pd

from app.ui import chart_element, charts, tables, theme
from app.ui import format as fmt
from profiledb.rules import colors

SHORT = 10
"""Rows before a table scrolls on pages with many tables."""

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
"""Display title of each reason of ``idle_reasons``."""


def get_color(name: str) -> str:
    """Return the color of a category or reason in this visitor's theme; gray for unspecific ones."""
    pair = colors.get_activity_color(name)
    return pair.dark if theme.get_theme() == "dark" else pair.light


def share_bar(rows: pd.DataFrame, column: str, amount: str, titles: dict[str, str], *, key: str) -> None:
    """Draw the shares of categories or reasons as one bar; ``amount`` is the column with their times."""
    parts = [
        charts.Part(
            titles.get(row[column], row[column]),
            float(row["share_pct"]),
            fmt.duration(row[amount]),
            get_color(row[column]),
        )
        for row in rows.to_dict("records")
    ]
    chart_element.draw_chart(charts.share_bar(parts, theme.get_theme()), key)


def compute_height(rows: int) -> int | None:
    """Return the pixel height of a table that scrolls after a few rows, or None if all rows fit."""
    return (SHORT + 1) * tables.ROW_PX + 2 if rows > SHORT else None
