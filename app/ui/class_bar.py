"""The bar of kernel time by class that several pages show."""

import pandas as pd

from app.ui import chart_element, charts, theme
from app.ui import format as fmt
from profiledb.rules.classes import OTHER


def draw_bar(rows: pd.DataFrame, *, key: str) -> list[charts.Part]:
    """Draw the rows of ``class_split`` as one bar; return its parts."""
    colors, titles = theme.get_class_colors(), theme.get_class_titles()
    parts = [
        charts.Part(
            titles.get(row["class"], row["class"]),
            float(row["share_pct"]),
            f"{fmt.duration(row['total_ns'])} in {fmt.counted(row['calls'], 'launch')}",
            colors.get(row["class"], colors[OTHER]),
        )
        for row in rows.to_dict("records")
    ]
    chart_element.draw_chart(charts.share_bar(parts, theme.get_theme()), key)
    return parts
