"""The tree of ranges as an icicle chart: where the time goes, at a glance."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, theme, url_widgets
from app.ui import format as fmt
from app.ui import icicle as boxes
from app.ui.figure_cache import cache_figure
from app.ui.icicle import Node
from profiledb.studies import range_tree

MOST = range_tree.BOXES
"""Most boxes that a browser draws smoothly."""
DEEPEST = 24
"""Most levels drawn; a capture whose ranges are never popped nests hundreds of them."""
LEAST_SHARE = 0.0005
"""Smallest share of the total for a box; a narrower one would be only its border."""
OVERLAP_SHARE = 0.01
"""Share of the total above which it is visible that ranges overlap on the GPU."""
MEASURES = {"busy_ns": "GPU busy", "gpu_ns": "GPU, first to last operation", "cpu_ns": "CPU"}
INSIDE = {"busy_ns": "inside_busy_ns", "gpu_ns": "inside_gpu_ns", "cpu_ns": "inside_cpu_ns"}
_ROOT = "all"


def draw_icicle(rows: pd.DataFrame, facts: "pd.Series[Any]") -> None:
    """Draw the section from the largest rows of ``nvtx_tree`` and from ``range_facts``."""
    known = [name for name in MEASURES if fmt.number(facts[name])]
    if not known:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.subheader("Time by range", anchor=False)
        measure = known[0]
        if len(known) > 1:
            measure = st.segmented_control(
                "Width",
                known,
                required=True,
                format_func=MEASURES.__getitem__,
                **url_widgets.bind_option("width", known, known[0]),
                label_visibility="collapsed",
            )
    drawn = build_boxes(rows, facts, measure)
    if all(node.id.startswith(_ROOT) for node in drawn):
        st.caption(
            f"No path takes more than {100 * LEAST_SHARE:g} % of the time, so the boxes would be too small to see."
        )
        return
    chart_element.draw_chart(boxes.plot_icicle(drawn, theme.get_theme()), "icicle")
    st.caption(_write_caption(rows, facts, measure))


def _write_caption(rows: pd.DataFrame, facts: "pd.Series[Any]", measure: str) -> str:
    how = {
        "busy_ns": "Width: time in which the range's operations ran on the GPU.",
        "gpu_ns": "Width: time from first to last GPU operation of each range.",
        "cpu_ns": "Width: CPU time between start and end of the range.",
    }[measure]
    inside = rows.assign(inside_cpu_ns=_compute_inside_cpu(rows))[INSIDE[measure]].astype("Float64").fillna(0)
    beyond = (inside - rows[measure].astype("Float64").fillna(0)).max()
    beside = float(beyond) > OVERLAP_SHARE * (fmt.number(facts[measure]) or 1)
    more = " Ranges that overlap on the GPU can be wider together than the range around them." if beside else ""
    if rows["level"].max() - rows["level"].min() >= DEEPEST:
        more += f" The outermost {DEEPEST} levels are drawn."
    return f"{how} Empty space below a range is its self time.{more} Click a box to zoom in, the top bar to zoom out."


@cache_figure
def build_boxes(rows: pd.DataFrame, facts: "pd.Series[Any]", measure: str) -> list[Node]:
    """Return the boxes; ranges that are too small or not in ``rows`` are merged into one box "other" per parent."""
    whole = fmt.number(facts[measure]) or 0.0
    frame = rows.assign(
        inside_cpu_ns=_compute_inside_cpu(rows), own=pd.to_numeric(rows[measure]).astype(float).fillna(0.0)
    )
    wide = frame[(frame["own"] > 0) & (frame["own"] >= LEAST_SHARE * whole)].nlargest(MOST, "own").sort_index()
    wide = wide[wide["level"] < wide["level"].min() + DEEPEST]
    known, listed = set(wide["path_id"]), set(frame["path_id"])
    wide = wide[wide["parent_id"].isin(known) | ~wide["parent_id"].isin(listed)]
    top = ~wide["parent_id"].isin(known)
    drawn_inside = wide[~top].groupby("parent_id")["own"].agg(["sum", "count"])
    lowest = int(wide["level"].min()) if len(wide) else 0
    drawn = [Node(_ROOT, "", "All ranges", 0.0, _format_hover("All ranges", facts, whole, whole), 0)]
    rest = whole - float(wide.loc[top, "own"].sum())
    if rest > LEAST_SHARE * whole:
        drawn.append(_make_other_node(_ROOT, rest, None, whole, 1))
    for row in wide.to_dict("records"):
        shown, count = drawn_inside.loc[row["path_id"]] if row["path_id"] in drawn_inside.index else (0.0, 0)
        inside = fmt.number(row[INSIDE[measure]]) or 0.0
        hidden, own = max(0.0, inside - float(shown)), max(0.0, row["own"] - inside)
        number, level = str(row["path_id"]), int(row["level"]) - lowest + 1
        parent = str(row["parent_id"]) if row["parent_id"] in known else _ROOT
        merged = hidden > LEAST_SHARE * whole
        words = _format_hover(row["name"], row, row["own"], whole)
        drawn.append(Node(number, parent, fmt.visible(row["name"]), own if merged else own + hidden, words, level))
        if merged:
            drawn.append(_make_other_node(number, hidden, int(row["children"]) - int(count), whole, level + 1))
    return drawn


def _compute_inside_cpu(rows: pd.DataFrame) -> "pd.Series[Any]":
    return (rows["cpu_ns"] - rows["self_ns"]).clip(lower=0)


def _make_other_node(parent: str, amount: float, count: int | None, whole: float, level: int) -> Node:
    words = f"<b>Other</b><br>{fmt.duration(amount)}, {fmt.percent(100 * amount / whole)}"
    words += f"<br>{fmt.counted(count, 'smaller path')}" if count else "<br>smaller paths"
    return Node(f"{parent}-other", parent, "other", amount, words, level)


def _format_hover(name: str, row: Any, amount: float, whole: float) -> str:
    lines = [
        f"<b>{fmt.escape_plotly(fmt.shortened(name, 80))}</b>",
        f"{fmt.percent(100 * amount / (whole or 1))} of all",
    ]
    lines += [f"{title}: {fmt.duration(row[key])}" for key, title in MEASURES.items() if fmt.number(row[key])]
    counts = [(row.get("instances"), "instance"), (row.get("operations"), "operation")]
    count_texts = [fmt.counted(count, what) for count, what in counts if fmt.number(count) is not None]
    return "<br>".join([*lines, ", ".join(count_texts)] if count_texts else lines)
