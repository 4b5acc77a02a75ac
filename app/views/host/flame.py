"""Call chains of CPU samples as an inverted flame graph: threads on top, callees below."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, icicle, theme
from app.ui import format as fmt
from app.ui.icicle import Node

_ROOT = "all"


def draw_flame(rows: pd.DataFrame, kind: str, *, idle: bool) -> None:
    """Draw the flame graph of ``cpu_tree`` (at least one row); ``kind`` is the display name of the samples."""
    drawn = build_boxes(rows)
    chart_element.draw_chart(icicle.plot_icicle(drawn, theme.get_theme()), "flame")
    whole = count_samples(rows)
    when = " taken while the GPU was idle" if idle else ""
    levels = max(node.level for node in drawn)
    cut = f" The outermost {fmt.counted(levels, 'level')} are drawn." if int(rows["level"].max()) >= levels else ""
    how = "They are taken in equal intervals." if kind.startswith("Python") else (
        "Only a running thread is sampled: what a thread waits for is in the table of threads."
    )  # fmt: skip
    st.caption(
        f"{fmt.count(whole)} {kind}{when}. Width: share of them. {how}{cut} Click a box to zoom in, the top bar to zoom"
        " out."
    )


def count_samples(rows: pd.DataFrame) -> int:
    """Return the number of all samples behind the rows of ``cpu_tree``, including those that were cut off."""
    top = rows.iloc[0]
    return round(100 * float(top["samples"]) / float(top["share_pct"]))


def build_boxes(rows: pd.DataFrame) -> list[Node]:
    """Return the boxes, parents first; boxes that are too small stay empty space."""
    whole, title = count_samples(rows), "All samples"
    return icicle.build_tree(
        rows, "samples", Node(_ROOT, "", title, float(whole), f"<b>{title}</b><br>{fmt.count(whole)}", 0), _format_hover
    )


def _format_hover(row: Mapping[Any, Any]) -> str:
    lines = [f"<b>{fmt.escape_plotly(fmt.shortened(str(row['function']), 100))}</b>"]
    if not pd.isna(row["module"]):
        lines.append(fmt.escape_plotly(fmt.shortened(str(row["module"]), 60)))
    lines.append(f"{fmt.percent(row['share_pct'])} of the samples, {fmt.count(row['samples'])}")
    lines.append(f"{fmt.count(row['self_samples'])} in itself")
    return "<br>".join(lines)
