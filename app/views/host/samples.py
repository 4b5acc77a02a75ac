"""CPU samples: as a flame graph, by function and by module, of all the selected time or while no GPU worked."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import settled
from app.ui import bound, heads, shares, tables
from app.ui import format as fmt
from app.views.host import flame, speedscope

MOMENTS = {"all": "All samples", "idle": "While the GPU was idle"}
FUNCTIONS = heads.of(
    "cpu_functions",
    heads.use("function", width=360),
    heads.bar("self_pct", width=110),
    "self_samples",
    heads.bar("total_pct", width=110),
    "total_samples",
    heads.use("module", width=200),
    "threads",
)
MODULES = heads.of(
    "cpu_modules",
    heads.use("module", width=360),
    heads.bar("self_pct", width=110),
    "self_samples",
    heads.bar("total_pct", width=110),
    "total_samples",
)


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where the report has no CPU samples."""
    tree = session.run(report_id, "cpu_tree")
    st.subheader("CPU samples", anchor=False)
    if tree.empty:
        st.caption("No CPU sample lies in this selection.")
        settled.clear_button("host-clear")
        return
    asked = _controls(report_id)
    rows = session.run(report_id, "cpu_tree", **asked) if asked else tree
    if rows.empty:
        of = " of this thread" if "thread" in asked else ""
        st.info(f"No CPU sample{of} was taken while the GPU was idle.")
        return
    flame.show(rows, idle=asked.get("moments") == "idle")
    speedscope.button(report_id, asked)
    _tables(report_id, asked)


def _controls(report_id: str) -> dict[str, Any]:
    """What of the samples is looked at, as parameters of their analyses; none where it is all of them."""
    threads = session.run(report_id, "host_threads")
    sampled = threads[threads["samples"].fillna(0) > 0]
    labels = {row["thread"]: _label(row) for row in sampled.to_dict("records")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        moments = st.segmented_control(
            "Samples",
            list(MOMENTS),
            format_func=MOMENTS.__getitem__,
            required=True,
            help="The GPU is idle where no GPU runs anything of the selection, between its first and last operation.",
            **bound.option("moments", list(MOMENTS), "all"),
        )
        thread = st.selectbox(
            "Thread",
            list(labels),
            index=None,
            placeholder="All threads",
            format_func=lambda one: labels.get(one, one),
            width=320,
            **bound.option("thread", list(labels)),
        )
    return ({"moments": moments} if moments != "all" else {}) | ({"thread": thread} if thread else {})


def _label(row: dict[Any, Any]) -> str:
    name = "" if pd.isna(row["name"]) else f" {fmt.visible(fmt.shortened(row['name'], 40))}"
    return f"{row['thread']}{name} ({fmt.count(row['samples'])})"


def _tables(report_id: str, asked: dict[str, Any]) -> None:
    functions, modules = st.tabs(["By function", "By module"])
    with functions:
        rows = session.run(report_id, "cpu_functions", **asked)
        tables.table(
            rows, FUNCTIONS, key="cpu-functions", download="cpu_functions.csv", height=shares.height(len(rows))
        )
    with modules:
        rows = session.run(report_id, "cpu_modules", **asked)
        tables.table(rows, MODULES, key="cpu-modules", download="cpu_modules.csv", height=shares.height(len(rows)))
    st.caption("Self: the CPU was in it. Total: it was in it, or in what it called.")
