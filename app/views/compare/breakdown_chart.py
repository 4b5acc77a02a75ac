"""A chart of the contributions to the difference between two reports."""

import pandas as pd
import streamlit as st

from app.selection import compared_report
from app.ui import chart_element, theme
from app.ui import format as fmt
from app.ui.charts import NEUTRAL
from app.views.compare import charts, sentences
from app.views.compare.charts import End, Part
from profiledb.studies.compare.verdict import format_difference

SHOWN = 10
"""Kernels drawn individually; all others share one bar."""


def draw_breakdown(comparison: compared_report.Compared) -> None:
    """Draw the largest contributions to the difference, top to bottom."""
    share = comparison.basis == "share"
    column = "share_change_points" if share else "change_ns"
    rows = comparison.kernels[comparison.kernels[column].fillna(0) != 0]
    if rows.empty:
        return
    parts = _list_parts(rows, column)
    st.subheader("Where the difference comes from", anchor=False)
    if share:
        figure = charts.plot_differences(parts, "Share of kernel time, B − A (points)", theme.get_theme())
    else:
        sums = [float(comparison.kernels[f"{letter}_total_ns"].sum()) for letter in "ab"]
        ends = [End(f"Kernel time of {letter}", ns, fmt.duration(ns)) for letter, ns in zip("AB", sums, strict=True)]
        figure = charts.plot_waterfall(parts, ends[0], ends[1], theme.get_theme())
    chart_element.draw_chart(figure, "compare-waterfall")


def _list_parts(rows: pd.DataFrame, column: str) -> list[Part]:
    words = sentences.format_points if column == "share_change_points" else format_difference
    colors, titles = theme.get_class_colors(), theme.get_class_titles()
    parts = [
        Part(
            row["name"],
            float(row[column]),
            words(row[column]),
            f"{sentences.explain_change(row)}; {titles.get(row['class'], row['class'])}",
            colors.get(row["class"], NEUTRAL[theme.get_theme()]),
        )
        for _, row in rows.head(SHOWN).iterrows()
    ]
    rest = rows.iloc[SHOWN:]
    if len(rest):
        size = float(rest[column].sum())
        noun = "other" if len(rest) == 1 else "others"
        title = f"{fmt.count(len(rest))} {noun}"
        parts.append(Part(title, size, words(size), "together", NEUTRAL[theme.get_theme()]))
    return parts
