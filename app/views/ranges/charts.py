"""Plotly figures of the Ranges page: the duration of each instance."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import (
    ACCENT,
    FONT_PX,
    MARK,
    NEUTRAL,
    Theme,
    apply_frame,
    fade_color,
    log_durations,
)
from app.ui.figure_cache import cache_figure

BARS = 40
"""Most instances of one thread drawn as bars; more are drawn as points."""
LOG_FROM = 50
"""Ratio of longest to shortest duration above which the axis is logarithmic."""

IN_ORDER = "Instance, in order of time"
"""Axis title for instances without numbers of their own."""
_TITLES = {"gpu_ns": "GPU, first to last operation", "cpu_ns": "CPU"}


@cache_figure
def plot_pace(rows: pd.DataFrame, median_ns: float | None, theme: Theme, title: str = IN_ORDER) -> go.Figure:
    """Plot the duration of each instance on the CPU and, if known, on the GPU.

    ``rows`` have nth, thread, start_ns, cpu_ns, gpu_ns, is_warmup and closed (``range_instances``, ``iterations``).
    ``nth`` is the position on the axis named ``title``; ``median_ns`` is drawn as a line.
    """
    known = [name for name in ("gpu_ns", "cpu_ns") if bool(rows[name].notna().any())]
    values = pd.concat([rows[name].dropna().astype(float) for name in known])
    values = values[values > 0]
    log = len(values) > 0 and values.max() > LOG_FROM * values.min()
    unit, size = fmt.unit_for(float(values.max()) if len(values) else 0.0, fmt.DURATION_UNITS)
    bars = len(rows) <= BARS and rows["thread"].nunique() == 1 and not log
    figure = go.Figure()
    for warmup in (False, True):
        for name in known:
            part = rows[(rows["is_warmup"].fillna(False).astype(bool) == warmup) & rows[name].notna()]
            if len(part):
                color = ACCENT[theme] if name == "gpu_ns" else NEUTRAL[theme]
                series = _TITLES[name] + (", looks like warm-up" if warmup else "")
                figure.add_trace(_make_series(part, name, series, color, size=size, bars=bars, warmup=warmup))
    apply_frame(figure, theme, height=250, left=58, top=34, bottom=38)
    _set_value_axis(figure, values, unit, size, log=log)
    _set_place_axis(figure, rows["nth"].astype(int), title)
    if median_ns:
        _draw_median(figure, median_ns, size, theme, log=log)
    return figure


def _make_series(
    rows: pd.DataFrame, name: str, title: str, color: str, *, size: float, bars: bool, warmup: bool
) -> go.Bar | go.Scatter:
    common: dict[str, Any] = {
        "x": rows["nth"].astype(int),
        "y": rows[name].astype(float) / size,
        "name": title,
        "text": [_format_hover(row) for row in rows.to_dict("records")],
        "hovertemplate": "%{text}<extra></extra>",
    }
    if bars:
        fill = {"color": fade_color(color, 0.35)} if warmup else {"color": color}
        edge = {"width": 1 if warmup else 0, "color": color}
        return go.Bar(
            **common, marker=fill | {"line": edge}, textposition="none", offsetgroup=name, alignmentgroup="instances"
        )
    symbol = "circle-open" if warmup else "circle"
    mark = {"size": 7 if warmup else 4, "symbol": symbol, "color": color, "opacity": 1.0 if warmup else 0.6}
    return go.Scatter(**common, mode="markers", marker=mark | {"line": {"width": 1.5 if warmup else 0}})


def _format_hover(row: dict[Any, Any]) -> str:
    title = row.get("name") or f"Instance {fmt.count(row['number'])}"
    lines = [f"<b>{fmt.escape_plotly(title)}</b>"]
    if fmt.number(row["gpu_ns"]) is not None:
        lines.append(f"GPU {fmt.duration(row['gpu_ns'])}, busy {fmt.duration(row['busy_ns'])}")
    lines.append(f"CPU {fmt.duration(row['cpu_ns'])}" + ("" if row["closed"] else ", never closed"))
    lines.append(f"at {fmt.duration(row['start_ns'])}, thread {fmt.escape_plotly(row['thread'])}")
    if fmt.number(row["operations"]) is not None:
        lines.append(fmt.counted(row["operations"], "operation"))
    return "<br>".join(lines)


def _set_place_axis(figure: go.Figure, nth: "pd.Series[int]", title: str) -> None:
    """Set up the x axis from the first instance number to the last."""
    first, last = int(nth.min()), int(nth.max())
    edge = max(0.5, 0.01 * (last - first))
    figure.update_xaxes(title_text=title, tickformat=",d", range=[first - edge, last + edge])
    figure.update_xaxes(**({"dtick": 1} if last - first < 20 else {"nticks": 12}))


def _set_value_axis(figure: go.Figure, values: "pd.Series[Any]", unit: str, size: float, *, log: bool) -> None:
    legend: dict[str, Any] = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "title": {"text": ""},
    }
    legend |= {"font": {"size": FONT_PX}, "itemsizing": "constant"}
    figure.update_layout(showlegend=True, legend=legend, bargap=0.25, bargroupgap=0)
    figure.update_layout(hovermode="closest", barmode="group")
    if not log:
        figure.update_yaxes(title_text=f"Duration ({unit})", rangemode="tozero", nticks=6)
        return
    log_durations(figure, float(values.min()), float(values.max()), size)


def _draw_median(figure: go.Figure, median_ns: float, size: float, theme: Theme, *, log: bool) -> None:
    """Draw the median as a labeled line. On a log axis, an annotation takes the logarithm of the value."""
    place = median_ns / size
    figure.add_hline(y=place, line={"width": 1, "color": MARK[theme], "dash": "dot"})
    figure.add_annotation(
        text=f"median {fmt.duration(median_ns)}",
        x=1.0,
        xref="paper",
        xanchor="right",
        y=math.log10(place) if log else place,
        yanchor="bottom",
        showarrow=False,
        font={"size": FONT_PX, "color": MARK[theme]},
    )
