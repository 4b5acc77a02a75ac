"""One Plotly figure of power over time, with ranges, clocks and temperature below: no Streamlit, no SQL."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.ui import charts
from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GRAY, GROUND, MARK, TEXT, Theme, fade_color
from app.ui.figure_cache import cache_figure

_WIDE = 0.012
"""Width of one character of a range name, as a share of the chart width."""


@cache_figure
def plot_power(rows: pd.DataFrame, bands: pd.DataFrame, limit_w: float | None, theme: Theme) -> go.Figure:
    """Plot one GPU of ``power_over_time`` with ``power_ranges`` below; each reading holds until the next one."""
    low, high = float(rows["window_start_ns"].iloc[0]), float(rows["window_end_ns"].iloc[0])
    unit, size = fmt.unit_for(high, fmt.DURATION_UNITS)
    heights = [0.62, 0.1, 0.28] if len(bands) else [0.7, 0.001, 0.299]
    figure = make_subplots(
        3, 1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.035,
        specs=[[{}], [{}], [{"secondary_y": True}]],
    )  # fmt: skip
    times = rows["time_ns"].astype(float) / size
    _draw_lines(figure, rows, times)
    _draw_watts(figure, rows, times, theme)
    _draw_clocks(figure, rows, times, theme)
    if len(bands):
        _draw_bands(figure, bands, low, high, size, theme)
    charts.apply_frame(figure, theme, height=430 if len(bands) else 390, left=58, right=52, top=10, bottom=26)
    figure.update_layout(hovermode="closest", barmode="overlay", meta={charts.NS_PER_X: size})
    figure.update_xaxes(range=[low / size, high / size], nticks=9)
    figure.update_xaxes(ticksuffix=f" {unit}", row=3, col=1)
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_xaxes(showticklabels=False, row=2, col=1)
    most = max(fmt.number(rows["highest_w"].max()) or 0.0, limit_w or 0.0)
    figure.update_yaxes(range=[0, 1.12 * (most or 1)], ticksuffix=" W", nticks=6, row=1, col=1)
    figure.update_yaxes(visible=False, range=[-0.5, 0.5], row=2, col=1)
    _set_small_axes(figure, rows)
    if limit_w:
        _draw_limit(figure, limit_w, theme)
    return figure


def _draw_lines(figure: go.Figure, rows: pd.DataFrame, times: "pd.Series[float]") -> None:
    """Add an invisible trace, so that the axes of all panels share their times."""
    figure.add_scatter(x=times, y=[None] * len(rows), mode="lines", hoverinfo="skip", row=2, col=1)


def _draw_watts(figure: go.Figure, rows: pd.DataFrame, times: "pd.Series[float]", theme: Theme) -> None:
    if int(rows["readings"].max()) > 1:  # bins: draw the band between their lowest and highest reading
        edge = {"mode": "lines", "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
        figure.add_scatter(x=times, y=rows["lowest_w"].astype(float), **edge, row=1, col=1)
        figure.add_scatter(
            x=times, y=rows["highest_w"].astype(float), **edge, fill="tonexty",
            fillcolor=fade_color(ACCENT[theme], 0.25), row=1, col=1,
        )  # fmt: skip
    hover = [
        f"<b>{_format_value(row['power_w'], 'W')}</b> at {fmt.duration(row['time_ns'])}"
        + (
            f"<br>{_format_value(row['lowest_w'], 'W')} to {_format_value(row['highest_w'], 'W')}"
            if row["readings"] > 1
            else ""
        )
        + f"<br>busy {fmt.percent(row['gpu_utilisation_pct'])}, memory {fmt.percent(row['memory_utilisation_pct'])}"
        for _, row in rows.iterrows()
    ]
    figure.add_scatter(
        x=times, y=rows["power_w"].astype(float), mode="lines",
        line={"width": 1.5, "shape": "hv", "color": ACCENT[theme]}, text=hover,
        hovertemplate="%{text}<extra></extra>", row=1, col=1,
    )  # fmt: skip


def _draw_clocks(figure: go.Figure, rows: pd.DataFrame, times: "pd.Series[float]", theme: Theme) -> None:
    for column, name, unit, dash, second in (
        ("sm_clock_mhz", "SM clock", "MHz", "solid", False),
        ("memory_clock_mhz", "Memory clock", "MHz", "dot", False),
        ("temperature_c", "Temperature", "°C", "solid", True),
    ):
        color = MARK[theme] if second else GRAY[theme]
        hover = [
            f"{name} <b>{_format_value(value, unit)}</b> at {fmt.duration(at)}"
            for value, at in zip(rows[column], rows["time_ns"], strict=True)
        ]
        figure.add_scatter(
            x=times, y=rows[column].astype(float), mode="lines",
            line={"width": 1.2, "shape": "hv", "color": color, "dash": dash}, text=hover,
            hovertemplate="%{text}<extra></extra>", row=3, col=1, secondary_y=second,
        )  # fmt: skip


def _set_small_axes(figure: go.Figure, rows: pd.DataFrame) -> None:
    clock = max(fmt.number(rows[name].max()) or 0.0 for name in ("sm_clock_mhz", "memory_clock_mhz"))
    hottest = fmt.number(rows["temperature_c"].max()) or 0.0
    figure.update_yaxes(
        range=[0, 1.15 * clock or 1], ticksuffix=" MHz", tickformat=",", nticks=4, row=3, col=1, secondary_y=False
    )
    step = 25 if hottest > 30 else 10
    figure.update_yaxes(
        range=[0, 1.4 * hottest or 1],
        ticksuffix=" °C",
        dtick=step,
        tick0=0,
        showgrid=False,
        row=3,
        col=1,
        secondary_y=True,
    )


def _draw_bands(figure: go.Figure, bands: pd.DataFrame, low: float, high: float, size: float, theme: Theme) -> None:
    rows = bands.sort_values("start_ns").reset_index(drop=True)
    starts = rows["start_ns"].astype(float).clip(lower=low)
    lengths = (rows["end_ns"].astype(float).clip(upper=high) - starts).clip(lower=0)
    names = [fmt.escape_plotly(fmt.visible(name)) for name in rows["name"]]
    alone = (rows["start_ns"] >= rows["end_ns"].cummax().shift(fill_value=-(2**62))) & (
        rows["end_ns"] <= rows["start_ns"].shift(-1, fill_value=2**62)
    )  # names of overlapping ranges, as on several threads, would be unreadable
    fits = [
        only and part > len(str(name)) * _WIDE * (high - low)
        for part, name, only in zip(lengths, rows["name"], alone, strict=True)
    ]
    hover = [
        f"<b>{fmt.escape_plotly(fmt.shortened(row['path'], 80))}</b><br>{fmt.duration(row['end_ns'] - row['start_ns'])}"
        f" from {fmt.duration(row['start_ns'])}, {'on the GPU' if row['on_gpu'] else 'on the CPU'}"
        for _, row in rows.iterrows()
    ]
    figure.add_bar(
        x=lengths / size, base=starts / size, y=[0.0] * len(rows), orientation="h", width=0.9,
        marker={
            "color": [fade_color(GRAY[theme], 0.3 if n % 2 else 0.18) for n in range(len(rows))], "line": {"width": 0}
        },
        text=[name if fit else "" for name, fit in zip(names, fits, strict=True)], textposition="inside", textangle=0,
        insidetextanchor="middle", constraintext="none",
        textfont={"size": FONT_PX, "color": TEXT[theme]}, hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>", row=2, col=1,
    )  # fmt: skip


def _draw_limit(figure: go.Figure, limit_w: float, theme: Theme) -> None:
    figure.add_hline(
        y=limit_w, line={"width": 1, "dash": "dash", "color": MARK[theme]}, row=1, col=1,
        annotation={
            "text": f"power limit {limit_w:,.0f} W", "xanchor": "right", "yanchor": "bottom", "showarrow": False,
            "font": {"size": FONT_PX, "color": MARK[theme]}, "bgcolor": fade_color(GROUND[theme], 0.7),
        },
    )  # fmt: skip


def _format_value(value: object, unit: str) -> str:
    amount = fmt.number(value)
    return fmt.MISSING if amount is None else f"{amount:,.0f} {unit}"
