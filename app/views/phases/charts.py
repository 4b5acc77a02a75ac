"""Plotly figures of the Phases page: kernel time by class, one stacked bar per phase (and report)."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import FONT_PX, Theme, apply_frame, choose_readable
from app.ui.figure_cache import cache_figure

_BAR_PX = 30
_LABEL_PCT = 7.0


@dataclass(frozen=True)
class Piece:
    """One class's part of a bar: value in axis units, share of the bar in percent, and hover text (escaped)."""

    name: str
    value: float
    share_pct: float
    hover: str


@dataclass(frozen=True)
class Bar:
    """A bar: its phase, its report (untrusted; "" if there is only one), and its pieces."""

    phase: str
    side: str
    pieces: Sequence[Piece]


@cache_figure
def plot_class_bars(
    bars: Sequence[Bar], titles: dict[str, str], colors: dict[str, str], unit: str, theme: Theme
) -> go.Figure:
    """Plot horizontal stacked bars from top to bottom, with the classes in the order and colors given.

    The page draws the legend itself, because Plotly's would take space from the bars in a narrow window.
    """
    figure = go.Figure()
    two = any(bar.side for bar in bars)
    phases, sides = ([fmt.escape_plotly(getattr(bar, name)) for bar in bars] for name in ("phase", "side"))
    room = _LABEL_PCT / 100 * max(sum(piece.value for piece in bar.pieces) for bar in bars)
    for name in list_classes(bars, titles):
        pieces = [next((p for p in bar.pieces if p.name == name), None) for bar in bars]
        color = colors.get(name, colors["other"])
        figure.add_bar(
            x=[p.value if p else 0 for p in pieces],
            y=[phases, sides] if two else phases,
            orientation="h",
            name=fmt.escape_plotly(titles.get(name, name)),
            marker={"color": color, "line": {"width": 0}},
            text=[f"{p.share_pct:.0f} %" if p and p.value >= room else "" for p in pieces],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"color": choose_readable(color), "size": FONT_PX},
            hovertext=[p.hover if p else "" for p in pieces],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    _lay_out_figure(figure, bars, unit, theme, two=two)
    return figure


def list_classes(bars: Sequence[Bar], titles: dict[str, str]) -> list[str]:
    """Return the classes that the bars contain, in stacking order."""
    present = {piece.name for bar in bars for piece in bar.pieces}
    return [*(name for name in titles if name in present), *sorted(present - set(titles))]


def _lay_out_figure(figure: go.Figure, bars: Sequence[Bar], unit: str, theme: Theme, *, two: bool) -> None:
    longest = max(len(bar.phase) for bar in bars)
    left = 14 + 7 * longest + (16 + 7 * max(len(bar.side) for bar in bars) if two else 0)
    apply_frame(figure, theme, height=_BAR_PX * len(bars) + 34, left=left, right=24, top=2, bottom=32)
    figure.update_layout(barmode="stack", bargap=0.2, hovermode="closest")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    if unit == "%":
        marks = [0, 25, 50, 75, 100]
        figure.update_xaxes(range=[0, 100], tickvals=marks, ticktext=[f"{mark} %" for mark in marks])
    else:
        figure.update_xaxes(ticksuffix=f" {unit}", nticks=6, rangemode="tozero")
