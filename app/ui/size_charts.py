"""Plotly figures of attention time by length, and of timers against ranges: no Streamlit, no SQL."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.ui import charts
from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GRAY, Theme
from app.ui.figure_cache import cache_figure

FEWEST = 3
"""Lengths needed to fit an exponent: two points always lie on a line."""

_STROKES = {
    "softmax": ("solid", "circle"), "scores": ("solid", "square"), "output": ("dash", "diamond"),
    "fused": ("solid", "circle"), "fused backward": ("dot", "circle"),
}  # fmt: skip
_ACCENTED = ("softmax", "fused")
_ROOM = 0.45
"""Share of the width reserved for the labels at the line ends."""
_TICKS = 14
"""Maximum number of tick labels below all panels together."""


@dataclass(frozen=True)
class Line:
    """Time of one part of attention by length.

    Args:
        variant: the enclosing range (untrusted).
        part: scores, softmax, output, fused, fused backward.
        tokens: lengths.
        ns: time of one attention at each length, ns.
        reports: the report behind each point (untrusted).
    """

    variant: str
    part: str
    tokens: tuple[int, ...]
    ns: tuple[float, ...]
    reports: tuple[str, ...]


def fit(tokens: Sequence[float], ns: Sequence[float]) -> float | None:
    """Return the exponent of time = c * tokens^exponent by log-log least squares; None below three lengths."""
    points = [(math.log(t), math.log(n)) for t, n in zip(tokens, ns, strict=True) if t > 0 and n > 0]
    if len({x for x, _ in points}) < FEWEST:
        return None
    xs, ys = np.array(points).T
    return float(((xs - xs.mean()) * (ys - ys.mean())).sum() / ((xs - xs.mean()) ** 2).sum())


@cache_figure
def plot_family(lines: Sequence[Line], theme: Theme) -> go.Figure:
    """Plot time by length on logarithmic axes, one panel per variant; each line is labeled with its part."""
    variants = list(dict.fromkeys(line.variant for line in lines))
    titles = [f"<b>{fmt.escape_plotly(fmt.shortened(name, 40))}</b>" for name in variants]
    figure = make_subplots(1, len(variants), shared_yaxes=True, horizontal_spacing=0.02, subplot_titles=titles)
    for line in lines:
        figure.add_trace(_make_trace(line, theme), row=1, col=1 + variants.index(line.variant))
    charts.apply_frame(figure, theme, height=340, left=64, right=24, top=30, bottom=44)
    lengths = sorted({t for line in lines for t in line.tokens})
    low, high = math.log10(lengths[0]), math.log10(lengths[-1])
    pad = 0.06 * (high - low) or 0.1
    shown = lengths[:: math.ceil(len(lengths) * len(variants) / _TICKS)]
    figure.update_xaxes(
        type="log",
        range=[low - pad, high + _ROOM * (high - low or 1)],
        tickvals=shown,
        ticktext=[_shorten_tokens(tokens) for tokens in shown],
        title_text="Tokens (k = 1,024)" if any(tokens % 1024 == 0 for tokens in shown) else "Tokens",
    )
    times = [value for line in lines for value in line.ns]
    ticks = charts.choose_ticks(min(times) / 2, max(times) * 2, log=True)
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[charts.round_duration(ns) for ns in ticks])
    figure.update_yaxes(title_text="Time per attention", col=1)
    figure.update_annotations(font={"size": FONT_PX}, yshift=2)
    figure.update_layout(hovermode="closest")
    return figure


def _shorten_tokens(tokens: int) -> str:
    return f"{tokens // 1024}k" if tokens % 1024 == 0 else f"{tokens:,}"


def _make_trace(line: Line, theme: Theme) -> go.Scatter:
    color = ACCENT[theme] if line.part in _ACCENTED else GRAY[theme]
    dash, symbol = _STROKES.get(line.part, ("solid", "circle"))
    order = sorted(range(len(line.tokens)), key=lambda i: (line.tokens[i], line.ns[i]))
    hover = [
        f"<b>{fmt.escape_plotly(line.part)}</b>, {fmt.escape_plotly(line.variant)}<br>{line.tokens[i]:,} tokens:"
        f" {fmt.duration(line.ns[i])}<br>{fmt.escape_plotly(line.reports[i])}"
        for i in order
    ]
    return go.Scatter(
        x=[line.tokens[i] for i in order],
        y=[line.ns[i] for i in order],
        mode="lines+markers+text",
        line={"width": 1.6, "color": color, "dash": dash},
        marker={"size": 7, "symbol": symbol, "color": color},
        text=[""] * (len(order) - 1) + [f" {fmt.escape_plotly(line.part)}"],
        textposition="middle right",
        textfont={"color": color, "size": FONT_PX},
        cliponaxis=False,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


@cache_figure
def plot_timers(rows: pd.DataFrame, theme: Theme) -> go.Figure:
    """Plot a label of ``timing_pairs`` over its steps: the timer, and the range on the CPU and on the GPU."""
    unit, size = fmt.unit_for(float(rows["timer_ns"].max()), fmt.DURATION_UNITS)
    figure = go.Figure()
    for column, name, color, dash in (
        ("gpu_ns", "range on the GPU", GRAY[theme], "dot"),
        ("cpu_ns", "range on the CPU", GRAY[theme], "solid"),
        ("timer_ns", "timer", ACCENT[theme], "solid"),
    ):
        known = rows.dropna(subset=[column])
        figure.add_scatter(
            x=known["step"].astype(float),
            y=known[column].astype(float) / size,
            mode="lines+markers",
            name=name,
            line={"width": 1.4, "color": color, "dash": dash},
            marker={"size": 5, "color": color},
            text=[
                f"step {fmt.count(s)}, {name}: {fmt.duration(v)}"
                for s, v in zip(known["step"], known[column], strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    charts.apply_frame(figure, theme, height=260, left=60, top=30, bottom=40)
    figure.update_layout(
        hovermode="closest", showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "reversed"},
    )  # fmt: skip
    steps = sorted({int(step) for step in rows["step"].dropna()})
    figure.update_xaxes(title_text="Step", **({"tickvals": steps} if len(steps) <= 20 else {"nticks": 12}))
    figure.update_yaxes(title_text=f"Duration ({unit})")
    return figure
