"""Plotly figures of the Scaling page: efficiency, breakdown of a step, waits by rank. No Streamlit, no SQL."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GRAY, Theme, apply_frame, choose_readable, fade_color
from app.ui.figure_cache import cache_figure

PARTS = {"compute_ns": "Compute", "exposed_ns": "Exposed communication", "copy_ns": "Memcpy", "idle_ns": "Idle"}
"""Parts of a step, in stacking order."""
_IDLE = {"light": "#D5D9DE", "dark": "#3A414B"}
_STROKES = (("solid", "circle"), ("dash", "square"), ("dot", "diamond"), ("dashdot", "triangle-up"))
_BAR_PX = 28
_LABEL_SHARE = 0.07


def get_part_colors(classes: dict[str, str], theme: Theme) -> dict[str, str]:
    """Return the colors of ``PARTS``; communication and copies take the colors of their kernel classes."""
    other = classes["other"]
    return {
        "compute_ns": ACCENT[theme],
        "exposed_ns": classes.get("communication", other),
        "copy_ns": classes.get("copy", other),
        "idle_ns": _IDLE[theme],
    }


@cache_figure
def plot_scaling(rows: pd.DataFrame, curves: Sequence[str], measure: str, theme: Theme) -> go.Figure:
    """Plot ``efficiency_pct`` or ``speedup`` against the number of ranks, one line per curve, and the ideal.

    Args:
        rows: rows of ``scaling_rows.runs``.
        curves: the curve of each row. Curves without a base run are not drawn.
        measure: efficiency_pct or speedup.
        theme: light or dark.
    """
    figure = go.Figure()
    drawn = rows.assign(curve=list(curves))
    drawn = drawn[drawn["efficiency_pct"].notna()]
    low, high = int(min(drawn["ranks"] / drawn["ideal"])), int(drawn["ranks"].max())
    percent = measure == "efficiency_pct"
    ends = [100, 100] if percent else [1, high / low]
    figure.add_scatter(
        x=[low, high], y=ends, mode="lines", name="ideal", hoverinfo="skip",
        line={"width": 5, "color": fade_color(GRAY[theme], 0.22)},
    )  # fmt: skip
    for number, (curve, group) in enumerate(drawn.groupby("curve", sort=False)):
        figure.add_trace(_make_curve(str(curve), group.sort_values("ranks"), measure, number, theme))
    apply_frame(figure, theme, height=280, left=56, right=20, top=30, bottom=42)
    ranks = sorted({low, *map(int, drawn["ranks"])})
    figure.update_xaxes(
        title_text="Ranks", tickvals=ranks, range=[low - 0.06 * (high - low), high + 0.06 * (high - low)]
    )
    top = 112 if percent else high / low * 1.08
    figure.update_yaxes(rangemode="tozero", range=[0, max(top, 1.08 * float(drawn[measure].max()))])
    figure.update_yaxes(title_text="Efficiency", ticksuffix=" %", dtick=25) if percent else figure.update_yaxes(
        title_text="Speed-up"
    )
    figure.update_layout(hovermode="closest", showlegend=True, legend=_LEGEND)
    return figure


_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


def _make_curve(name: str, group: pd.DataFrame, measure: str, number: int, theme: Theme) -> go.Scatter:
    dash, symbol = _STROKES[number % len(_STROKES)]
    color = ACCENT[theme] if number == 0 else GRAY[theme]
    base = round(float(group["ranks"].iloc[0] / group["ideal"].iloc[0]))
    start = 100.0 if measure == "efficiency_pct" else 1.0
    hover = [f"<b>{fmt.escape_plotly(group['base'].iloc[0])}</b>, the base, on {fmt.counted(base, 'rank')}"]
    hover += [
        f"<b>{fmt.escape_plotly(row['run'])}</b>, {row['ranks']} ranks ({row['scaling']})<br>efficiency"
        f" {fmt.percent(row['efficiency_pct'])}, speed-up {row['speedup']:.2f} of {row['ideal']:.4g}<br>per step:"
        f" {fmt.duration(row['step_ns'])}"
        for _, row in group.iterrows()
    ]
    kind = "/".join(sorted(set(group["scaling"])))
    return go.Scatter(
        x=[base, *group["ranks"].astype(int)],
        y=[start, *group[measure].astype(float)],
        mode="lines+markers",
        name=f"{fmt.escape_plotly(fmt.shortened(name, 30))} ({kind})",
        line={"width": 1.6, "color": color, "dash": dash},
        marker={"size": 8, "symbol": symbol, "color": color},
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


@cache_figure
def plot_steps(rows: pd.DataFrame, classes: dict[str, str], theme: Theme) -> go.Figure:
    """Plot the breakdown of a step, one stacked bar per run from top to bottom."""
    unit, size = fmt.unit_for(float(rows["step_ns"].max()), fmt.DURATION_UNITS)
    names = [fmt.escape_plotly(fmt.shortened(name, 32)) for name in rows["run"]]
    longest = float(rows["step_ns"].max())
    figure = go.Figure()
    for part, color in get_part_colors(classes, theme).items():
        values = rows[part].astype(float)
        figure.add_bar(
            x=values / size,
            y=list(range(len(rows))),
            orientation="h",
            name=PARTS[part],
            marker={"color": color, "line": {"width": 0}},
            text=[fmt.duration(ns) if ns >= _LABEL_SHARE * longest else "" for ns in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": choose_readable(color), "size": FONT_PX},
            hovertext=[
                f"<b>{PARTS[part]}</b>, {name}<br>{fmt.duration(ns)} of {fmt.duration(step)},"
                f" {fmt.percent(100 * ns / step)}"
                for name, ns, step in zip(names, values, rows["step_ns"].astype(float), strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    left = 20 + 7 * max(map(len, names))
    apply_frame(figure, theme, height=_BAR_PX * len(rows) + 66, left=left, right=24, top=30, bottom=32)
    figure.update_layout(barmode="stack", bargap=0.22, hovermode="closest", showlegend=True, legend=_LEGEND)
    figure.update_layout(legend_traceorder="normal", uniformtext={"minsize": FONT_PX, "mode": "hide"})
    figure.update_xaxes(ticksuffix=f" {unit}", nticks=6, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", showgrid=False, tickvals=list(range(len(rows))), ticktext=names)
    return figure


@cache_figure
def plot_waits(rows: pd.DataFrame, color: str, theme: Theme) -> go.Figure:
    """Plot the wait of each rank per step (``nccl.wait_rows``), one bar per rank."""
    unit, size = fmt.unit_for(float(rows["wait_step_ns"].max()), fmt.DURATION_UNITS)
    values = rows["wait_step_ns"].astype(float)
    figure = go.Figure(
        go.Bar(
            x=values / size,
            y=[f"rank {rank}" for rank in rows["rank"]],
            orientation="h",
            marker={"color": color, "line": {"width": 0}},
            text=[f" {fmt.duration(ns)}" for ns in values],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"<b>rank {row['rank']}</b>, {fmt.escape_plotly(row['report'])}<br>waits"
                f" {fmt.duration(row['wait_step_ns'])} per step of {fmt.duration(row['step_ns'])}<br>last to"
                f" arrive at {fmt.count(row['last'])} of {fmt.counted(row['matched'], 'operation')}"
                for _, row in rows.iterrows()
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    apply_frame(figure, theme, height=_BAR_PX * len(rows) + 40, left=64, right=70, top=4, bottom=32)
    figure.update_layout(bargap=0.25, hovermode="closest")
    figure.update_xaxes(ticksuffix=f" {unit}", nticks=6, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure
