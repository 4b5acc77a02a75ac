"""Sampled GPU metrics: their means, and charts over the capture. The URL keeps the chosen metrics."""

import re

import pandas as pd
import streamlit as st

from app import session
from app.selection import chart_drag
from app.ui import format as fmt
from app.ui import page_elements, theme, url_widgets
from app.views.idle import charts

KEY = "metrics"
FIRST = (r"^SMs? Active", r"^Tensor Active", r"^DRAM Read", r"^DRAM Write")
"""Metrics selected by default; their names differ between GPUs and nsys versions."""
MOST_GPUS = 4


def draw_metrics(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if no GPU metrics were sampled."""
    means = session.run(report_id, "gpu_metrics")
    rows = session.run(report_id, "gpu_metrics_over_time")
    st.subheader("GPU metrics", anchor=False)
    chosen = _choose_metrics(sorted(rows["metric"].unique()))
    if not chosen or rows.empty:
        st.caption("Choose metrics to draw." if len(rows) else "No sample lies in the capture.")
        return
    colors = dict(zip(chosen, theme.get_category_colors() * (1 + len(chosen) // 8), strict=False))
    end_ns = float(rows["capture_ns"].max())
    gpus = list(rows["gpu_id"].unique())
    for gpu in gpus[:MOST_GPUS]:
        if len(gpus) > 1:
            st.markdown(f"**GPU {int(gpu)}**")
        _draw_facts(means[means["gpu_id"] == gpu], chosen)
        _draw_lines(rows[rows["gpu_id"] == gpu], means, colors, end_ns, f"{int(gpu)}")
    if len(gpus) > MOST_GPUS:
        st.caption(f"And {len(gpus) - MOST_GPUS} more GPUs; the analysis gpu_metrics lists them all.")


def _choose_metrics(names: list[str]) -> list[str]:
    first = [name for pattern in FIRST for name in names if re.match(pattern, name)]
    return st.multiselect(
        "Metrics",
        names,
        **url_widgets.bind_options(KEY, names, first or names[:3], charts.shorten_metric),
        format_func=charts.shorten_metric,
    )


def _draw_facts(means: pd.DataFrame, chosen: list[str]) -> None:
    known = {row.metric: row for row in means.itertuples()}
    page_elements.draw_facts(
        [
            (
                charts.shorten_metric(name),
                _format_value(known[name].mean, known[name].unit),
                (
                    f"Mean of {fmt.counted(known[name].samples, 'sample')}; at most"
                    f" {_format_value(known[name].largest, known[name].unit)}."
                ),
            )
            for name in chosen
            if name in known
        ]
    )


def _format_value(value: object, unit: object) -> str:
    amount = fmt.number(value)
    if amount is None:
        return fmt.MISSING
    if unit == "%":
        return fmt.percent(amount)
    return f"{amount / 1e6:,.0f} MHz" if unit == "Hz" else f"{amount:,.1f}"


def _draw_lines(rows: pd.DataFrame, means: pd.DataFrame, colors: dict[str, str], end_ns: float, key: str) -> None:
    units = {row.metric: row.unit if isinstance(row.unit, str) else "" for row in means.itertuples()}
    for unit in dict.fromkeys(units.get(name, "") for name in colors):
        drawn = {name: color for name, color in colors.items() if units.get(name, "") == unit}
        figure = charts.plot_metrics(rows[rows["metric"].isin(drawn)], unit, drawn, end_ns, theme.get_theme())
        chart_drag.draw_chart(figure, f"metrics-{key}-{unit or 'other'}")
