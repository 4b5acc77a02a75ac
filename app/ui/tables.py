"""Tables: real numbers that sort, with their units in the headings, and the raw values as CSV."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import spreadsheet, theme
from app.ui.heads import Col

ROW_PX = 32
SCREEN = 20
"""Rows that a screen has room for; a longer table scrolls by itself."""

SELECTION: list[Literal["single-row", "single-cell"]] = ["single-row", "single-cell"]
"""What a click may select: a row by its box, or by any of its cells."""

_UNITS = {"duration": fmt.DURATION_UNITS, "bytes": fmt.BYTE_UNITS}


def table(
    frame: pd.DataFrame,
    columns: Sequence[Col],
    *,
    key: str,
    download: str,
    height: int | None = None,
    select: bool = False,
    hidden: Sequence[str] = (),
) -> int | None:
    """A sortable table with a CSV download below it.

    Args:
        frame: the rows, numbers in base units (ns, bytes, percent).
        columns: the columns to show, in order; those that the frame lacks are left out.
        key: unique on the page.
        download: file name of the CSV; it holds the raw values of the shown and the ``hidden`` columns.
        height: pixels; by default as many as the rows need, up to a screen.
        select: whether a click on a row selects it.
        hidden: further columns for the CSV only.

    Returns:
        The position in ``frame`` of the selected row, or None.
    """
    present = [c for c in columns if c.name in frame.columns]
    shown, config = drawn(frame, present)
    event: Any = st.dataframe(
        shown,
        height=height or ("content" if len(frame) < SCREEN else SCREEN * ROW_PX),
        row_height=ROW_PX,
        hide_index=True,
        column_config=config,
        key=key,
        on_select="rerun" if select else "ignore",
        selection_mode=SELECTION,
        placeholder="–",
    )
    raw = frame[[c.name for c in present] + [name for name in hidden if name in frame.columns]]
    _below(len(frame), lambda: spreadsheet.csv_text(raw).encode(), download, key)
    return _chosen(event.selection, len(frame)) if select else None


def drawn(frame: pd.DataFrame, columns: Sequence[Col]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What ``st.dataframe`` takes: the cells in their units, and the configuration of the columns."""
    units = column_units(frame, columns)
    shown = pd.DataFrame({c.name: _cells(frame[c.name], c, units) for c in columns})
    return shown, {c.name: _config(c, frame[c.name], units) for c in columns}


def _chosen(selection: Any, rows: int) -> int | None:
    """The row that was clicked: on its box, or on any of its cells."""
    picked = [*selection.rows, *(row for row, _ in selection.cells)]
    return int(picked[0]) if picked and picked[0] < rows else None


def _below(rows: int, data: Callable[[], bytes], download: str, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"{rows:,} row" + ("" if rows == 1 else "s"), width="content")
        st.download_button(
            "CSV",
            data,
            fmt.visible(download).replace("/", "_"),
            "text/csv",
            key=f"{key}-csv",
            help="All rows, values in base units",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )


def column_units(frame: pd.DataFrame, columns: Sequence[Col]) -> dict[str, tuple[str, float]]:
    """The unit (name, size) of each duration and bytes column, by the median of what is not 0."""
    own = {}
    for column in columns:
        if column.kind in _UNITS:
            source = column.like if column.like in frame.columns else column.name
            values = pd.to_numeric(frame[source], errors="coerce").abs()
            middle = fmt.number(values[values > 0].median())
            own[column.name] = fmt.unit_for(middle or 0, _UNITS[column.kind])
    return own


def _cells(values: "pd.Series[Any]", column: Col, units: dict[str, tuple[str, float]]) -> "pd.Series[Any]":
    if column.name in units:
        return pd.to_numeric(values, errors="coerce").astype("Float64") / units[column.name][1]
    if column.kind == "class":
        titles = theme.class_titles()
        return values.map(lambda name: [titles.get(name, name)] if isinstance(name, str) else [])
    if column.kind == "text":
        return values.map(fmt.visible, na_action="ignore")
    return values


def _config(column: Col, values: "pd.Series[Any]", units: dict[str, tuple[str, float]]) -> Any:
    unit = units[column.name][0] if column.name in units else column.unit
    if not unit and column.kind in ("percent", "bar"):
        unit = "%"
    label = f"{column.label} ({unit})" if unit else column.label
    common: dict[str, Any] = {
        "label": label,
        "width": column.width,
        "help": fmt.plain(column.help) or None,
        "pinned": column.pinned,
    }
    if column.kind == "text":
        return st.column_config.TextColumn(**common)
    if column.kind == "class":
        names = theme.class_titles()
        colors = theme.class_colors()
        return st.column_config.MultiselectColumn(
            **common, options=list(names.values()), color=[theme.tint(colors[name]) for name in names]
        )
    if column.kind == "bar":
        return st.column_config.ProgressColumn(**common, format="%.1f", min_value=0, max_value=100)
    return st.column_config.NumberColumn(**common, format=_number_format(column, values, units))


def _number_format(column: Col, values: "pd.Series[Any]", units: dict[str, tuple[str, float]]) -> str:
    """As many decimals as tell the middle of the column apart; the same in every row, so that the points align."""
    if column.kind == "count":
        return "%,d"
    if column.kind == "percent":
        return "%.1f"
    numbers = pd.to_numeric(values, errors="coerce") / units.get(column.name, ("", 1.0))[1]
    if not len(numbers.dropna()) or bool((numbers.dropna() % 1 == 0).all()):
        return "%,.0f"
    middle = fmt.number(numbers.abs().median()) or 0
    return f"%,.{3 if middle < 10 else 2 if middle < 100 else 1}f"
