"""Plotly figures of the Memory page: copies by size, memory over time."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, MARK, NEUTRAL, NS_PER_X, Theme, apply_frame, fade_color, place_legend
from app.ui.figure_cache import cache_figure

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star")
"""Marker shapes by direction, for readers who cannot tell the colors apart."""
_LEAST_PX, _MOST_PX = 5.0, 18.0


@cache_figure
def copy_sizes(
    cells: pd.DataFrame, peaks: Sequence[tuple[str, float]], colors: Mapping[str, str], theme: Theme
) -> go.Figure:
    """Plot bandwidth against copy size (``copy_sizes``) on log axes; larger marks stand for more operations.

    ``peaks`` are limits to draw as lines: title and bytes per second.
    """
    figure = go.Figure()
    most = max(float(cells["count"].max()), 2.0)
    for number, (direction, rows) in enumerate(cells.groupby("direction", sort=False)):
        hover = [
            f"<b>{fmt.escape_plotly(direction)}</b><br>{fmt.bytes_(row.bytes)} at {fmt.rate(row.bytes_per_s)}<br>"
            f"{fmt.counted(row.count_, 'operation')}, {fmt.duration(row.total_ns)}"
            for row in rows.rename(columns={"count": "count_"}).itertuples()
        ]
        share = rows["count"].astype(float).map(math.log1p) / math.log1p(most)
        figure.add_scatter(
            x=rows["bytes"].astype(float),
            y=rows["bytes_per_s"].astype(float),
            mode="markers",
            name=fmt.escape_plotly(direction),
            marker={
                "size": _LEAST_PX + (_MOST_PX - _LEAST_PX) * share,
                "color": colors[str(direction)],
                "symbol": SYMBOLS[number % len(SYMBOLS)],
                "opacity": 0.75,
                "line": {"width": 0},
            },
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    for number, (title, rate) in enumerate(peaks):
        _draw_peak(figure, title, rate, theme, left=number % 2 == 0)
    apply_frame(figure, theme, height=340, left=84, top=34, bottom=40)
    place_legend(figure, itemsizing="constant")
    highest = max([float(cells["bytes_per_s"].max()), *(rate for _, rate in peaks)])
    _set_log_axis(figure.update_xaxes, float(cells["bytes"].min()), float(cells["bytes"].max()), "B")
    _set_log_axis(figure.update_yaxes, float(cells["bytes_per_s"].min()), highest, "B/s")
    figure.update_xaxes(title_text="Size of a copy")
    figure.update_yaxes(title_text="Bandwidth")
    return figure


def _draw_peak(figure: go.Figure, title: str, rate: float, theme: Theme, *, left: bool) -> None:
    figure.add_hline(y=rate, line={"width": 1, "color": MARK[theme], "dash": "dot"})
    figure.add_annotation(
        text=f"{fmt.escape_plotly(title)} {fmt.rate(rate)}",
        xref="x domain",
        x=0.0 if left else 0.45,
        y=math.log10(rate),  # on a log axis, a line takes the value and an annotation its logarithm
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": FONT_PX, "color": MARK[theme]},
    )


def _set_log_axis(update: "object", low: float, high: float, unit: str) -> None:
    """Set up a log axis with units at every decade or every third one, and at least two ticks in range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) + 0.15)
    step = 1 if last - first <= 9 else 3
    ticks = [10.0**power for power in range(step * math.floor(first / step), last + 1, step)]
    texts = [_format_round(tick) + unit for tick in ticks]
    start, end = math.log10(low) - 0.3, math.log10(high) + 0.5
    if (
        sum(start <= math.log10(tick) <= end for tick in ticks) < 2
    ):  # copies of one size: the axis needs two ticks to be readable
        start, end = min(start, first - 0.1), max(end, last + 0.1)
    assert callable(update)
    update(
        type="log",
        range=[start, end],
        tickvals=ticks,
        ticktext=texts,
    )


def _format_round(amount: float) -> str:
    """Format a round number of bytes without trailing digits and without the B: ``10 K``."""
    name, size = fmt.unit_for(amount, fmt.BYTE_UNITS)
    return f"{amount / size:g} {name.removesuffix('B')}"


@cache_figure
def plot_memory(rows: pd.DataFrame, end_ns: float, theme: Theme) -> go.Figure:
    """Plot the memory held on one GPU (``memory_over_time``) as steps, up to the end of the capture."""
    x_unit, x_size = fmt.unit_for(end_ns, fmt.DURATION_UNITS)
    y_unit, y_size = fmt.unit_for(float(rows["held_bytes"].max()), fmt.BYTE_UNITS)
    times = [*rows["time_ns"].astype(float), end_ns]
    held = [*rows["held_bytes"].astype(float), float(rows["held_bytes"].iloc[-1])]
    hover = [f"<b>{fmt.bytes_(b)}</b><br>at {fmt.duration(t)}" for t, b in zip(times, held, strict=True)]
    figure = go.Figure(
        go.Scatter(
            x=[time / x_size for time in times],
            y=[amount / y_size for amount in held],
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": ACCENT[theme]},
            fill="tozeroy",
            fillcolor=fade_color(ACCENT[theme], 0.18),
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    apply_frame(figure, theme, height=180, left=52, top=8, bottom=24)
    figure.update_layout(hovermode="x", meta={NS_PER_X: x_size})
    figure.update_xaxes(range=[0, end_ns / x_size], ticksuffix=f" {x_unit}", nticks=8)
    figure.update_yaxes(rangemode="tozero", ticksuffix=f" {y_unit}", nticks=5)
    return figure


@cache_figure
def plot_tensors(rows: pd.DataFrame, peak: tuple[float | None, float | None], end_ns: float, theme: Theme) -> go.Figure:
    """Plot the tensor memory of one device (``tensor_over_time``) as an area, and reserved memory as a line above it.

    Args:
        rows: rows of this device, at least one.
        peak: time in ns and bytes of the marked peak.
        end_ns: end of the capture.
        theme: light or dark.
    """
    x_unit, x_size = fmt.unit_for(end_ns, fmt.DURATION_UNITS)
    top = max(float(rows[name].astype("Float64").max(skipna=True)) for name in _list_levels(rows))
    y_unit, y_size = fmt.unit_for(top, fmt.BYTE_UNITS)
    times = [*rows["time_ns"].astype(float), end_ns]
    figure = go.Figure()
    for name, title in _list_levels(rows).items():
        held = [*rows[name].astype("Float64").ffill().fillna(0.0), float(rows[name].ffill().fillna(0).iloc[-1])]
        area = name == "allocated_bytes"
        figure.add_scatter(
            x=[time / x_size for time in times],
            y=[float(amount) / y_size for amount in held],
            mode="lines",
            name=title,
            line={"shape": "hv", "width": 1.5, "color": ACCENT[theme] if area else NEUTRAL[theme]},
            fill="tozeroy" if area else None,
            fillcolor=fade_color(ACCENT[theme], 0.18) if area else None,
            text=[f"{title} <b>{fmt.bytes_(b)}</b><br>at {fmt.duration(t)}" for t, b in zip(times, held, strict=True)],
            hovertemplate="%{text}<extra></extra>",
        )
    if peak[0] is not None and peak[1] is not None:
        figure.add_scatter(
            x=[peak[0] / x_size], y=[peak[1] / y_size], mode="markers", name="Peak", hoverinfo="skip",
            marker={"color": MARK[theme], "size": 8},
        )  # fmt: skip
    apply_frame(figure, theme, height=240, left=60, top=34, bottom=24)
    place_legend(figure)
    figure.update_layout(hovermode="x", meta={NS_PER_X: x_size})
    figure.update_xaxes(range=[0, end_ns / x_size], ticksuffix=f" {x_unit}", nticks=8)
    figure.update_yaxes(rangemode="tozero", ticksuffix=f" {y_unit}", nticks=5)
    return figure


def _list_levels(rows: pd.DataFrame) -> dict[str, str]:
    """Return the columns to draw and their titles."""
    reserved = {"reserved_bytes": "Reserved"} if rows["reserved_bytes"].notna().any() else {}
    return {"allocated_bytes": "Tensors"} | reserved
