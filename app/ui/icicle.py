"""An icicle chart: a tree of boxes whose widths are amounts, such as the time of ranges or the samples of functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GROUND, Theme, apply_frame, choose_readable, parse_channels
from app.ui.figure_cache import cache_figure

ROW_PX = 26
LEAST_SHARE = 0.0008
"""Share of the root below which a box would be no wider than its border."""
DEEPEST = 40
"""Maximum number of levels; recursion can be hundreds deep."""
READABLE = 0.01
"""Share of the root; levels below the last box of at least this width are only slivers, and are dropped."""
_ROOT = {"light": "#dfe3e8", "dark": "#2d343e"}


@dataclass(frozen=True)
class Node:
    """A box of the icicle.

    ``parent`` is the id of the enclosing box ("" for the root), ``name`` is untrusted, ``own`` is the amount without
    nested boxes, ``hover`` has escaped lines, ``level`` is the depth.
    """

    id: str
    parent: str
    name: str
    own: float
    hover: str
    level: int


@cache_figure
def plot_icicle(nodes: Sequence[Node], theme: Theme) -> go.Figure:
    """Draw the tree, root on top."""
    deepest = max(node.level for node in nodes)
    colors = [_ROOT[theme] if node.level == 0 else _fade_accent(node.level, deepest, theme) for node in nodes]
    figure = go.Figure(
        go.Icicle(
            ids=[node.id for node in nodes],
            parents=[node.parent for node in nodes],
            labels=[fmt.escape_plotly(node.name) for node in nodes],
            values=[node.own for node in nodes],
            branchvalues="remainder",
            customdata=[node.hover for node in nodes],
            hovertemplate="%{customdata}<extra></extra>",
            marker={"colors": colors, "line": {"width": 1, "color": GROUND[theme]}},
            textfont={"size": FONT_PX, "color": [choose_readable(color) for color in colors]},
            textposition="middle left",
            tiling={"orientation": "v", "pad": 0},
            pathbar={"visible": False},
            leaf={"opacity": 1},
            sort=False,
        )
    )
    apply_frame(figure, theme, height=ROW_PX * (deepest + 1), left=0, right=0, top=0, bottom=0)
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"}, hovermode="closest")
    return figure


def build_tree(rows: pd.DataFrame, amount: str, root: Node, words: Callable[[Mapping[Any, Any]], str]) -> list[Node]:
    """Build the boxes of a function tree, parents first; boxes that are too small stay empty space.

    Args:
        rows: ``node_id``, ``parent_id`` (missing for the outermost), ``level`` from 0, ``function``, and the amount.
        amount: the column that sets the width of a box, nested boxes included.
        root: the enclosing box; its ``own`` is the total amount.
        words: builds the escaped hover text of a row.
    """
    whole = root.own
    wide = rows[(rows[amount] >= LEAST_SHARE * whole) & (rows["level"] < DEEPEST)]
    last = wide.loc[wide[amount] >= READABLE * whole, "level"].max()
    wide = wide[wide["level"] <= (0 if pd.isna(last) else last)]
    inside = wide.groupby("parent_id")[amount].sum()
    nodes = [replace(root, own=float(whole - wide.loc[wide["level"] == 0, amount].sum()))]
    for row in wide.sort_values(["level", "node_id"]).to_dict("records"):
        parent = root.id if pd.isna(row["parent_id"]) else str(int(row["parent_id"]))
        own = float(row[amount] - inside.get(row["node_id"], 0))
        name = fmt.visible(row["function"])
        nodes.append(Node(str(row["node_id"]), parent, name, own, words(row), int(row["level"]) + 1))
    return nodes


def _fade_accent(level: int, deepest: int, theme: Theme) -> str:
    """Return the accent color, paler with each level."""
    share = 0.85 - 0.6 * (level - 1) / max(deepest - 1, 1)
    pairs = zip(parse_channels(ACCENT[theme]), parse_channels(GROUND[theme]), strict=True)
    return "#" + "".join(f"{round(share * high + (1 - share) * low):02X}" for high, low in pairs)
