"""Plotly figures of the Idle page: GPU metrics over time."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import NS_PER_X, Theme, apply_frame, place_legend
from app.ui.figure_cache import cache_figure


@cache_figure
def plot_metrics(rows: pd.DataFrame, unit: str, colors: Mapping[str, str], end_ns: float, theme: Theme) -> go.Figure:
    """Plot the GPU metrics of one unit over the capture (``gpu_metrics_over_time``), in the order of ``colors``."""
    x_unit, x_size = fmt.unit_for(end_ns, fmt.DURATION_UNITS)
    size = 1e6 if unit == "Hz" else 1.0
    suffix = {"Hz": " MHz", "%": " %"}.get(unit, "")
    figure = go.Figure()
    for name in (name for name in colors if name in set(rows["metric"])):
        line = rows[rows["metric"] == name]
        figure.add_scatter(
            x=line["time_ns"].astype(float) / x_size,
            y=line["mean"].astype(float) / size,
            mode="lines",
            name=fmt.escape_plotly(shorten_metric(name)),
            line={"width": 1.5, "color": colors[name]},
            hovertemplate=f"%{{y:,.1f}}{suffix}<extra>{fmt.escape_plotly(shorten_metric(name))}</extra>",
        )
    top = min(103.0, max(5.0, 1.15 * (fmt.number(rows["mean"].max()) or 0)))
    apply_frame(figure, theme, height=220, left=58, top=30, bottom=24)
    place_legend(figure)
    figure.update_layout(hovermode="x", meta={NS_PER_X: x_size})
    figure.update_xaxes(range=[0, end_ns / x_size], ticksuffix=f" {x_unit}", nticks=8)
    figure.update_yaxes(ticksuffix=suffix, nticks=5, **({"range": [0, top]} if unit == "%" else {}))
    return figure


def shorten_metric(name: str) -> str:
    """Drop the "[Throughput %]" suffix of a metric name; its values are already shown in percent."""
    return name.removesuffix(" [Throughput %]")
