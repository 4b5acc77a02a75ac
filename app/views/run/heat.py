"""Heat map of a run: ranks by steps. No Streamlit, no SQL."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.ui import charts
from app.ui import format as fmt
from app.ui.charts import ACCENT, GROUND, Theme
from app.ui.figure_cache import kept
from profiledb.studies.runs.run_tables import Matrix

_MOST_TEXTS = 100_000
"""Most cells with a text of their own: of more the hover says the time alone."""
_TALL, _LOW = 22, 3
_HEIGHT = 480
_LABELS = 16


def order_rows(values: Matrix, hosts: Sequence[str], order: str) -> list[int]:
    """Return the rows in order: by ``rank``, by ``node`` and rank, or by ``value``, the largest mean first."""
    rows = range(len(values))
    if order == "node":
        return sorted(rows, key=lambda row: (hosts[row], row))
    if order == "value":
        known = np.where(np.isnan(values), 0, values).sum(axis=1)
        return sorted(rows, key=lambda row: (-known[row], row))
    return list(rows)


@kept
def draw(
    values: Matrix, ranks: Sequence[int], hosts: Sequence[str], steps: Sequence[int], late: int | None,
    theme: Theme,
) -> go.Figure:  # fmt: skip
    """Return the figure, darker for longer; the straggler's label is bold.

    Args:
        values: ns by rank and step, rows in the order to draw.
        ranks: rank of each row.
        hosts: machine of each row; "" if unknown.
        steps: number of the step of each column, the first of several.
        late: rank that holds up the others.
        theme: light or dark.
    """
    known = values[~np.isnan(values)]
    low, high = (float(np.quantile(known, 0.02)), float(np.quantile(known, 0.995))) if known.size else (0.0, 1.0)
    text = [
        [f"rank {rank}{f' on {fmt.plotly_text(host)}' if host else ''}, step {step}<br><b>{fmt.duration(ns)}</b>"
         for step, ns in zip(steps, row, strict=True)]
        for rank, host, row in zip(ranks, hosts, values, strict=True)
    ] if values.size <= _MOST_TEXTS else None  # fmt: skip
    figure = go.Figure(
        go.Heatmap(
            z=values, x=list(range(len(steps))), y=list(range(len(ranks))), zmin=low, zmax=max(high, low + 1),
            text=text, hovertemplate="%{text}<extra></extra>" if text else "%{z:,.0f} ns<extra></extra>",
            colorscale=[[0, charts.faded(ACCENT[theme], 0.06)], [1, ACCENT[theme]]], hoverongaps=False,
            xgap=1 if len(steps) <= 100 else 0, ygap=1 if len(ranks) <= 64 else 0,
            colorbar={
                "tickvals": [low, (low + high) / 2, high],
                "ticktext": [fmt.duration(ns) for ns in (low, (low + high) / 2, high)],
            },
        )
    )  # fmt: skip
    height = min(_HEIGHT, max(_LOW, min(_TALL, _HEIGHT // max(1, len(ranks)))) * len(ranks))
    charts.frame(figure, theme, height=74 + height, left=74, bottom=44)
    shown = range(0, len(steps), max(1, -(-len(steps) // _LABELS)))
    figure.update_xaxes(title_text="Step", tickvals=list(shown), ticktext=[str(steps[place]) for place in shown])
    rows = sorted({*range(0, len(ranks), max(1, -(-len(ranks) // _LABELS))), *_find_row(ranks, late)})
    figure.update_yaxes(
        tickvals=rows, autorange="reversed", showgrid=False,
        ticktext=[f"<b>rank {ranks[row]}</b>" if ranks[row] == late else f"rank {ranks[row]}" for row in rows],
    )  # fmt: skip
    figure.update_layout(plot_bgcolor=GROUND[theme])
    return figure


def _find_row(ranks: Sequence[int], late: int | None) -> list[int]:
    return [row for row, rank in enumerate(ranks) if rank == late]
