"""The call chains of CPU samples as a flame graph that hangs down: threads on top, what they call below."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import draw, icicle, theme
from app.ui import format as fmt
from app.ui.icicle import Node

LEAST_SHARE = 0.0008
"""Of all samples: below it a box would be no wider than its edge."""
DEEPEST = 40
"""Levels that are drawn: recursion goes on for hundreds."""
READABLE = 0.01
"""Of all samples: levels below the last box of such a width are slivers in an empty space, and are left out."""
_ROOT = "all"


def show(rows: pd.DataFrame, kind: str, *, idle: bool) -> None:
    """Draws it; ``rows`` are those of ``cpu_tree``, at least one, ``kind`` is what people call these samples."""
    drawn = nodes(rows)
    draw.chart(icicle.icicle(drawn, theme.theme()), "flame")
    whole = samples(rows)
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


def samples(rows: pd.DataFrame) -> int:
    """All samples of which ``cpu_tree`` answered the rows, also those of which it had no room for."""
    top = rows.iloc[0]
    return round(100 * float(top["samples"]) / float(top["share_pct"]))


def nodes(rows: pd.DataFrame) -> list[Node]:
    """The boxes, each after the one around it; what is too small stays empty space below it."""
    whole = samples(rows)
    wide = rows[(rows["samples"] >= LEAST_SHARE * whole) & (rows["level"] < DEEPEST)]
    last = wide.loc[wide["samples"] >= READABLE * whole, "level"].max()
    wide = wide[wide["level"] <= (0 if pd.isna(last) else last)]
    inside = wide.groupby("parent_id")["samples"].sum()
    top = int(wide.loc[wide["level"] == 0, "samples"].sum())
    title = "All samples"
    found = [Node(_ROOT, "", title, float(whole - top), f"<b>{title}</b><br>{fmt.count(whole)}", 0)]
    for row in wide.sort_values(["level", "node_id"]).to_dict("records"):
        parent = _ROOT if pd.isna(row["parent_id"]) else str(int(row["parent_id"]))
        own = float(row["samples"] - inside.get(row["node_id"], 0))
        name = fmt.visible(row["function"])
        found.append(Node(str(row["node_id"]), parent, name, own, _words(row), int(row["level"]) + 1))
    return found


def _words(row: Mapping[Any, Any]) -> str:
    lines = [f"<b>{fmt.plotly_text(fmt.shortened(str(row['function']), 100))}</b>"]
    if not pd.isna(row["module"]):
        lines.append(fmt.plotly_text(fmt.shortened(str(row["module"]), 60)))
    lines.append(f"{fmt.percent(row['share_pct'])} of the samples, {fmt.count(row['samples'])}")
    lines.append(f"{fmt.count(row['self_samples'])} in itself")
    return "<br>".join(lines)
