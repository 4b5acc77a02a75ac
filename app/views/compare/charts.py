"""Plotly figures of the Compare page: the contributions to a difference, and two distributions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, NEUTRAL, Theme, apply_frame, choose_ticks, fade_color, round_duration
from app.ui.figure_cache import cache_figure

_LINK = {"light": "rgba(49, 51, 63, 0.35)", "dark": "rgba(250, 250, 250, 0.35)"}
_ROW_PX = 24
_NAME = 36
_NAMES_PX = 244
_WORDS_PX = 96
_BINS = 60
_LEAST_NS = 32.0
_LOG_FROM = 20


@dataclass(frozen=True)
class Part:
    """A contribution: title (untrusted), signed size, size as text, extra hover text, color as ``#RRGGBB``."""

    title: str
    size: float
    words: str
    detail: str
    color: str


@dataclass(frozen=True)
class End:
    """The start or end of a waterfall: title (trusted), value, value as text."""

    title: str
    value: float
    words: str


@cache_figure
def plot_waterfall(parts: Sequence[Part], first: End, last: End, theme: Theme) -> go.Figure:
    """Draw the contributions that lead from one value to another (ns), on an axis that starts at the first value.

    On an axis from 0, a difference of 1 % would be too small to see.
    """
    reached = [0.0, *(float(total) for total in np.cumsum([part.size for part in parts]))]
    rows = [first.title, *(part.title for part in parts), last.title]
    figure = go.Figure()
    for number, place in enumerate(reached):
        figure.add_shape(
            type="line", x0=place, x1=place, y0=number, y1=number + 1, line={"width": 1, "color": _LINK[theme]}
        )
    _draw_bars(figure, parts, reached[:-1])
    for row, place, end in ((0, 0.0, first), (len(rows) - 1, last.value - first.value, last)):
        figure.add_scatter(
            x=[place],
            y=[row],
            mode="markers",
            marker={"symbol": "diamond", "size": 10, "color": ACCENT[theme]},
            hovertemplate=f"<b>{fmt.escape_plotly(end.title)}</b> {fmt.escape_plotly(end.words)}<extra></extra>",
        )
        _label_bar(figure, place, row, f"<b>{fmt.escape_plotly(end.words)}</b>")
    low, high = min(reached), max(reached)
    _lay_out_rows(figure, rows, low, high, theme)
    unit, size = fmt.unit_for(max(abs(low), abs(high)), fmt.DURATION_UNITS)
    ticks = choose_ticks(low, high, log=False, most=5)
    figure.update_xaxes(
        tickvals=ticks,
        ticktext=[_format_change(tick / size) for tick in ticks],
        title_text=f"Change from A ({unit})",
        showgrid=False,
    )
    return figure


def _format_change(amount: float) -> str:
    """Format a signed tick; a value that differs from zero only by floating-point error becomes 0."""
    return "0" if abs(amount) < 1e-9 else f"{'+' if amount > 0 else '−'}{abs(amount):,g}"


@cache_figure
def plot_differences(parts: Sequence[Part], title: str, theme: Theme) -> go.Figure:
    """Draw contributions that add up to zero, such as changes of shares, each as a bar from 0."""
    figure = go.Figure()
    _draw_bars(figure, parts, [0.0] * len(parts), first_row=0)
    figure.add_vline(x=0, line={"width": 1, "color": _LINK[theme]})
    sizes = [part.size for part in parts]
    _lay_out_rows(figure, [part.title for part in parts], min([0.0, *sizes]), max([0.0, *sizes]), theme)
    figure.update_xaxes(title_text=title, nticks=6)
    return figure


def _draw_bars(figure: go.Figure, parts: Sequence[Part], begins: Sequence[float], first_row: int = 1) -> None:
    rows = list(range(first_row, first_row + len(parts)))
    figure.add_bar(
        x=[part.size for part in parts],
        base=list(begins),
        y=rows,
        orientation="h",
        width=0.62,
        marker={"color": [part.color for part in parts], "line": {"width": 0}},
        customdata=[
            f"<b>{fmt.escape_plotly(part.title)}</b><br>{fmt.escape_plotly(part.words)}<br>{fmt.escape_plotly(part.detail)}"
            for part in parts
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )
    for row, begin, part in zip(rows, begins, parts, strict=True):
        _label_bar(figure, max(begin, begin + part.size), row, fmt.escape_plotly(part.words))


def _label_bar(figure: go.Figure, x: float, row: int, text: str) -> None:
    """Put text on the right of a bar in either direction: on the left it would run into the names on a narrow chart."""
    figure.add_annotation(
        x=x,
        y=row,
        text=text,
        showarrow=False,
        xanchor="left",
        xshift=8,
        font={"size": FONT_PX},
    )


def _lay_out_rows(figure: go.Figure, titles: Sequence[str], low: float, high: float, theme: Theme) -> None:
    """Lay out horizontal bars, with margins for the names on the left and the values on the right."""
    span = (high - low) or abs(high) or 1.0
    apply_frame(figure, theme, height=_ROW_PX * len(titles) + 52, left=_NAMES_PX, right=_WORDS_PX, top=4, bottom=44)
    figure.update_xaxes(range=[low - 0.04 * span, high + 0.02 * span])
    figure.update_yaxes(
        range=[len(titles) - 0.4, -0.6],
        tickvals=list(range(len(titles))),
        ticktext=[fmt.escape_plotly(fmt.shortened(title, _NAME)) for title in titles],
        showgrid=False,
    )


@cache_figure
def plot_distributions(a: "pd.Series[float]", b: "pd.Series[float]", theme: Theme) -> go.Figure:
    """Plot the durations (ns) of two samples over common bins, each as a share of its own sample."""
    whole = np.concatenate([a.to_numpy(dtype=float), b.to_numpy(dtype=float)])
    low, high = max(float(whole.min()), 1.0), max(float(whole.max()), 1.0)
    log = high > _LOG_FROM * low
    edges = _compute_edges(low, high, log=log)
    figure = go.Figure()
    marks = (("A", a, NEUTRAL[theme], 0.0), ("B", b, ACCENT[theme], 0.22))
    for name, values, color, opacity in marks:
        counts, _ = np.histogram(np.clip(values.to_numpy(dtype=float), edges[0], edges[-1]), bins=edges)
        shares = 100 * counts / max(len(values), 1)
        figure.add_scatter(
            x=np.log10(edges) if log else edges,
            y=[*shares, shares[-1]],
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": color},
            fill="tozeroy" if opacity else "none",
            fillcolor=fade_color(color, opacity),
            name=name,
            text=[
                f"{name}: <b>{fmt.percent(share)}</b> from {fmt.duration(edge)}"
                for share, edge in zip([*shares, shares[-1]], edges, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    apply_frame(figure, theme, height=240, left=52, top=24, bottom=40)
    ticks = choose_ticks(float(edges[0]), float(edges[-1]), log=log)
    places = np.log10(ticks) if log else ticks
    figure.update_xaxes(
        tickvals=list(places),
        ticktext=[round_duration(ns) for ns in ticks],
        title_text="Duration, logarithmic" if log else "Duration",
    )
    figure.update_yaxes(title_text="Launches (%)", rangemode="tozero")
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.14, "font": {"size": FONT_PX}}
    )
    return figure


def _compute_edges(low: float, high: float, *, log: bool) -> "np.ndarray":
    """Return bin edges; linear bins are never narrower than the timer resolution of many GPUs."""
    if log:
        return np.geomspace(low, high * 1.0001, _BINS + 1)
    bins = int(max(1, min(_BINS, (high - low) // _LEAST_NS)))
    return np.linspace(low, max(high, low + _LEAST_NS), bins + 1)
