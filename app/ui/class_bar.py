"""The bar of kernel time by class that several pages show."""

import pandas as pd

from app.ui import chart_element, charts, theme
from app.ui import format as fmt
from profiledb.rules.classes import OTHER


def bar(rows: pd.DataFrame, *, key: str) -> list[charts.Part]:
    """Draw the rows of ``class_split`` as one bar; return its parts."""
    colors, titles = theme.class_colors(), theme.class_titles()
    parts = [
        charts.Part(
            titles.get(row["class"], row["class"]),
            float(row["share_pct"]),
            f"{fmt.duration(row['total_ns'])} in {fmt.counted(row['calls'], 'launch')}",
            colors.get(row["class"], colors[OTHER]),
        )
        for row in rows.to_dict("records")
    ]
    chart_element.chart(charts.share_bar(parts, theme.theme()), key)
    return parts
