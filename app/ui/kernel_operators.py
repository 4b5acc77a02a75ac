"""PyTorch operators that launched kernels, from the report itself or from its linked trace."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import table_columns, tables, trace_links
from profiledb.library.catalog import Manifest

COLUMNS = table_columns.choose_columns(
    "kernel_operators",
    table_columns.use("operator", width=150),
    table_columns.Col("line", "Source line", width=320, help="Innermost frame of the Python stack, outside of PyTorch"),
    table_columns.make_bar("share_pct", width=110),
    "total_ns",
    "calls",
    "avg_ns",
    table_columns.use("shapes", width=260),
    table_columns.use("modules", width=280),
    table_columns.use("stack", width=360),
)
IN_LIST = table_columns.choose_columns(
    "kernel_operators",
    table_columns.use(
        "operator", width=150, help="Innermost PyTorch operator around the launch; of several that of most time"
    ),
)


def add_operators(manifest: Manifest, kernels: pd.DataFrame) -> pd.DataFrame:
    """Add each kernel's operator with the most time, and the number of its other operators."""
    if not trace_links.has_operators(manifest):
        return kernels
    rows = session.run(manifest.id, "kernel_operators").dropna(subset="operator")
    of = rows.groupby("kernel")["operator"].agg(["first", "nunique"])
    more = of["nunique"] - 1
    words = of["first"].where(more == 0, of["first"] + " and " + more.astype(str) + " more")
    return kernels.assign(operator=kernels["kernel"].map(words))


def draw_section(manifest: Manifest, kernel: int) -> None:
    """Draw the operators of a kernel with input shapes, modules and Python stacks; nothing if none are known."""
    if not trace_links.has_operators(manifest):
        return
    rows = session.run(manifest.id, "kernel_operators", kernel=kernel)
    if rows["operator"].isna().all():
        return
    st.subheader("Operators", anchor=False)
    st.caption(_describe_source(manifest, rows))
    rows = rows.assign(line=rows["stack"].map(lambda stack: stack.partition("; ")[0], na_action="ignore"))
    tables.draw_table(rows, COLUMNS, key="operators", download="operators.csv", hidden=("types",))


def _describe_source(manifest: Manifest, rows: pd.DataFrame) -> str:
    linked = session.read_links("trace").get(manifest.id)
    trace = session.reports([linked]).get(linked) if linked else None
    if trace is None:
        return "The innermost PyTorch operator around each launch."
    known, calls = rows.loc[rows["operator"].notna(), "calls"].sum(), rows["calls"].sum()
    launches = fmt.counted(calls, "launch") if known == calls else f"{fmt.count(known)} of {fmt.count(calls)} launches"
    return f"The innermost PyTorch operator around {launches}, from {fmt.plain(trace.name)}. Times are of this report."
