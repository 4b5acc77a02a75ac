"""The answer: a table, file downloads, and a chart of two columns."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, tables, theme
from app.ui import format as fmt
from app.views.sql import answer_cache, charts
from profiledb import spreadsheet
from profiledb.console import answer_file
from profiledb.console.question_process import Answer
from profiledb.library.catalog import Manifest
from profiledb.query.analysis import convert_frame

_MOST_POINTS = 5_000


def draw_result(manifest: Manifest, sql: str, answer: Answer) -> None:
    frame = convert_frame(answer.rows)
    _draw_table(frame)
    _draw_files(manifest, sql, answer)
    if not frame.empty and len(frame.columns) > 1:
        _draw_chart(frame)


def _draw_table(frame: pd.DataFrame) -> None:
    shown = pd.DataFrame({name: _clean_cells(frame[name]) for name in frame.columns})
    config: dict[str, Any] = {name: {"label": fmt.visible(name)} for name in shown.columns}
    st.dataframe(
        shown,
        hide_index=True,
        column_config=config,
        row_height=tables.ROW_PX,
        height="content" if len(shown) < tables.SCREEN else tables.SCREEN * tables.ROW_PX,
        placeholder=fmt.MISSING,
        key="sql-table",
    )


def _clean_cells(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Remove control characters from text; numbers and times stay as they are."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return values
    return values.map(fmt.visible, na_action="ignore")


def _draw_files(manifest: Manifest, sql: str, answer: Answer) -> None:
    shelf = session.library()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        rows = fmt.counted(answer.rows.num_rows, "row")
        st.caption(f"The first {rows}; files hold more." if answer.cut else rows, width="content")
        with st.container(horizontal=True, width="content"):
            _draw_file_button(
                "CSV",
                "answer.csv",
                "text/csv",
                lambda: _encode_csv(answer_cache.read_whole(shelf, manifest, sql, answer)),
            )
            _draw_file_button(
                "Parquet",
                "answer.parquet",
                "application/vnd.apache.parquet",
                lambda: answer_file.encode_rows(answer_cache.read_whole(shelf, manifest, sql, answer).rows, "parquet"),
            )


def _encode_csv(answer: Answer) -> bytes:
    return spreadsheet.format_csv(convert_frame(answer.rows)).encode(errors="replace")


def _draw_file_button(label: str, name: str, kind: str, data: Any) -> None:
    st.download_button(
        label, data, name, kind, key=f"sql-{label}", on_click="ignore", type="tertiary", icon=":material/download:",
        help="All rows, up to a million",
    )  # fmt: skip


def _draw_chart(frame: pd.DataFrame) -> None:
    """Draw a chart of the chosen columns, if any column is numeric."""
    numbers = [name for name in frame.columns if charts.is_number(frame[name])]
    if not numbers:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control("Chart", charts.KINDS, default=None, key="sql-chart")
        if not kind:
            return
        names = list(frame.columns)
        x = st.selectbox("x", names, key="sql-x", format_func=fmt.visible)
        ys = [name for name in numbers if name != x] or numbers
        y = st.selectbox("y", ys, key="sql-y", format_func=fmt.visible)
    if len(frame) > _MOST_POINTS:
        st.caption(f"The chart has the first {fmt.count(_MOST_POINTS)} rows.")
    chart_element.draw_chart(
        charts.plot_answer(frame[list(dict.fromkeys((x, y)))].head(_MOST_POINTS), kind, theme.get_theme()), "sql-figure"
    )
