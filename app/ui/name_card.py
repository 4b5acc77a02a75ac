"""Full names in tables: a card beside the hovered row, or the cell reached by keyboard, shows and copies them.

Streamlit draws a table on a canvas without tooltips for cells, and treats a cell reached with the Tab key as clicked.
The browser code is in ``static/names``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import served_component, short_names

BOX_PX = 32
"""Width of Streamlit's row selection boxes."""

MOST_CHARACTERS = 200_000
"""Limit for all full names of a table together; beyond it the card shows the cell text."""

_DIFFERENCE = 24
"""Most characters that tell kernels with the same short name apart."""
_TIMES = ("total_ns", "duration_ns")
NEEDED = frozenset({"name", "demangled", *_TIMES})
"""Columns that full names are built from."""

_COMPONENT = "names"


def add_card(
    key: str,
    *,
    names: Sequence[str],
    widths: Mapping[str, int],
    row_px: int,
    whole: Mapping[str, str],
    opens: bool,
    boxes: bool = False,
) -> bool:
    """Add the card to the table above; it takes up no space.

    Args:
        key: unique on the page.
        names: headings of the columns that hold names.
        widths: pixel width by heading, for columns of fixed width.
        row_px: height of a row.
        whole: full name by cell text, where they differ.
        opens: whether selecting a cell opens something.
        boxes: whether row selection boxes precede the first column.

    Returns:
        Whether the selected cell counts as a click. Moving by keyboard does not count until Enter is pressed.
    """
    key = f"{key}-names"
    state: Any = st.session_state.get(key) or {}
    data = {
        "names": list(names), "widths": dict(widths), "row": row_px, "whole": dict(whole), "opens": opens,
        "by_keys": bool(state.get("by_keys")), "before": BOX_PX if boxes else 0,
    }  # fmt: skip
    result: Any = served_component.declare_component(_COMPONENT)(
        key=key, data=data, width="content", on_by_keys_change=_do_nothing, on_opened_change=_do_nothing
    )
    return bool(result.opened or not result.by_keys)


def tell_kernels_apart(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a distinct name for each kernel: to equal names it adds the difference of the full names."""
    if not {"name", "demangled"} <= {*frame.columns}:
        return frame
    kernels = frame[["name", "demangled"]].dropna().drop_duplicates()
    distinct_names: dict[tuple[str, str], str] = {}
    for name, group in kernels[kernels["name"].duplicated(keep=False)].groupby("name")["demangled"]:
        for full, difference in short_names.find_differences(group, _DIFFERENCE).items():
            distinct_names[str(name), full] = f"{name} · {difference}"
    if not distinct_names:
        return frame
    pairs = zip(frame["name"], frame["demangled"], strict=True)
    return frame.assign(name=[distinct_names.get(pair, pair[0]) for pair in pairs])


def map_names(frame: pd.DataFrame) -> dict[str, str]:
    """Return the full names of kernels (``demangled``) by their cell text (``name``).

    Kernels that share a short name are told apart by their time in the same row. The result is empty for tables without
    full names, and if the names are too long together.
    """
    if not {"name", "demangled"} <= {*frame.columns}:
        return {}
    time = next((one for one in _TIMES if one in frame.columns), None)
    rows = frame[["name", "demangled", *([time] if time else [])]].dropna().drop_duplicates()
    shared = rows["name"].duplicated(keep=False)
    keys = rows["name"].map(fmt.visible)
    if time:
        keys = keys.where(~shared, keys + "\n" + rows[time].astype("int64").astype(str))
    full_names = {
        key: fmt.visible(full)
        for key, full, twice in zip(keys, rows["demangled"], shared, strict=True)
        if time or not twice
    }
    return full_names if sum(map(len, full_names.values())) <= MOST_CHARACTERS else {}


def _do_nothing() -> None:
    """Do nothing: the rerun that follows reads the value."""
