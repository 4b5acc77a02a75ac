"""Operators by name, by shape and by source line; and one operator in detail."""

import pandas as pd
import streamlit as st

from app import page_list, session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import url_widgets
from app.ui.analysis_table import AnalysisTable
from profiledb.query import header

MOST = header.get("operators").limit
OPERATOR = "op"  # query parameter: the operator shown in detail
WORK_NOTE = (
    "FLOPs come from the trace, else from a formula of the shapes, and count at the innermost operator that has any."
    " Least bytes are a model, too: each input and output moved once."
)
OPERATORS = AnalysisTable(
    "operators",
    changes={"operator": {"click": "shows its shapes below"}},
    note=WORK_NOTE,
    hidden=("longest_start_ns", "longest_end_ns"),
)
SHAPES = AnalysisTable("operator_shapes", hidden=("dims",))
LINES = AnalysisTable(
    "operator_lines",
    note=(
        "The innermost function that is not PyTorch's or Python's own; the line is where the function begins in traces"
        " since 2022. A backward operator belongs to the line of its forward operator."
    ),
)


def draw_operators(report_id: str) -> None:
    """Draw the table by name, and the operator that was clicked or is named in the URL."""
    search = _draw_search()
    rows = session.run(report_id, "operators", limit=MOST, **({"search": search} if search else {}))
    if rows.empty:
        st.info("No operator's name contains this text.")
        return
    chosen = OPERATORS.table(rows, select=True)
    if chosen is not None:
        st.query_params[OPERATOR] = str(rows["operator"].iloc[chosen])
    if named := st.query_params.get(OPERATOR):
        _draw_operator(report_id, named)


def draw_shapes(report_id: str) -> None:
    """Draw the table by name, shapes and data types."""
    search = _draw_search()
    rows = session.run(report_id, "operator_shapes", limit=MOST, **({"search": search} if search else {}))
    if rows.empty:
        st.info("No operator's name contains this text.")
        return
    if not session.run(report_id, "operator_facts")["shaped"].iloc[0]:
        st.info("The trace has no shapes. To record them: `torch.profiler.profile(record_shapes=True)`.")
    SHAPES.table(rows)
    cut(rows)
    st.caption(WORK_NOTE)


def draw_lines(report_id: str) -> None:
    rows = session.run(report_id, "operator_lines", limit=MOST)
    if rows.empty:
        st.info("The trace has no stacks. To record them: `torch.profiler.profile(with_stack=True)`.")
        return
    LINES.table(rows.assign(line=rows["line"].fillna("Not called by the program")))


def _draw_search() -> str:
    text = st.text_input(
        "Search", placeholder="Part of an operator's name", width=360, **url_widgets.bind_text("search")
    )
    return str(text).strip()


def cut(rows: pd.DataFrame) -> None:
    """Say that the table is truncated if it has as many rows as the limit."""
    if len(rows) == MOST:
        st.caption(f"The {fmt.count(MOST)} with the most GPU time are shown.")


def _draw_operator(report_id: str, name: str) -> None:
    """Draw one operator: its shapes, and links to other pages about it."""
    rows = session.run(report_id, "operators", search=name)
    rows = rows[rows["operator"] == name]
    if rows.empty:
        st.info(f"The operator {fmt.plain(fmt.shortened(name, 120))} is not in this selection.")
        return
    row = rows.iloc[0]
    st.subheader(fmt.plain(fmt.shortened(name, 80)), anchor=False)
    with st.container(horizontal=True):
        kernel_links.to_timeline(
            report_id, "Slowest call on the timeline", row["longest_start_ns"], row["longest_end_ns"]
        )
        if int(row["device_ns"]):
            _draw_link("kernels", "Its kernels", page_selection.link(report_id, range=name))
        _draw_link("ranges", "Where it is called", page_selection.link(report_id, find=name))
    shapes = session.run(report_id, "operator_shapes", operator=name, limit=MOST)
    SHAPES.table(shapes, without=("operator",))


def _draw_link(url: str, label: str, query: dict[str, str | list[str]]) -> None:
    view = page_list.get_view(url)
    st.page_link(view.path, label=f":primary[{label}]", icon=view.icon, query_params=query, width="content")
