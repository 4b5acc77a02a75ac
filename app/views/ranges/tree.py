"""The tree of ranges as a table, and the choice of the range to show."""

import zlib
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import table_columns, tables, url_widgets
from profiledb.studies import range_tree

ROWS = range_tree.ROWS
HEIGHT_ROWS = 13
PARAMETER = "path"
_CLICKED = "nvtx-clicked"
_INDENT = "\u2003\u2002"

COLUMNS = table_columns.choose_columns(
    "nvtx_tree",
    table_columns.use("name", click="shows its details below", name="tree", width=340),
    table_columns.Col(
        "share_pct", "Share", kind="bar", help="Share of the time of all ranges in this selection", width=100
    ),
    table_columns.use("busy_ns", width=84),
    table_columns.use("gpu_ns", width=78),
    table_columns.Col("busy_pct", "Busy", kind="percent", help="GPU busy as a share of GPU time"),
    table_columns.use("cpu_ns", width=78),
    table_columns.use("self_ns", width=78),
    "operations",
    "instances",
    "threads",
)
GPU_COLUMNS = ("busy_ns", "gpu_ns", "busy_pct", "operations")
HIDDEN = ("path", "level", "kernel_ns", "style", "first_ns", "warmup")


def draw_tree(report_id: str, top: pd.DataFrame, facts: "pd.Series[Any]") -> str | None:
    """Draw the table and return the path clicked in this run; ``top`` are the largest paths."""
    st.subheader("Tree", anchor=False)
    search, depth = _draw_controls(top)
    params: dict[str, Any] = {"limit": ROWS} | ({"search": search} if search else {"depth": depth} if depth else {})
    rows = session.run(report_id, "nvtx_tree", **params)
    if rows.empty:
        st.info("No range name contains this text.")
        return None
    shown = _add_words(rows, facts, flat=bool(search))
    columns = [column for column in COLUMNS if column.name in shown.columns]
    if not search and bool((rows["threads"] == 1).all()):
        columns = [column for column in columns if column.name != "threads"]
    key = f"tree-{zlib.crc32('/'.join(map(str, rows['path_id'])).encode())}"
    height = (HEIGHT_ROWS + 1) * tables.ROW_PX if len(rows) > HEIGHT_ROWS else None
    chosen = tables.draw_table(
        shown, columns, key=key, download="nvtx_tree.csv", select=True, hidden=HIDDEN, height=height
    )
    _say_left_out(rows, facts, search=bool(search), depth=depth)
    return _find_new_click(None if chosen is None else str(rows["path"].iloc[chosen]))


def _draw_controls(top: pd.DataFrame) -> tuple[str, int | None]:
    """Draw the search field and the level selector; return the text and the depth (None for all levels)."""
    levels, opens = range_tree.count_rows_by_level(top), range_tree.choose_levels(top)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", placeholder="Part of a name", width=360, **url_widgets.bind_text("find"))
        depth = opens
        if len(levels) > 1:
            depth = st.selectbox(
                "Levels",
                list(range(1, len(levels) + 1)),
                format_func=partial(_format_level, len(levels)),
                disabled=bool(search.strip()),
                help="How many levels the tree shows. A search covers all levels.",
                **url_widgets.bind_option(
                    "levels", range(1, len(levels) + 1), opens, partial(_format_level, len(levels))
                ),
                width=140,
            )
    return search.strip(), range_tree.choose_depth(top, depth)


def _format_level(deepest: int, level: int) -> str:
    return "All" if level == deepest else str(level)


def _add_words(rows: pd.DataFrame, facts: "pd.Series[Any]", *, flat: bool) -> pd.DataFrame:
    """Add the display columns, and drop the GPU columns if the report has no GPU activity."""
    lowest = int(rows["level"].min())
    names = rows["path"] if flat else [_INDENT * (row.level - lowest) + row.name for row in _list_named(rows)]
    measure = "busy_ns" if fmt.number(facts["busy_ns"]) else "cpu_ns"
    shown = rows.assign(
        tree=names,
        share_pct=100.0 * rows[measure].astype("Float64").fillna(0) / (fmt.number(facts[measure]) or 1),
        busy_pct=100.0 * rows["busy_ns"].astype("Float64") / rows["gpu_ns"].astype("Float64"),
    )
    return shown if fmt.number(facts["operations"]) is not None else shown.drop(columns=list(GPU_COLUMNS))


def _list_named(rows: pd.DataFrame) -> Any:
    return rows[["level", "name"]].rename_axis(None).itertuples(index=False)


def _say_left_out(rows: pd.DataFrame, facts: "pd.Series[Any]", *, search: bool, depth: int | None) -> None:
    """Say how many ranges the table leaves out."""
    fitting = int(rows["paths"].iloc[0])
    if fitting > len(rows):
        st.caption(f"The {fmt.count(len(rows))} longest are shown; {fmt.count(fitting - len(rows))} more match.")
    elif not search and depth and fitting < int(facts["paths"]):
        st.caption(f"{fmt.count(int(facts['paths']) - fitting)} nested ranges hidden. Increase Levels to show them.")


def _find_new_click(path: str | None) -> str | None:
    """Return the path if it was clicked in this run; an older click must not override a newer URL."""
    new = path if path != st.session_state.get(_CLICKED) else None
    st.session_state[_CLICKED] = path
    return new


def choose(report_id: str, top: pd.DataFrame, clicked: str | None) -> str:
    """Return the range to show: the clicked one, the one in the URL, or the outermost one with the most time."""
    if clicked:
        st.query_params[PARAMETER] = clicked
    if named := st.query_params.get(PARAMETER):
        if len(session.run(report_id, "nvtx_tree", path=named, limit=1)):
            return named
        st.info(f"The range {fmt.plain(fmt.shortened(named, 120))} is not in this selection.")
    return range_tree.find_outermost(top)
