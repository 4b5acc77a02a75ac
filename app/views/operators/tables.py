"""Tables of operators: by name, by shape, by source line; and one operator in detail."""

import pandas as pd
import streamlit as st

from app import page_list, session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import table_columns, tables, url_widgets
from profiledb.studies import prefetch

MOST = prefetch.OPERATOR_ROWS
OPERATOR = "op"  # the parameter of the address that names the operator in detail
_TIMES = ("device_self_ns", "device_ns", table_columns.bar("share_pct", width=100), "calls", "host_self_ns", "host_ns")
_WORK = (
    table_columns.use("flops", width=96), table_columns.use("flops_per_s", width=110),
    table_columns.use("least_bytes", width=100),
    table_columns.use("least_bytes_per_s", width=110), table_columns.use("flops_from", width=100),
)  # fmt: skip
COLUMNS = table_columns.of(
    "operators", table_columns.use("operator", click="shows its shapes below", width=260), *_TIMES, "shapes", *_WORK
)
SHAPE_COLUMNS = table_columns.of(
    "operator_shapes", table_columns.use("operator", width=240), table_columns.use("shape", width=300),
    table_columns.use("types", width=150),
    *_TIMES, *_WORK,
)  # fmt: skip
LINE_COLUMNS = table_columns.of(
    "operator_lines", table_columns.use("line", width=390), "device_ns", table_columns.bar("share_pct", width=100),
    "forward_device_ns",
    "backward_device_ns", "calls", "host_ns", "backward_host_ns", table_columns.use("operators", width=280),
)  # fmt: skip
WORK_NOTE = (
    "FLOPs come from the trace, else from a formula of the shapes, and count at the innermost operator that has any."
    " Least bytes are a model, too: each input and output moved once."
)


def operators(report_id: str) -> None:
    """Draws the table by name, and the operator that the address names or that was clicked."""
    search = _search()
    rows = session.run(report_id, "operators", limit=MOST, **({"search": search} if search else {}))
    if rows.empty:
        st.info("No operator's name contains this text.")
        return
    chosen = tables.table(
        rows, COLUMNS, key="operators", download="operators.csv", select=True,
        hidden=("longest_start_ns", "longest_end_ns"), height=tables.ROW_PX * 17 if len(rows) > 16 else None,
    )  # fmt: skip
    st.caption(WORK_NOTE)
    if chosen is not None:
        st.query_params[OPERATOR] = str(rows["operator"].iloc[chosen])
    if named := st.query_params.get(OPERATOR):
        _one(report_id, named)


def shapes(report_id: str) -> None:
    """Draws the table by name, sizes and types."""
    search = _search()
    rows = session.run(report_id, "operator_shapes", limit=MOST, **({"search": search} if search else {}))
    if rows.empty:
        st.info("No operator's name contains this text.")
        return
    if not session.run(report_id, "operator_facts")["shaped"].iloc[0]:
        st.info("The trace has no shapes. To record them: `torch.profiler.profile(record_shapes=True)`.")
    tables.table(rows, SHAPE_COLUMNS, key="shapes", download="operator_shapes.csv", hidden=("dims",))
    cut(rows)
    st.caption(WORK_NOTE)


def lines(report_id: str) -> None:
    """Draws the table by source line."""
    rows = session.run(report_id, "operator_lines", limit=MOST)
    if rows.empty:
        st.info("The trace has no stacks. To record them: `torch.profiler.profile(with_stack=True)`.")
        return
    shown = rows.assign(line=rows["line"].fillna("Not called by the program"))
    tables.table(shown, LINE_COLUMNS, key="lines", download="operator_lines.csv")
    st.caption(
        "The innermost function that is not PyTorch's or Python's own; the line is where the function begins in traces"
        " since 2022. A backward operator belongs to the line of its forward operator."
    )


def _search() -> str:
    text = st.text_input("Search", placeholder="Part of an operator's name", width=360, **url_widgets.text("search"))
    return str(text).strip()


def cut(rows: pd.DataFrame) -> None:
    """Says that there are more, where as many rows as are asked for came."""
    if len(rows) == MOST:
        st.caption(f"The {fmt.count(MOST)} with the most GPU time are shown.")


def _one(report_id: str, name: str) -> None:
    """One operator: its shapes, and where else to look at it."""
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
            _link("kernels", "Its kernels", page_selection.link(report_id, range=name))
        _link("ranges", "Where it is called", page_selection.link(report_id, find=name))
    found = session.run(report_id, "operator_shapes", operator=name, limit=MOST)
    tables.table(found, SHAPE_COLUMNS[1:], key="operator-shapes", download="operator_shapes.csv", hidden=("dims",))


def _link(url: str, label: str, query: dict[str, str | list[str]]) -> None:
    view = page_list.get_view(url)
    st.page_link(view.path, label=f":primary[{label}]", icon=view.icon, query_params=query, width="content")
