"""Plotly figures from rows: no Streamlit, no SQL.

Frames are results of analyses, with their column names. Figures are transparent and leave fonts and text colors to
the page's theme. Every text from a report passes ``format.escape_plotly``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.figure_cache import cache_figure
from profiledb.rules import colors

Theme = Literal["light", "dark"]
ACCENT = {"light": "#2F5FD0", "dark": "#6B97F0"}
"""Color of charts that need only one: the theme's accent (primaryColor in config.toml)."""
MARK = {"light": "#B3261E", "dark": "#FF8A80"}
"""Color of lines that mark a value."""
GRAY = {"light": "#5F6670", "dark": "#A9B0BB"}
"""Color of secondary lines and text."""
NEUTRAL = {"light": colors.NEUTRAL.light, "dark": colors.NEUTRAL.dark}
"""Color of secondary bars and boxes."""
GROUND: dict[Theme, str] = {"light": colors.GROUND.light, "dark": colors.GROUND.dark}
"""Background of the page, as in config.toml."""
FONT_PX = 12
TEXT = {"light": "rgba(49, 51, 63, 0.85)", "dark": "rgba(250, 250, 250, 0.85)"}
_MUTED = {"light": "rgba(49, 51, 63, 0.14)", "dark": "rgba(250, 250, 250, 0.16)"}
_LABEL_SHARE_PCT = 7.0
STEP_PX = 16
"""Height of a small bar with its gap."""


@dataclass(frozen=True)
class Part:
    """A part of a whole: title (untrusted), share in percent, extra hover text, color as ``#RRGGBB``."""

    title: str
    share_pct: float
    detail: str
    color: str


@cache_figure
def share_bar(parts: Sequence[Part], theme: Theme) -> go.Figure:
    """Draw one horizontal bar cut into shares; parts that are wide enough carry their title."""
    figure = go.Figure()
    for part in parts:
        title, share = fmt.escape_plotly(part.title), fmt.percent(part.share_pct)
        figure.add_bar(
            x=[part.share_pct],
            y=[""],
            orientation="h",
            name=title,
            marker={"color": part.color, "line": {"width": 0}},
            text=f"{title} {share}" if part.share_pct >= max(_LABEL_SHARE_PCT, 0.9 * len(title)) else "",
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": choose_readable(part.color)},
            hovertemplate=f"<b>{title}</b><br>{share}<br>{fmt.escape_plotly(part.detail)}<extra></extra>",
        )
    whole = sum(part.share_pct for part in parts)
    apply_frame(figure, theme, height=34, left=0, right=0, top=0, bottom=0)
    figure.update_layout(barmode="stack", bargap=0, hovermode="closest", uniformtext={"minsize": 11, "mode": "hide"})
    figure.update_xaxes(visible=False, range=[0, whole or 1])
    figure.update_yaxes(visible=False)
    return figure


@cache_figure
def share_bars(bars: Sequence[tuple[str, Sequence[Part]]], theme: Theme) -> go.Figure:
    """Draw small bars below each other, each cut into shares and named at its left; titles are untrusted."""
    figure = go.Figure()
    titles = dict.fromkeys(part.title for _, parts in bars for part in parts)
    for title in titles:
        parts = [(place, part) for place, (_, those) in enumerate(bars) for part in those if part.title == title]
        figure.add_bar(
            x=[part.share_pct for _, part in parts], y=[place for place, _ in parts], orientation="h",
            name=fmt.escape_plotly(title), marker={"color": parts[0][1].color, "line": {"width": 0}},
            customdata=[f"{fmt.percent(part.share_pct)}, {fmt.escape_plotly(part.detail)}" for _, part in parts],
            hovertemplate=f"<b>{fmt.escape_plotly(title)}</b><br>%{{customdata}}<extra></extra>",
        )  # fmt: skip
    apply_frame(figure, theme, height=STEP_PX * len(bars), left=90, right=0, top=0, bottom=0)
    figure.update_layout(barmode="stack", bargap=0.25, hovermode="closest", showlegend=False)
    figure.update_xaxes(visible=False, range=[0, 100])
    named = [fmt.escape_plotly(fmt.shortened(name, 14)) for name, _ in bars]
    figure.update_yaxes(autorange="reversed", tickvals=list(range(len(bars))), ticktext=named, showgrid=False)
    return figure


@dataclass(frozen=True)
class Stretch:
    """A colored stretch of time on a lane, in ns."""

    begin_ns: int
    end_ns: int
    title: str
    color: str


@cache_figure
def plot_lanes(rows: Sequence[tuple[str, Sequence[Stretch]]], length_ns: int, theme: Theme) -> go.Figure:
    """Draw lanes below each other on one axis of time, each named at its left; titles are untrusted."""
    unit, size = fmt.unit_for(length_ns, fmt.DURATION_UNITS)
    figure = go.Figure()
    every = [(place, one) for place, (_, stretches) in enumerate(rows) for one in stretches]
    figure.add_bar(
        base=[one.begin_ns / size for _, one in every], x=[(one.end_ns - one.begin_ns) / size for _, one in every],
        y=[place for place, _ in every], orientation="h",
        marker={"color": [one.color for _, one in every], "line": {"width": 0}},
        customdata=[f"{fmt.escape_plotly(one.title)}, {fmt.duration(one.end_ns - one.begin_ns)}" for _, one in every],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    apply_frame(figure, theme, height=STEP_PX * len(rows) + 26, left=90, right=0, top=0, bottom=26)
    figure.update_layout(barmode="overlay", bargap=0.25, hovermode="closest", showlegend=False)
    figure.update_xaxes(range=[0, length_ns / size], ticksuffix=f" {unit}", nticks=8)
    named = [fmt.escape_plotly(name) for name, _ in rows]
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5], tickvals=list(range(len(rows))), ticktext=named, showgrid=False)
    return figure


NS_PER_X = "ns_per_x"
"""Key in ``layout.meta`` for the length of one x axis unit in ns, in figures over capture time."""


@cache_figure
def plot_busy(rows: pd.DataFrame, theme: Theme) -> go.Figure:
    """Plot how busy one GPU was over the selected time (rows of ``busy_timeline``)."""
    unit, size = fmt.unit_for(_find_top(rows["end_ns"]), fmt.DURATION_UNITS)
    hover = [
        f"{fmt.duration(row.start_ns)} to {fmt.duration(row.end_ns)}<br><b>{fmt.percent(row.busy_pct)}</b> busy"
        for row in rows.itertuples()
    ]
    middle = (rows["start_ns"] + rows["end_ns"]) / 2 / size
    figure = go.Figure(
        go.Scatter(
            x=middle.astype(float),
            y=rows["busy_pct"].astype(float),
            mode="lines",
            line={"shape": "hvh", "width": 1, "color": ACCENT[theme]},
            fill="tozeroy",
            fillcolor=fade_color(ACCENT[theme], 0.35),
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    apply_frame(figure, theme, height=84, left=40, top=6, bottom=22)
    figure.update_layout(hovermode="x", meta={NS_PER_X: size})
    figure.update_xaxes(
        range=[float(rows["start_ns"].min()) / size, _find_top(rows["end_ns"]) / size], ticksuffix=f" {unit}", nticks=8
    )
    figure.update_yaxes(range=[0, 105], tickvals=[0, 50, 100], ticktext=["0", "50", "100 %"])
    return figure


@cache_figure
def plot_histogram(bins: pd.DataFrame, marks: Sequence[tuple[str, float]], theme: Theme) -> go.Figure:
    """Plot durations by bin (``kernel_histogram``), with marked durations such as ("median", 1200.0) in ns.

    A logarithmic scale uses a linear axis of logarithms: only there does the width of a bar match its bin.
    """
    log = bins["scale"].iloc[0] == "log"
    low, high = (
        bins["low_ns"].map(lambda ns: _place_tick(ns, log)),
        bins["high_ns"].map(lambda ns: _place_tick(ns, log)),
    )
    hover = [
        f"{fmt.duration(row.low_ns)} to {fmt.duration(row.high_ns)}<br><b>{fmt.counted(row.launches, 'launch')}</b>,"
        f" {fmt.duration(row.total_ns)}"
        for row in bins.itertuples()
    ]
    figure = go.Figure(
        go.Bar(
            x=((low + high) / 2).astype(float),
            y=bins["launches"].astype(float),
            width=(high - low).astype(float),
            marker={"color": ACCENT[theme], "line": {"width": 0}},
            text=hover,
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    )
    ticks = choose_ticks(float(bins["low_ns"].iloc[0]), float(bins["high_ns"].iloc[-1]), log=log)
    apply_frame(figure, theme, height=280, left=52, top=26, bottom=40)
    figure.update_layout(bargap=0.04)
    figure.update_xaxes(
        tickvals=[_place_tick(ns, log) for ns in ticks],
        ticktext=[round_duration(ns) for ns in ticks],
        title_text="Duration, logarithmic" if log else "Duration",
    )
    figure.update_yaxes(title_text="Launches", rangemode="tozero")
    _add_marks(figure, [(name, _place_tick(ns, log), fmt.duration(ns)) for name, ns in marks], theme)
    return figure


@cache_figure
def plot_over_time(rows: pd.DataFrame, theme: Theme, *, log: bool) -> go.Figure:
    """Plot each launch of ``kernel_over_time`` as a point: start time against duration."""
    x_unit, x_size = fmt.unit_for(_find_top(rows["since_start_ns"]), fmt.DURATION_UNITS)
    y_unit, y_size = fmt.unit_for(_find_top(rows["duration_ns"]), fmt.DURATION_UNITS)
    hover = [
        f"<b>{fmt.duration(row.duration_ns)}</b> ({fmt.count(row.duration_ns)} ns)<br>"
        f"at {fmt.duration(row.since_start_ns)}<br>GPU {row.gpu_id}, stream {row.stream}"
        for row in rows.itertuples()
    ]
    figure = go.Figure(
        go.Scatter(
            x=rows["since_start_ns"].astype(float) / x_size,
            y=rows["duration_ns"].astype(float) / y_size,
            mode="markers",
            marker={"size": 5, "color": ACCENT[theme], "opacity": 0.6, "line": {"width": 0}},
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    apply_frame(figure, theme, height=280, left=52, top=26, bottom=40)
    figure.update_layout(meta={NS_PER_X: x_size})
    figure.update_xaxes(title_text=f"Start time in capture ({x_unit})", nticks=7)
    if not log:
        figure.update_yaxes(title_text=f"Duration ({y_unit})", rangemode="tozero")
        return figure
    lowest = fmt.number(rows["duration_ns"][rows["duration_ns"] > 0].min()) or 1.0
    log_durations(figure, lowest, _find_top(rows["duration_ns"]), y_size)
    return figure


def log_durations(figure: go.Figure, low: float, high: float, size: float) -> None:
    """Set a logarithmic axis of durations from ``low`` to ``high`` (ns), in units of ``size`` ns."""
    ticks = choose_ticks(low, high, log=True)
    figure.update_yaxes(
        type="log",
        title_text="Duration, logarithmic",
        tickvals=[tick / size for tick in ticks],
        ticktext=[round_duration(tick) for tick in ticks],
    )


def choose_ticks(low: float, high: float, *, log: bool, most: int = 7) -> list[float]:
    """Return round durations (ns) from low to high: equal steps, or powers of ten with 2 and 5 where there is room."""
    if not log:
        step = _round_step_up((high - low) / most)
        first = math.ceil(low / step)
        return [step * number for number in range(first, math.floor(high / step) + 1)]
    decades = range(math.floor(math.log10(max(low, 1))), math.ceil(math.log10(max(high, 1))) + 1)
    dense, loose, sparse = (
        [tick for power in decades for digit in digits if low <= (tick := digit * 10.0**power) <= high]
        for digits in ((1, 2, 5), (1, 3), (1,))
    )
    return next((ticks for ticks in (dense, loose) if len(ticks) <= most + 1), sparse)


def _round_step_up(rough: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least ``rough``, and at least 1 ns."""
    power = 10.0 ** math.floor(math.log10(max(rough, 1)))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def round_duration(ns: float) -> str:
    """Format a round duration without extra digits: ``50 µs``."""
    unit, size = fmt.unit_for(ns, fmt.DURATION_UNITS)
    return f"{ns / size:,g} {unit}"


def _place_tick(ns: float, log: bool) -> float:
    return math.log10(max(float(ns), 1e-3)) if log else float(ns)


def _add_marks(figure: go.Figure, marks: Sequence[tuple[str, float, str]], theme: Theme) -> None:
    """Draw labeled vertical lines; the label is left of the first line and right of the others."""
    for number, (name, place, value) in enumerate(marks):
        figure.add_vline(
            x=place,
            line={"width": 1, "color": MARK[theme], "dash": "solid" if number == 0 else "dot"},
            annotation={
                "text": f"{name} {value}",
                "y": 1.0,
                "yanchor": "bottom",
                "xanchor": "right" if number == 0 else "left",
                "showarrow": False,
                "font": {"size": FONT_PX, "color": MARK[theme]},
            },
        )


def apply_frame(
    figure: go.Figure, theme: Theme, *, height: int, left: int, right: int = 12, top: int = 8, bottom: int = 36
) -> None:
    """Apply the margins, background, grid and hover style that all charts share."""
    figure.update_layout(
        height=height,
        margin={"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        paper_bgcolor="rgba(0, 0, 0, 0)",
        plot_bgcolor="rgba(0, 0, 0, 0)",
        showlegend=False,
        dragmode=False,
        font={"size": FONT_PX, "color": TEXT[theme]},
        hoverlabel={"align": "left"},
    )
    font = {"size": FONT_PX, "color": TEXT[theme]}  # Streamlit's template makes axis text too pale to read
    small: dict[str, Any] = {"tickfont": font, "fixedrange": True, "zeroline": False}
    small |= {"ticks": "outside", "ticklen": 5, "tickcolor": "rgba(0, 0, 0, 0)"}  # a little space before the labels
    figure.update_xaxes(**small, showgrid=False, tickangle=0, title={"font": font, "standoff": 6})
    figure.update_yaxes(**small, gridcolor=_MUTED[theme], title={"font": font, "standoff": 4})


def _find_top(values: "pd.Series[Any]") -> float:
    return fmt.number(values.max()) or 0.0


def parse_channels(color: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#RRGGBB``, 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def fade_color(color: str, opacity: float) -> str:
    """Return a color with the given opacity."""
    red, green, blue = parse_channels(color)
    return f"rgba({red}, {green}, {blue}, {opacity})"


def compute_luminance(color: str) -> float:
    """Return the relative luminance of ``#RRGGBB``, 0 to 1 (WCAG 2)."""
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in parse_channels(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def choose_readable(color: str) -> str:
    """Return black or white, whichever contrasts more with a color."""
    return "#000000" if compute_luminance(color) > 0.179 else "#FFFFFF"


def place_legend(figure: go.Figure, **more: str) -> None:
    """Put the legend above the plot, aligned left; ``more`` overrides its settings."""
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "title": {"text": ""}}
    figure.update_layout(showlegend=True, legend=legend | {"font": {"size": FONT_PX}} | more)
