"""Names in tables as a whole: a card beside the row under the pointer, or the cell chosen by keys, copies them.

Streamlit draws a table on a canvas, without a tooltip for cells, and counts a cell that is reached with the Tab key as
clicked. What runs in the browser is ``static/names``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import served_component

BOX_PX = 32
"""Width of the boxes that select rows, as Streamlit draws them."""

MOST_CHARACTERS = 200_000
"""Of all whole names of a table together; beyond, the card shows what the cells hold."""

_TIMES = ("total_ns", "duration_ns")
NEEDED = frozenset({"name", "demangled", *_TIMES})
"""The columns that tell whole names."""

_COMPONENT = "names"


def card(
    key: str,
    *,
    names: Sequence[str],
    widths: Mapping[str, int],
    row_px: int,
    whole: Mapping[str, str],
    opens: bool,
    boxes: bool = False,
) -> bool:
    """Puts the card of the table above; it takes no room.

    Args:
        key: unique on the page.
        names: headings of the columns that hold names.
        widths: pixels of columns by heading, of those that have a fixed width.
        row_px: height of a row.
        whole: for what cells hold, the name as a whole, where that is longer.
        opens: whether choosing a cell of the table leads anywhere.
        boxes: whether rows are selected by boxes, which stand before the first column.

    Returns:
        Whether the chosen cell counts: not while keys walk over cells, until Enter is pressed.
    """
    key = f"{key}-names"
    state: Any = st.session_state.get(key) or {}
    data = {
        "names": list(names), "widths": dict(widths), "row": row_px, "whole": dict(whole), "opens": opens,
        "by_keys": bool(state.get("by_keys")), "before": BOX_PX if boxes else 0,
    }  # fmt: skip
    result: Any = served_component.component(_COMPONENT)(
        key=key, data=data, width="content", on_by_keys_change=_noted, on_opened_change=_noted
    )
    return bool(result.opened or not result.by_keys)


def whole(frame: pd.DataFrame) -> dict[str, str]:
    """The full names of kernels (``demangled``) by what their cells say (``name``).

    Several kernels may share a short name: these are told apart by their time, which stands in the same row. There
    are none where a table has no full names, or where they are too long together.
    """
    if not {"name", "demangled"} <= {*frame.columns}:
        return {}
    time = next((one for one in _TIMES if one in frame.columns), None)
    rows = frame[["name", "demangled", *([time] if time else [])]].dropna().drop_duplicates()
    shared = rows["name"].duplicated(keep=False)
    keys = rows["name"].map(fmt.visible)
    if time:
        keys = keys.where(~shared, keys + "\n" + rows[time].astype("int64").astype(str))
    found = {
        key: fmt.visible(full)
        for key, full, twice in zip(keys, rows["demangled"], shared, strict=True)
        if time or not twice
    }
    return found if sum(map(len, found.values())) <= MOST_CHARACTERS else {}


def _noted() -> None:
    """The run that follows reads the value."""
