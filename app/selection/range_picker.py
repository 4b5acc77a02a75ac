"""The range picker of the selection bar: a searchable tree of ranges to check, and the instances of selected ranges."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection as selecting
from app.selection.page_selection import Settled
from app.selection.url_parameters import split
from app.ui import format as fmt
from app.ui import table_columns, tables

SHOWN = 200
"""Maximum number of rows drawn; a search finds the others."""
PICKER_PX = 640
TABLE_PX = 340
_INDENT = "\u2003"
_PATHS, _NAMES = "Tree", "By name"
COLUMNS = table_columns.choose_columns(
    "nvtx_tree",
    table_columns.use("name", name="shown", width=340),
    "gpu_ns",
    "kernel_ns",
    "instances",
)


def draw_picker(settled: Settled) -> None:
    """Draw the button and, once it is open, the picker."""
    key = f"{settled.key}ranges"
    popover = st.popover("Ranges", icon=":material/account_tree:", key=key, on_change="rerun")
    if not popover.open:
        return
    with popover, st.container(width=PICKER_PX):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            search = st.text_input(
                "Search", key=f"{settled.key}ranges-search", placeholder="Part of a path, such as step/forward"
            )
            by = st.segmented_control(
                "List", [_PATHS, _NAMES], default=_PATHS, required=True, key=f"{settled.key}ranges-by"
            )
        rows = group_by_name(_read_tree(settled)) if by == _NAMES else _read_tree(settled)
        matches = rows
        if wanted := search.strip():
            matches = rows[rows["text"].str.contains(wanted, case=False, regex=False)]
            # Out of its tree, a row needs its full path.
            matches = matches.assign(shown=matches["text"].map(fmt.visible))
        _draw_table(settled, matches.head(SHOWN).reset_index(drop=True), f"{by}-{search}")
        if len(matches) > SHOWN:
            st.caption(f"{fmt.count(len(matches) - SHOWN)} more. Use the search to find them.")
        elif matches.empty:
            st.caption("No ranges match.")
        _draw_instances(settled)


def _read_tree(settled: Settled) -> pd.DataFrame:
    """Return all range paths in tree order, whatever is selected; ``text`` is the value used in a selection."""
    tree = session.run_whole(settled.report_id, "nvtx_tree", mode=settled.chosen.mode)
    shown = [_INDENT * int(level) + fmt.visible(name) for level, name in zip(tree["level"], tree["name"], strict=True)]
    return tree.assign(text=tree["path"], shown=shown)


def group_by_name(tree: pd.DataFrame) -> pd.DataFrame:
    """Group the ranges by name.

    A name that is also a full path selects that path only, so it is dropped if several paths share it.
    """
    grouped = tree.groupby("name", sort=False)
    names = grouped[["gpu_ns", "kernel_ns", "instances"]].sum(min_count=1)
    names["paths"] = grouped.size()
    names = names[~names.index.isin(tree["path"]) | (names["paths"] == 1)].reset_index()
    return names.assign(text=names["name"], shown=names["name"])


def _draw_table(settled: Settled, rows: pd.DataFrame, what: str) -> None:
    """Draw the rows with checkboxes.

    The table keeps its own state, so a new key resets it when another widget changes the ranges.
    """
    chosen = {text: split(text, settled.paths)[0] for text in settled.chosen.ranges}
    state = st.session_state.setdefault(f"{settled.key}ranges-state", {"number": 0, "ranges": None})
    if state["ranges"] != settled.chosen.ranges:
        state |= {"number": state["number"] + 1, "ranges": settled.chosen.ranges}
    key = f"{settled.key}ranges-table-{state['number']}-{settled.report_id}-{what}"

    def changed() -> None:
        ticked = [rows["text"].iloc[row] for row in st.session_state[key].selection.rows if row < len(rows)]
        there = set(rows["text"])
        retained = [text for text, name in chosen.items() if name in ticked or name not in there]
        ranges = (*retained, *(text for text in ticked if text not in chosen.values()))
        selecting.write_selection(settled, ranges=ranges, **({} if ranges else {"skip_first": 0}))
        state["ranges"] = ranges

    shown, config = tables.build_arguments(rows, COLUMNS)
    st.dataframe(
        shown,
        column_config=config,
        hide_index=True,
        height=TABLE_PX if len(rows) * tables.ROW_PX > TABLE_PX else "content",
        row_height=tables.ROW_PX,
        key=key,
        on_select=changed,
        selection_mode="multi-row",
        selection_default=_tick_rows(rows, set(chosen.values())),
        placeholder="–",
    )


def _tick_rows(rows: pd.DataFrame, chosen: set[str]) -> Any:
    return {"selection": {"rows": [number for number, text in enumerate(rows["text"]) if text in chosen]}}


def _draw_instances(settled: Settled) -> None:
    """Draw the instances that count for each selected range, and how many first ones to skip."""
    ranges = settled.chosen.ranges
    if not ranges:
        st.caption("Select ranges to see only what runs inside them.")
        return
    for number, text in enumerate(ranges):
        _draw_instance(settled, number, text)
    parts = [split(text, settled.paths) for text in ranges]
    most = min(min(last or most, most) for _, _, last, most in parts)
    key = f"{settled.key}ranges-first"
    st.session_state[key] = settled.chosen.skip_first
    if most > 1:
        st.number_input(
            "Skip the first instances of each",
            help="Instances are numbered from 1 on each thread",
            min_value=0,
            max_value=most - 1,
            key=key,
            on_change=lambda: selecting.write_selection(settled, skip_first=st.session_state[key]),
            width=260,
        )


def _draw_instance(settled: Settled, number: int, text: str) -> None:
    name, first, last, most = split(text, settled.paths)
    keys = (f"{settled.key}ranges-low-{number}", f"{settled.key}ranges-high-{number}")
    st.session_state[keys[0]], st.session_state[keys[1]] = first or 1, min(last or most, most)

    def changed(moved: int) -> None:
        ends = [int(st.session_state[key]) for key in keys]
        ends[1 - moved] = max(ends) if (moved == 0 and ends[0] > ends[1]) else ends[1 - moved]
        ends[0] = min(ends)
        ranges = list(settled.chosen.ranges)
        ranges[number] = format_range(name, ends[0], ends[1], most)
        st.session_state[f"{settled.key}ranges-state"]["ranges"] = tuple(ranges)
        selecting.write_selection(settled, ranges=tuple(ranges))

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(fmt.plain(fmt.shortened(name, 60)), width="stretch")
        if most == 1:
            st.caption("one instance", width="content")
            return
        for moved, label in enumerate(("First instance", "Last instance")):
            st.number_input(
                label,
                min_value=1,
                max_value=most,
                key=keys[moved],
                on_change=changed,
                args=(moved,),
                label_visibility="collapsed",
                width=120,
            )
        st.caption(f"of {fmt.count(most)}", width="content")


def format_range(name: str, first: int, last: int, most: int) -> str:
    """Return a range and its instances in URL form."""
    if (first, last) == (1, most):
        return name
    return f"{name}#{first}" if first == last else f"{name}#{first}-{last}"
