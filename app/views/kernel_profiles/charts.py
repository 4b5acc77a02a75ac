"""Plotly figures of the Kernel profiles page: percentage bars and occupancy what-if curves."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, MARK, NEUTRAL, Theme, apply_frame, fade_color
from app.ui.figure_cache import cache_figure

ROW_PX = 24
_LETTER_PX = 6.3
_LABEL = 34
"""Longest label in characters; the hover text shows the full label."""
_CURVE_TOP = 128
"""Top of the occupancy axis in percent; the space above 100 % holds the annotation."""


@dataclass(frozen=True)
class Bar:
    """One bar: its title (untrusted), value in percent, and text. ``quiet`` draws it in a neutral color."""

    title: str
    value: float
    text: str
    quiet: bool = False


@cache_figure
def plot_bars(rows: Sequence[Bar], theme: Theme, *, whole: bool = True, ticks: Sequence[float] = ()) -> go.Figure:
    """Plot horizontal bars in the given order, the first on top.

    ``whole`` extends the axis to 100 %; otherwise it ends at the largest value. ``ticks`` are percentages to label.
    """
    top = max(100.0 if whole else 0.0, max((row.value for row in rows), default=0.0)) or 1.0
    figure = go.Figure(
        go.Bar(
            x=[row.value for row in rows],
            y=list(range(len(rows))),
            orientation="h",
            marker={"color": [NEUTRAL[theme] if row.quiet else ACCENT[theme] for row in rows], "line": {"width": 0}},
            text=[fmt.escape_plotly(row.text) for row in rows],
            textposition="outside",
            cliponaxis=False,
            customdata=[fmt.escape_plotly(row.title) for row in rows],
            hovertemplate="<b>%{customdata}</b><br>%{text}<extra></extra>",
        )
    )
    labels = [fmt.shortened(row.title, _LABEL) for row in rows]
    longest = max(map(len, labels), default=0)
    words = max((len(row.text) for row in rows), default=0)
    apply_frame(
        figure,
        theme,
        height=ROW_PX * len(rows) + (26 if ticks else 8),
        left=round(longest * _LETTER_PX) + 14,
        right=round(words * _LETTER_PX) + 8,
        top=2,
        bottom=22 if ticks else 4,
    )
    figure.update_layout(bargap=0.35, hovermode="closest")
    figure.update_xaxes(
        range=[0, top],
        visible=bool(ticks),
        tickvals=list(ticks),
        ticktext=[f"{tick:g} %" for tick in ticks],
        showgrid=bool(ticks),
    )
    figure.update_yaxes(
        autorange="reversed",
        tickvals=list(range(len(rows))),
        ticktext=[fmt.escape_plotly(label) for label in labels],
        showgrid=False,
    )
    return figure


@cache_figure
def plot_curve(points: pd.DataFrame, title: str, label: str, theme: Theme, *, size: float = 1.0) -> go.Figure:
    """Plot theoretical occupancy against one launch property (``ncu_occupancy_curve``) and mark the launch's own value.

    ``title`` names the axis, ``label`` annotates the mark, and ``size`` is the value of one axis unit.
    """
    x, y = points["x"].astype(float) / size, points["occupancy_pct"].astype(float)
    figure = go.Figure(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": ACCENT[theme]},
            fill="tozeroy",
            fillcolor=fade_color(ACCENT[theme], 0.16),
            hovertemplate="%{x:,.5~g}: %{y:.1f} %<extra></extra>",
        )
    )
    for place in points.index[points["is_current"].astype(bool)]:
        figure.add_scatter(
            x=[x[place]],
            y=[y[place]],
            mode="markers",
            marker={"size": 9, "color": MARK[theme]},
            hovertemplate=f"{fmt.escape_plotly(label)}: %{{y:.1f}} %<extra></extra>",
        )
        right = x[place] > x.max() * 0.55
        figure.add_annotation(
            x=x[place],
            y=_CURVE_TOP,  # above every curve, because beside the point it could cross one
            text=f"{fmt.escape_plotly(label)}, {fmt.percent(y[place])}",
            showarrow=False,
            xanchor="right" if right else "left",
            yanchor="top",
            xshift=5 if right else -5,
            font={"size": FONT_PX, "color": MARK[theme]},
        )
    apply_frame(figure, theme, height=170, left=40, right=10, top=8, bottom=38)
    figure.update_layout(hovermode="x")
    figure.update_xaxes(title_text=fmt.escape_plotly(title), range=[0, float(x.max())], nticks=6)
    figure.update_yaxes(range=[0, _CURVE_TOP], tickvals=[0, 50, 100], ticktext=["0", "50", "100 %"])
    return figure
