"""Heat map of a run: ranks by steps. The browser code is in ``static/heat``: a chart of Plotly would take twice as
long to load as the rest of the page.
"""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.ui import format as fmt
from app.ui import served_component, theme
from app.ui.charts import ACCENT
from profiledb.studies.runs.run_tables import Matrix

Cell = tuple[int, int]
"""Row and column of a matrix."""
_COMPONENT = "heat"


def order_rows(values: Matrix, hosts: Sequence[str], order: str) -> list[int]:
    """Return the rows in order: by ``rank``, by ``node`` and rank, or by ``value``, the largest mean first."""
    rows = range(len(values))
    if order == "node":
        return sorted(rows, key=lambda row: (hosts[row], row))
    if order == "value":
        known = np.where(np.isnan(values), 0, values).sum(axis=1)
        return sorted(rows, key=lambda row: (-known[row], row))
    return list(rows)


def draw_map(
    values: Matrix, title: str, ranks: Sequence[int], hosts: Sequence[str], steps: Sequence[int], late: int | None,
    *, is_time: bool,
) -> Cell | None:  # fmt: skip
    """Draw the map, darker for more; return the cell that was clicked.

    Args:
        values: ns, or W unless ``is_time``, by rank and step; rows in the order to draw.
        title: what the values are.
        ranks: rank of each row.
        hosts: machine of each row; "" if unknown.
        steps: number of the step of each column, the first of several.
        late: rank that holds up the others; its label is bold.
        is_time: whether values are times.
    """
    result: Any = served_component.declare_component(_COMPONENT)(
        key="run-heat", data=_describe(values, title, ranks, hosts, steps, late, is_time=is_time),
        on_chosen_change=_do_nothing,
    )  # fmt: skip
    return parse_cell(result.chosen, values.shape)


def _describe(
    values: Matrix, title: str, ranks: Sequence[int], hosts: Sequence[str], steps: Sequence[int], late: int | None,
    *, is_time: bool,
) -> dict[str, Any]:  # fmt: skip
    known = values[~np.isnan(values)]
    low, high = (float(np.quantile(known, 0.02)), float(np.quantile(known, 0.995))) if known.size else (0.0, 1.0)
    unit = fmt.unit_for(high, fmt.DURATION_UNITS) if is_time else ("W", 1.0)
    return {
        "values": base64.b64encode(values.astype("<f4").tobytes()).decode(),
        "rows": [f"rank {rank}" for rank in ranks],
        "notes": [f" on {fmt.visible(host)}" if host else "" for host in hosts],
        "columns": [str(step) for step in steps],
        "column": "Step",
        "marked": next((row for row, rank in enumerate(ranks) if rank == late), None),
        "low": low,
        "high": max(high, low + 1),
        "ends": [fmt.duration(value) if is_time else f"{value:.0f} W" for value in (low, high)],
        "unit": unit,
        "color": ACCENT[theme.get_theme()],
        "label": f"{title} of {len(ranks)} ranks in {len(steps)} steps",
    }


def parse_cell(chosen: Any, shape: tuple[int, ...]) -> Cell | None:
    """Return the cell that a browser names; None if it is none of the map."""
    if not isinstance(chosen, list) or len(chosen) != 2 or not all(type(place) is int for place in chosen):
        return None
    row, column = chosen
    return (row, column) if 0 <= row < shape[0] and 0 <= column < shape[1] else None


def _do_nothing() -> None:
    """Do nothing: the rerun that follows reads the cell."""
