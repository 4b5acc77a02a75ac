"""A tree as boxes that are as wide as what they stand for: ranges with their time, functions with their samples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GROUND, Theme, channels, frame, readable_on
from app.ui.figure_cache import kept

ROW_PX = 26
LEAST_SHARE = 0.0008
"""Of the whole: below it a box of a tree would be no wider than its edge."""
DEEPEST = 40
"""Levels of a tree that are drawn: recursion goes on for hundreds."""
READABLE = 0.01
"""Of the whole: levels below the last box of such a width are slivers in an empty space, and are left out."""
_ROOT = {"light": "#dfe3e8", "dark": "#2d343e"}


@dataclass(frozen=True)
class Node:
    """A node of the icicle: its number, that of the node around it ("" for the root), its name (untrusted), what it
    has besides the nodes inside it, what hovering says (escaped lines), and how deep it stands.
    """

    id: str
    parent: str
    name: str
    own: float
    hover: str
    level: int


@kept
def icicle(nodes: Sequence[Node], theme: Theme) -> go.Figure:
    """The tree as boxes that are as wide as their time, the root on top."""
    deepest = max(node.level for node in nodes)
    colors = [_ROOT[theme] if node.level == 0 else _ramp(node.level, deepest, theme) for node in nodes]
    figure = go.Figure(
        go.Icicle(
            ids=[node.id for node in nodes],
            parents=[node.parent for node in nodes],
            labels=[fmt.plotly_text(node.name) for node in nodes],
            values=[node.own for node in nodes],
            branchvalues="remainder",
            customdata=[node.hover for node in nodes],
            hovertemplate="%{customdata}<extra></extra>",
            marker={"colors": colors, "line": {"width": 1, "color": GROUND[theme]}},
            textfont={"size": FONT_PX, "color": [readable_on(color) for color in colors]},
            textposition="middle left",
            tiling={"orientation": "v", "pad": 0},
            pathbar={"visible": False},
            leaf={"opacity": 1},
            sort=False,
        )
    )
    frame(figure, theme, height=ROW_PX * (deepest + 1), left=0, right=0, top=0, bottom=0)
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"}, hovermode="closest")
    return figure


def tree(rows: pd.DataFrame, amount: str, root: Node, words: Callable[[Mapping[Any, Any]], str]) -> list[Node]:
    """The boxes of rows that are a tree of functions, each after the one around it; the small ones stay empty space.

    Args:
        rows: ``node_id``, ``parent_id`` (missing for the outermost), ``level`` from 0, ``function``, and the amount.
        amount: the column that says how wide a box is, with all inside it.
        root: the box around all; its ``own`` is the amount of the whole.
        words: what hovering over a row says, escaped.
    """
    whole = root.own
    wide = rows[(rows[amount] >= LEAST_SHARE * whole) & (rows["level"] < DEEPEST)]
    last = wide.loc[wide[amount] >= READABLE * whole, "level"].max()
    wide = wide[wide["level"] <= (0 if pd.isna(last) else last)]
    inside = wide.groupby("parent_id")[amount].sum()
    found = [replace(root, own=float(whole - wide.loc[wide["level"] == 0, amount].sum()))]
    for row in wide.sort_values(["level", "node_id"]).to_dict("records"):
        parent = root.id if pd.isna(row["parent_id"]) else str(int(row["parent_id"]))
        own = float(row[amount] - inside.get(row["node_id"], 0))
        name = fmt.visible(row["function"])
        found.append(Node(str(row["node_id"]), parent, name, own, words(row), int(row["level"]) + 1))
    return found


def _ramp(level: int, deepest: int, theme: Theme) -> str:
    """The accent, the paler the deeper."""
    share = 0.85 - 0.6 * (level - 1) / max(deepest - 1, 1)
    pairs = zip(channels(ACCENT[theme]), channels(GROUND[theme]), strict=True)
    return "#" + "".join(f"{round(share * high + (1 - share) * low):02X}" for high, low in pairs)
