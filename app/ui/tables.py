"""Tables: sortable numbers, each formatted in a suitable unit, with a CSV download of the raw values."""

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from app.ui import cell_text, name_card, short_names, theme
from app.ui import format as fmt
from app.ui.figure_cache import cache_figure
from app.ui.table_columns import Col, Kind, Width
from profiledb import spreadsheet

ROW_PX = 32
_BORDERS_PX = 2
SCREEN = 20
"""Rows that fit on a screen; longer tables scroll."""

_Parts = tuple[Any, dict[str, Any], dict[str, str]]
"""Formatted cells, column configuration, and full names by cell text."""

Selects = list[Literal["single-row", "single-cell"]]
SELECTION: Selects = ["single-row", "single-cell"]
"""Selection modes in which a click on the row's box or on any of its cells selects it."""
BY_NAME: Selects = ["single-cell"]
"""Selection mode in which only cells of some columns open anything; the others can still be copied."""

MOST_WRITTEN = 20_000
"""Cells up to which each is formatted individually (0.2 s); longer tables use one unit per column."""
_CHARACTER_PX, _EDGES_PX = 7.5, 18
"""Approximate width of a character, and padding of a cell."""
_COLUMN_PX = 92
"""Approximate width of a column that has none of its own."""
_NARROW_PX = 660
"""Room for the columns of a table in a narrow window."""
_NAMES_PX = 180
"""Minimum width of a column of names, which are cut so that no two look alike. Text in narrower columns is never cut:
short words would be unreadable."""
_SHARE = "share"
"""Word in the names of percentages that divide a whole: their bars scale to the largest, others to 100 %."""

_WRITTEN: dict[Kind, Callable[[Any], str]] = {
    "duration": fmt.duration,
    "bytes": fmt.bytes_,
    "rate": fmt.rate,
    "work": fmt.work,
    "flops": fmt.flops,
    "percent": lambda value: fmt.percent(value).removesuffix(" %"),
    "number": fmt.significant,
}
"""Formatters for single cells, each choosing its own unit: one column can hold both seconds and nanoseconds."""
_SCALES: dict[Kind, Any] = {
    "duration": fmt.DURATION_UNITS, "bytes": fmt.BYTE_UNITS, "rate": fmt.BYTE_UNITS, "work": fmt.FLOP_UNITS,
    "flops": fmt.FLOP_UNITS,
}  # fmt: skip
_PER: dict[Kind, str] = {"rate": "/s", "flops": "/s"}
_FORMATS: dict[Kind, str] = {"count": "%,d", "moment": "%,.3f"}


def draw_table(
    frame: pd.DataFrame,
    columns: Sequence[Col],
    *,
    key: str,
    download: str,
    height: int | None = None,
    select: bool = False,
    hidden: Sequence[str] = (),
) -> int | None:
    """Draw a sortable table with a CSV download below it.

    Args:
        frame: the rows, with numbers in base units (ns, bytes, percent).
        columns: the columns to show, in order; columns that the frame lacks are skipped.
        key: unique on the page.
        download: file name of the CSV, which holds the raw values of the shown and the ``hidden`` columns.
        height: pixels; by default fits the rows, up to a screen.
        select: whether a click selects a row: on columns with ``Col.click``, or anywhere if there are none.
        hidden: additional columns for the CSV only.

    Returns:
        The position in ``frame`` of the selected row, or None.
    """
    present = [c for c in columns if c.name in frame.columns]
    shown, config, whole = _read_parts(name_card.tell_kernels_apart(frame), present)
    config = fit_columns(config, {c.name: c.width for c in present})
    leading = [c.name for c in present if c.click]
    with st.container(key=f"table-room-{key}"):  # room for its tools before it is drawn
        event: Any = st.dataframe(
            shown,
            height=height or min(len(frame) + 1, SCREEN) * ROW_PX + _BORDERS_PX,
            row_height=ROW_PX,
            hide_index=True,
            column_config=config,
            key=key,
            on_select="rerun" if select else "ignore",
            selection_mode=BY_NAME if leading else SELECTION,
            placeholder="–",
        )
    names = [c.name for c in present if c.kind != "line"] + [name for name in hidden if name in frame.columns]
    raw = list(dict.fromkeys(names))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"{len(frame):,} row" + ("" if len(frame) == 1 else "s"), width="content")
        counts = _draw_name_card(whole, present, config, key, opens=select)
        _draw_download(lambda: spreadsheet.format_csv(frame[raw]).encode(), download, key)
    return _read_chosen_row(event.selection, len(frame), leading) if select and counts else None


def fit_columns(config: Mapping[str, Any], widths: Mapping[str, Width]) -> dict[str, Any]:
    """Return the configuration of a table for this window: a narrow one hides the last columns, which weigh least.

    The table's own menu shows them again.
    """
    left = _NARROW_PX if theme.is_narrow() else math.inf
    fitting = {}
    for name, one in config.items():
        width = widths[name]
        left -= width if isinstance(width, int) else _COLUMN_PX
        fitting[name] = one | {"hidden": True} if left < 0 else one
    return fitting


def _read_parts(frame: pd.DataFrame, columns: Sequence[Col]) -> _Parts:
    """Return the parts of a table, cached unless it is so large that it would evict everything else."""
    if len(frame) * len(columns) > MOST_WRITTEN:
        return (*build_arguments(frame, columns), name_card.map_names(frame))
    wanted = [name for name in frame.columns if name in name_card.NEEDED or any(c.name == name for c in columns)]
    built = _build_parts(frame[wanted], tuple(columns), theme.get_class_titles(), theme.get_class_colors())
    cells, texts, config, whole = pickle.loads(built)  # noqa: S301 (pickled below, never leaves this process)
    return cell_text.style_cells(cells, texts), config, whole


@cache_figure
def _build_parts(frame: pd.DataFrame, columns: Sequence[Col], *classes: Mapping[str, str]) -> bytes:  # noqa: ARG001 (key)
    """Return the parts of a table, pickled: frames and a Styler of a few rows are thousands of objects."""
    (cells, texts), config = build_arguments(
        frame, columns, lambda cells, words: (cells, cell_text.format_cells(cells, words))
    )
    return pickle.dumps((cells, texts, config, name_card.map_names(frame)), protocol=pickle.HIGHEST_PROTOCOL)


def _style_cells(cells: pd.DataFrame, words: Any) -> Any:
    return cells.style.format(words)


def build_arguments(
    frame: pd.DataFrame, columns: Sequence[Col], style: Callable[..., Any] = _style_cells
) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of ``st.dataframe``: sortable numbers with formatted text, and the column configuration."""
    if len(frame) * len(columns) > MOST_WRITTEN:
        return _build_long(frame, columns)
    cells = pd.DataFrame({c.name: _convert_cells(frame[c.name], c) for c in columns}).reset_index(drop=True)
    words = {c.name: word for c in columns if (word := _choose_formatter(frame[c.name], c))}
    return style(cells, words), {c.name: _configure_column(c, frame[c.name]) for c in columns}


def _build_long(frame: pd.DataFrame, columns: Sequence[Col]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the same for a large table: each column has one unit, that of its largest value, in the heading."""
    cells, config = {}, {}
    for column in columns:
        values, units = frame[column.name], _SCALES.get(column.kind)
        cells[column.name] = _convert_cells(values, column)
        config[column.name] = _configure_column(column, values)
        if column.kind == "percent":
            config[column.name] |= {"type_config": {"type": "number", "format": "%.1f"}}
        if units:
            numbers = pd.to_numeric(values, errors="coerce").astype("Float64")
            unit, size = fmt.unit_for(fmt.number(numbers.abs().max()) or 0.0, units)
            cells[column.name] = numbers / size
            label = f"{column.label} ({unit}{_PER.get(column.kind, '')})"
            config[column.name] |= {"label": label, "type_config": {"type": "number", "format": "%,.3f"}}
    return pd.DataFrame(cells).reset_index(drop=True), config


def _read_chosen_row(selection: Any, rows: int, leading: Sequence[str]) -> int | None:
    """Return the clicked row: by a cell of a leading column or, if there are none, by its box or any cell."""
    cells = [row for row, column in selection.cells if not leading or column in leading]
    picked = [*([] if leading else selection.rows), *cells]
    return int(picked[0]) if picked and picked[0] < rows else None


def _draw_name_card(
    whole: Mapping[str, str], columns: Sequence[Col], config: Mapping[str, Any], key: str, *, opens: bool
) -> bool:
    """Draw the full-name card if the table has names or clickable rows; return whether a selected cell is a click."""
    named = [c for c in columns if _measure_name_px(c)]
    if not named and not opens:
        return True
    return name_card.add_card(
        key,
        names=[config[c.name]["label"] for c in named],
        widths={config[c.name]["label"]: c.width for c in columns if isinstance(c.width, int)},
        row_px=ROW_PX,
        whole=whole,
        opens=opens,
        boxes=opens and not any(c.click for c in columns),
    )


def _measure_name_px(column: Col) -> int | None:
    """Return the width of a column of names; None for other columns."""
    wide = column.kind == "text" and isinstance(column.width, int) and column.width >= _NAMES_PX
    return column.width if wide and isinstance(column.width, int) else None


def _draw_download(data: Callable[[], bytes], name: str, key: str) -> None:
    st.download_button(
        "CSV",
        data,
        fmt.visible(name).replace("/", "_"),
        "text/csv",
        key=f"{key}-csv",
        help="All rows, values in base units",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def _convert_cells(values: "pd.Series[Any]", column: Col) -> "pd.Series[Any]":
    if column.kind == "class":
        titles = theme.get_class_titles()
        return values.map(lambda name: [titles.get(name, name)] if isinstance(name, str) else [])
    if column.kind == "text":
        return values.map(fmt.visible, na_action="ignore")
    if column.kind == "moment":
        return pd.to_numeric(values, errors="coerce").astype("Float64") / choose_moment_unit(values)[1]
    return values


def choose_moment_unit(values: "pd.Series[Any]") -> tuple[str, float]:
    """Return the unit (name, size) for all moments of a column: ms, or µs below 1 ms, so that they stay distinct."""
    latest = fmt.number(pd.to_numeric(values, errors="coerce").abs().max()) or 0.0
    return ("ms", 1e6) if latest >= 1e6 else ("µs", 1e3)


def _choose_formatter(values: "pd.Series[Any]", column: Col) -> Callable[[Any], str] | None:
    """Return the formatter of a column's cells; None if the column configuration formats them."""
    if column.kind == "text":
        width = _measure_name_px(column)
        names = map(fmt.visible, values[values.map(lambda value: isinstance(value, str))]) if width else ()
        short = short_names.tell_apart(names, int((width - _EDGES_PX) / _CHARACTER_PX)) if width else {}
        return lambda value: short.get(value, format_cell(value))
    form = fmt.count if column.kind == "number" and _are_whole(values) else _WRITTEN.get(column.kind)
    return partial(_format_signed, form) if form and column.signed else form


def _format_signed(form: Callable[[Any], str], value: Any) -> str:
    """Format a change: a plus for growth, no sign for a value that rounds to zero."""
    size = fmt.number(value)
    shown = form(value if size is None else abs(size))
    if size is None or shown == form(0) or shown.startswith("<"):
        return shown if size is None else form(0)
    return ("+" if size > 0 else "−") + shown


def format_cell(value: Any) -> str:
    """Return the text of a cell, or the placeholder for a missing value."""
    if not isinstance(value, str):
        return fmt.MISSING if pd.isna(value) else str(value)
    return value


def _are_whole(values: "pd.Series[Any]") -> bool:
    numbers = pd.to_numeric(values, errors="coerce").dropna()
    return bool((numbers % 1 == 0).all())


def _configure_column(column: Col, values: "pd.Series[Any]") -> Any:
    unit = choose_moment_unit(values)[0] if column.kind == "moment" else column.unit
    if not unit and column.kind in ("percent", "bar"):
        unit = "%"
    label = f"{column.label} ({unit})" if unit else column.label
    common: dict[str, Any] = {"label": label, "width": column.width, "help": fmt.plain(column.help) or None}
    if column.kind == "text":
        return st.column_config.TextColumn(**common)
    if column.kind == "class":
        names = theme.get_class_titles()
        colors = theme.get_class_colors()
        return st.column_config.MultiselectColumn(
            **common, options=list(names.values()), color=[theme.tint(colors[name]) for name in names]
        )
    if column.kind == "bar":
        largest = fmt.number(pd.to_numeric(values, errors="coerce").max()) if _SHARE in column.name else None
        return st.column_config.ProgressColumn(**common, format="%.1f", min_value=0, max_value=largest or 100)
    if column.kind == "line":
        return st.column_config.LineChartColumn(**common)
    return st.column_config.NumberColumn(**common, format=_FORMATS.get(column.kind))
