"""Stacks that hold memory at the peak, as an inverted flame graph with the outermost functions on top."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, icicle, theme
from app.ui import format as fmt
from app.ui.icicle import Node

_ROOT = "all"


def draw_stacks(rows: pd.DataFrame) -> None:
    """Draw the flame graph of one device's ``tensor_tree`` rows."""
    if rows.empty:
        return
    drawn = build_boxes(rows)
    chart_element.draw_chart(icicle.plot_icicle(drawn, theme.get_theme()), "tensor-stacks")
    st.caption("Width: what the allocations of a function hold. Click a box to zoom in, the top bar to zoom out.")


def build_boxes(rows: pd.DataFrame) -> list[Node]:
    """Return the boxes, parents first. Memory allocated before the first event is the unfilled part of the root."""
    top = rows.iloc[0]
    whole = 100 * float(top["bytes"]) / float(top["share_pct"])
    root = Node(_ROOT, "", "Peak", whole, f"<b>Peak</b><br>{fmt.bytes_(whole)}", 0)
    return icicle.build_tree(rows, "bytes", root, _format_hover)


def _format_hover(row: Mapping[Any, Any]) -> str:
    return "<br>".join(
        (
            f"<b>{fmt.escape_plotly(fmt.shortened(str(row['function']), 100))}</b>",
            f"{fmt.bytes_(row['bytes'])}, {fmt.percent(row['share_pct'])} of the peak",
            f"{fmt.counted(row['tensors'], 'tensor')}, {fmt.bytes_(row['self_bytes'])} in itself",
        )
    )
