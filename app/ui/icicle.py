"""A tree as boxes that are as wide as what they stand for: ranges with their time, functions with their samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GROUND, Theme, channels, frame, readable_on
from app.ui.kept import kept

ROW_PX = 26
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


def _ramp(level: int, deepest: int, theme: Theme) -> str:
    """The accent, the paler the deeper."""
    share = 0.85 - 0.6 * (level - 1) / max(deepest - 1, 1)
    pairs = zip(channels(ACCENT[theme]), channels(GROUND[theme]), strict=True)
    return "#" + "".join(f"{round(share * high + (1 - share) * low):02X}" for high, low in pairs)
