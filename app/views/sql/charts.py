"""Charts of an answer: no Streamlit."""

from typing import Any, Literal, get_args

import pandas as pd
import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, Theme, apply_frame
from app.ui.figure_cache import cache_figure

Kind = Literal["Bars", "Line", "Points"]
KINDS = get_args(Kind)
_LONGEST = 40
"""Longest axis label in characters."""


def is_number(values: "pd.Series[Any]") -> bool:
    """Return True if the column can be plotted on the y axis."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


@cache_figure
def plot_answer(rows: pd.DataFrame, kind: Kind, theme: Theme) -> go.Figure:
    """Plot the last column against the first, in row order."""
    x, y = rows.columns[0], rows.columns[-1]
    across, up = _place_values(rows[x]), rows[y].astype(float)
    color = ACCENT[theme]
    if kind == "Bars":
        trace: Any = go.Bar(x=across, y=up, marker={"color": color, "line": {"width": 0}})
    else:
        mode = "lines" if kind == "Line" else "markers"
        trace = go.Scatter(x=across, y=up, mode=mode, line={"color": color, "width": 1.5}, marker={"color": color})
    trace.hovertemplate = "%{x}<br><b>%{y:,}</b><extra></extra>"
    figure = go.Figure(trace)
    apply_frame(figure, theme, height=340, left=64, top=12, bottom=56)
    figure.update_xaxes(title_text=fmt.escape_plotly(x), automargin=True)
    figure.update_yaxes(title_text=fmt.escape_plotly(y))
    return figure


def _place_values(values: "pd.Series[Any]") -> Any:
    """Return x values: numbers and times unchanged, anything else as escaped, shortened text."""
    if is_number(values):
        return values.astype(float)
    if pd.api.types.is_datetime64_any_dtype(values):
        return values
    return [fmt.escape_plotly(fmt.shortened(str(value), _LONGEST)) for value in values]
