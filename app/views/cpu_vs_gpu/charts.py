"""Plotly figures of the same work on CPU and GPU by size, and of where the GPU time goes: no Streamlit, no SQL."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.ui import charts
from app.ui import format as fmt
from app.ui.charts import FONT_PX, MARK, Theme
from profiledb.studies.cpu_vs_gpu.crossing import Crossover

Colors = Mapping[str, str]
"""Colors by device and part, from ``theme.get_work_colors``."""

LINES = (
    ("cpu", "total", "CPU"),
    ("cpu", "compute", "CPU, computing"),
    ("gpu", "total", "GPU"),
    ("gpu", "compute", "GPU, computing"),
)
PARTS = {"allocate": "Allocate", "to_device": "To the GPU", "compute": "Compute", "to_host": "To the host"}
"""Parts that have their own color, in stacking order."""
_PREFIX = {"total": "", "compute": "_compute"}
_TICKS = 16
"""Maximum number of tick labels below all panels together."""
_PAD = 0.06
"""Padding of the x axis on each side, as a share of its width."""


@dataclass(frozen=True)
class Panel:
    """A task: its name (untrusted), its rows of ``task_times`` and ``task_parts``, and its crossovers."""

    task: str
    times: pd.DataFrame
    parts: pd.DataFrame
    crossovers: Sequence[Crossover]


def plot_times(panels: Sequence[Panel], colors: Colors, theme: Theme) -> go.Figure | None:
    """Plot medians by size on logarithmic axes, one panel per task, with the range of repetitions and the crossovers.

    Return None if no time is above 0.
    """
    figure = _lay_out_panels(panels)
    drawn = [(place, line) for place, panel in enumerate(panels, 1) for line in _list_lines(panel)]
    values = [value for _, (_, rows) in drawn for value in (*rows["low"], *rows["high"])]
    if not values:
        return None
    named: set[str] = set()
    for place, ((device, basis, name), rows) in drawn:
        for trace in _make_traces(name, rows, colors[device], dotted=basis == "compute", legend=name not in named):
            figure.add_trace(trace, row=1, col=place)
        named.add(name)
    charts.apply_frame(figure, theme, height=400, left=64, right=16, top=66, bottom=44)
    ticks = charts.choose_ticks(min(values), max(values), log=True)
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[charts.round_duration(ns) for ns in ticks])
    figure.update_yaxes(title_text="Median time", col=1)
    for place, panel in enumerate(panels, 1):
        _draw_axis(figure, panel, place, len(panels), theme)
    _finish_figure(figure)
    return figure


def plot_shares(panels: Sequence[Panel], colors: Colors, theme: Theme) -> go.Figure | None:
    """Plot the parts of the GPU time by size, stacked to 100 %; return None if there are no parts."""
    figure = _lay_out_panels(panels)
    named: set[str] = set()
    for place, panel in enumerate(panels, 1):
        rows = panel.parts[(panel.parts["device"] == "gpu") & panel.parts["share_pct"].notna()]
        sizes = sorted({int(size) for size in rows["size"]})
        names = [*PARTS, *dict.fromkeys(part for part in rows["part"] if part not in PARTS)]
        for name in (part for part in names if (rows["part"] == part).any()):
            of_part = rows[rows["part"] == name]
            color = colors.get(name, colors["overhead"])
            figure.add_trace(_make_bars(name, of_part, sizes, color, legend=name not in named), row=1, col=place)
            named.add(name)
        shown = sizes[:: math.ceil(len(sizes) * len(panels) / _TICKS) or 1]
        figure.update_xaxes(
            tickvals=[sizes.index(size) for size in shown], ticktext=[format_size(size) for size in shown],
            title_text="Size", col=place,
        )  # fmt: skip
    if not named:
        return None
    charts.apply_frame(figure, theme, height=280, left=64, right=16, top=66, bottom=44)
    figure.update_yaxes(range=[0, 100], tickvals=[0, 25, 50, 75, 100], showgrid=True)
    figure.update_yaxes(ticktext=["0", "25", "50", "75", "100 %"], title_text="Share of the time", col=1)
    figure.update_layout(barmode="stack", bargap=0.12)
    _finish_figure(figure)
    return figure


def _lay_out_panels(panels: Sequence[Panel]) -> go.Figure:
    titles = [f"<b>{fmt.escape_plotly(fmt.shortened(panel.task, 40))}</b>" for panel in panels]
    figure = make_subplots(1, len(panels), shared_yaxes=True, horizontal_spacing=0.02, subplot_titles=titles)
    figure.update_annotations(font={"size": FONT_PX}, yshift=2)
    return figure


def _finish_figure(figure: go.Figure) -> None:
    above = {"y": 1, "yref": "container", "yanchor": "top"}
    figure.update_layout(
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "xref": "container", **above, "traceorder": "normal"},
    )


def _list_lines(panel: Panel) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Return the lines of a panel with their points: size, median, low, high."""
    lines = []
    for device, basis, name in LINES:
        start = f"{device}{_PREFIX[basis]}_"
        rows = pd.DataFrame(
            {
                "size": panel.times["size"].astype(float),
                "median": panel.times[f"{start}median_ns"].astype(float),
                "low": panel.times[f"{start}min_ns"].astype(float),
                "high": panel.times[f"{start}max_ns"].astype(float),
            }
        )
        rows = rows[(rows["size"] > 0) & (rows["low"] > 0)].dropna()
        if len(rows):
            lines.append(((device, basis, name), rows))
    return lines


def _make_traces(name: str, rows: pd.DataFrame, color: str, *, dotted: bool, legend: bool) -> list[go.Scatter]:
    band = go.Scatter(
        x=[*rows["size"], *rows["size"][::-1]],
        y=[*rows["high"], *rows["low"][::-1]],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=charts.fade_color(color, 0.16),
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
    )
    hover = [
        f"<b>{name}</b>, {row.size:,.0f}<br>median {fmt.duration(row.median)}<br>"
        f"{fmt.duration(row.low)} to {fmt.duration(row.high)}"
        for row in rows.rename_axis(None).itertuples(name="Point")
    ]
    line = go.Scatter(
        x=rows["size"],
        y=rows["median"],
        mode="lines+markers",
        name=name,
        legendgroup=name,
        showlegend=legend,
        line={"width": 1.6, "color": color, "dash": "dot" if dotted else "solid"},
        marker={"size": 6, "color": color, "symbol": "circle-open" if dotted else "circle"},
        text=hover,
        hovertemplate="%{text}<extra></extra>",
    )
    return [band, line]


def _draw_axis(figure: go.Figure, panel: Panel, place: int, many: int, theme: Theme) -> None:
    """Set the x axis of a panel, and mark its crossovers with lines and their intervals with bands."""
    sizes = sorted({int(size) for size in panel.times["size"] if size > 0})
    if not sizes:
        return
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    pad = _PAD * (high - low) or 0.1
    shown = sizes[:: math.ceil(len(sizes) * many / _TICKS)]
    figure.update_xaxes(
        type="log", range=[low - pad, high + pad], tickvals=shown, ticktext=[format_size(size) for size in shown],
        title_text="Size", col=place,
    )  # fmt: skip
    edges = (10 ** (low - pad), 10 ** (high + pad))
    for crossover in panel.crossovers:
        _mark_crossover(figure, crossover, edges, place, theme)


def _mark_crossover(
    figure: go.Figure, crossover: Crossover, edges: tuple[float, float], place: int, theme: Theme
) -> None:
    at: dict[str, Any] = {"row": 1, "col": place}
    total = crossover.basis == "total"
    places = {crossover.low_place, crossover.high_place}
    inside = "inside" in places or places == {"below", "above"}
    if inside:
        ends = (crossover.low or edges[0], crossover.high or edges[1])
        color = charts.fade_color(MARK[theme], 0.14 if total else 0.08)
        figure.add_vrect(x0=ends[0], x1=ends[1], fillcolor=color, line={"width": 0}, layer="below", **at)
    if crossover.crossing is None:
        return
    figure.add_vline(
        x=crossover.crossing, line={"width": 1, "color": MARK[theme], "dash": "solid" if total else "dot"}, **at
    )
    figure.add_annotation(
        x=math.log10(crossover.crossing),  # annotations need the logarithm, shapes the value
        y=1 if total else 0,
        yref="y domain" if place == 1 else f"y{place} domain",
        xref="x" if place == 1 else f"x{place}",
        yanchor="top" if total else "bottom",
        xanchor="left",
        xshift=2,
        text=fmt.count(crossover.crossing),
        showarrow=False,
        font={"size": FONT_PX, "color": MARK[theme]},
    )


def _make_bars(name: str, rows: pd.DataFrame, sizes: Sequence[int], color: str, *, legend: bool) -> go.Bar:
    title = PARTS.get(name) or fmt.escape_plotly(fmt.shortened(name, 30))
    hover = [
        f"<b>{title}</b>, {row.size:,.0f}<br>{fmt.percent(row.share_pct)}<br>median {fmt.duration(row.median_ns)}"
        for row in rows.rename_axis(None).itertuples(name="Point")
    ]
    return go.Bar(
        x=[sizes.index(int(size)) for size in rows["size"]],
        y=rows["share_pct"].astype(float),
        name=title,
        legendgroup=name,
        showlegend=legend,
        marker={"color": color, "line": {"width": 0}},
        text=hover,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )


def format_size(size: int) -> str:
    """Format a size for an axis: 512, 8k for 8,192, 1M for 1,048,576, 1·10⁶ for 1,000,000; others in full."""
    for letter, unit in (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    for letter, unit in (("·10⁹", 10**9), ("·10⁶", 10**6)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return f"{size:,}"
