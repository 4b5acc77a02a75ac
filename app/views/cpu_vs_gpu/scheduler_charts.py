"""Plotly figures of scheduler decisions: predicted vs measured times, and decisions over time with the GPU load."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.ui import charts
from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GRAY, MARK, Theme, fade_color

Colors = Mapping[str, str]
"""Colors by device, from ``theme.get_work_colors``."""
DEVICES = {"cpu": "CPU", "gpu": "GPU"}
FREE = "free"
"""The load value for an unshared GPU, as the workload `queue` records it; other loads are shaded."""
_SYMBOLS = {"cpu": "circle", "gpu": "diamond"}


@dataclass(frozen=True)
class Load:
    """An NVML reading below the runs: column, axis title, axis unit, formatter, and axis settings."""

    column: str
    title: str
    scale: float
    words: Callable[[Any], str]
    axis: Mapping[str, Any]


LOADS = (
    Load("utilization_pct", "GPU use (%)", 1.0, fmt.percent, {"range": [0, 105], "tickvals": [0, 50, 100]}),
    Load("memory_free_bytes", "Memory free (GB)", 1e9, fmt.bytes_, {"rangemode": "tozero"}),
)


def plot_predicted(rows: pd.DataFrame, colors: Colors, theme: Theme) -> go.Figure | None:
    """Plot predicted against measured times of ``scheduler_decisions`` on logarithmic axes; None if there are none."""
    known = rows[(rows["predicted_ns"] > 0) & (rows["ns"] > 0)]
    if known.empty:
        return None
    figure = go.Figure()
    low = float(min(known["ns"].min(), known["predicted_ns"].min())) / 1.5
    high = float(max(known["ns"].max(), known["predicted_ns"].max())) * 1.5
    figure.add_scatter(
        x=[low, high], y=[low, high], mode="lines", line={"width": 1, "color": GRAY[theme], "dash": "dot"},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    for name, device, shared, own in _group_rows(known):
        figure.add_scatter(
            x=own["ns"].astype(float), y=own["predicted_ns"].astype(float), mode="markers", name=name,
            marker=_style(colors[device], device, shared=shared), text=[_tell_row(row) for row in own.itertuples()],
            hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
    charts.apply_frame(figure, theme, height=420, left=64, top=30, bottom=44)
    charts.place_legend(figure)
    axis = {**_make_log_axis(low, high), "range": [math.log10(low), math.log10(high)]}
    figure.update_xaxes(**axis, title_text="Measured time")
    figure.update_yaxes(**axis, title_text="Predicted time")
    figure.update_layout(hovermode="closest")
    return figure


def plot_over_time(rows: pd.DataFrame, colors: Colors, theme: Theme) -> go.Figure | None:
    """Plot the runs of one policy over time, with the NVML readings below; None if no run has a start time."""
    known = rows[rows["policy_ns"].notna()]
    times = known["ns"][known["ns"] > 0]
    if times.empty:
        return None
    unit, size = fmt.unit_for(fmt.number(known["policy_ns"].max()) or 1.0, fmt.DURATION_UNITS)
    below = select_loads(known)
    many = 1 + len(below)
    heights = [1.0, *(0.6 for _ in below)]
    figure = make_subplots(many, 1, shared_xaxes=True, vertical_spacing=0.05, row_heights=heights)
    _draw_runs(figure, known, size, colors, theme)
    for place, load in enumerate(below, 2):
        _draw_load(figure, load, known[known[load.column].notna()], size, place, theme)
    charts.apply_frame(figure, theme, height=260 + 135 * len(below), left=70, top=30, bottom=44)
    _shade_loads(figure, known, size, theme)
    charts.place_legend(figure)
    scale = _make_log_axis(float(times.min()) / 1.5, float(times.max()) * 1.5)
    figure.update_yaxes(**scale, title_text="Time", row=1, col=1)
    for place, load in enumerate(below, 2):
        figure.update_yaxes(title_text=load.title, nticks=4, **load.axis, row=place, col=1)
    figure.update_xaxes(showticklabels=False)
    figure.update_xaxes(showticklabels=True, title_text=f"Time since the first decision ({unit})", row=many, col=1)
    figure.update_layout(hovermode="closest")
    return figure


def select_loads(rows: pd.DataFrame) -> list[Load]:
    """Return the NVML readings that rows of ``scheduler_decisions`` contain."""
    return [load for load in LOADS if rows[load.column].notna().any()]


def mark_shared(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return, for each row, whether another program used the GPU."""
    return rows["load"].notna() & (rows["load"] != FREE)


def _make_log_axis(low: float, high: float) -> dict[str, Any]:
    ticks = charts.choose_ticks(low, high, log=True)
    return {"type": "log", "tickvals": ticks, "ticktext": [charts.round_duration(ns) for ns in ticks]}


def _draw_load(figure: go.Figure, load: Load, own: pd.DataFrame, size: float, place: int, theme: Theme) -> None:
    hover = [f"<b>{load.words(row[load.column])}</b> at {fmt.duration(row['policy_ns'])}" for _, row in own.iterrows()]
    figure.add_scatter(
        x=own["policy_ns"].astype(float) / size, y=own[load.column].astype(float) / load.scale, mode="lines",
        line={"width": 1.3, "shape": "hv", "color": ACCENT[theme]}, showlegend=False, text=hover,
        hovertemplate="%{text}<extra></extra>", row=place, col=1,
    )  # fmt: skip


def _draw_runs(figure: go.Figure, known: pd.DataFrame, size: float, colors: Colors, theme: Theme) -> None:
    for name, device, shared, own in _group_rows(known[known["ns"] > 0]):
        figure.add_scatter(
            x=own["policy_ns"].astype(float) / size, y=own["ns"].astype(float), mode="markers", name=name,
            marker=_style(colors[device], device, shared=shared), text=[_tell_row(row) for row in own.itertuples()],
            hovertemplate="%{text}<extra></extra>", row=1, col=1,
        )  # fmt: skip
    waited = known[known["waited_ns"] > 0]
    if len(waited):
        figure.add_scatter(
            x=waited["policy_ns"].astype(float) / size, y=waited["waited_ns"].astype(float), mode="markers",
            name="Waited", marker={"size": 7, "symbol": "triangle-up-open", "color": MARK[theme]},
            text=[_tell_row(row) for row in waited.itertuples()], hovertemplate="%{text}<extra></extra>", row=1, col=1,
        )  # fmt: skip


def _group_rows(rows: pd.DataFrame) -> Iterator[tuple[str, str, bool, pd.DataFrame]]:
    """Yield name, device, whether the GPU was shared, and rows of each group of markers."""
    beside = mark_shared(rows)
    for device, name in DEVICES.items():
        for is_shared in (False, True):
            own = rows[(rows["device"] == device) & (beside == is_shared)]
            if len(own):
                yield f"{name}, GPU shared" if is_shared else name, device, is_shared, own


def _style(color: str, device: str, *, shared: bool) -> dict[str, object]:
    symbol = _SYMBOLS[device] + ("-open" if shared else "")
    return {"size": 6, "color": color, "symbol": symbol, "opacity": 0.8}


def _tell_row(row: Any) -> str:
    reason = fmt.escape_plotly(fmt.shortened(row.reason, 80)) if isinstance(row.reason, str) else ""
    task = fmt.escape_plotly(fmt.shortened(row.task, 40))
    lines = [
        f"<b>{task}</b>, {fmt.count(row.size)}",
        f"{DEVICES.get(row.device, 'nowhere')}: {reason}",
        f"took {fmt.duration(row.ns)}, predicted {fmt.duration(row.predicted_ns)}",
    ]
    lines += [
        f"{words} {fmt.duration(value)}"
        for words, value in (("regret", row.regret_ns), ("waited", row.waited_ns))
        if fmt.number(value)
    ]
    return "<br>".join(lines)


def _shade_loads(figure: go.Figure, known: pd.DataFrame, size: float, theme: Theme) -> None:
    """Shade the periods in which another program used the GPU."""
    ordered = known.sort_values("policy_ns")
    moments = zip(ordered["policy_ns"].astype(float) / size, ordered["load"], strict=True)
    for load, group in groupby(moments, key=lambda pair: pair[1]):
        times = [moment for moment, _ in group]
        if isinstance(load, str) and load != FREE:
            figure.add_vrect(
                x0=times[0], x1=times[-1], fillcolor=fade_color(MARK[theme], 0.08), line={"width": 0}, layer="below",
                row="all", col=1,
            )  # fmt: skip
            figure.add_annotation(
                x=times[-1], y=1, xref="x", yref="y domain", text=fmt.escape_plotly(fmt.shortened(load, 30)),
                showarrow=False, xanchor="right", yanchor="bottom", font={"size": FONT_PX, "color": MARK[theme]},
            )  # fmt: skip
