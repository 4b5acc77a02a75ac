"""Time by kernel class, and the kernels with the most time."""

import pandas as pd
import streamlit as st

from app.selection import kernel_links
from app.ui import class_bar, table_columns, tables
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable
from profiledb.library.catalog import Manifest
from profiledb.rules.classes import OTHER
from profiledb.studies.summary import headline
from profiledb.studies.summary.statement import Ask

TOP = 10
CLASS_TABLE_PX = 620
"""Width of the table in pixels; in a wider table, four narrow columns are hard to read across."""
CLASSES = AnalysisTable("class_split", download="kernel_classes.csv")
TOP_COLUMNS = table_columns.choose_columns(
    "kernels",
    table_columns.use("name", click="opens the kernel", width=320),
    table_columns.make_bar("share_pct", width=120),
    "total_ns",
    table_columns.use("class", width=184),
    "calls",
    "avg_ns",
)


def draw_kernels(manifest: Manifest, ask: Ask) -> None:
    """Draw both sections. Raises NotCapturedError if the report has no kernels."""
    rows = ask("class_split")
    if rows.empty:
        st.caption("No kernels run in this selection.")
        return
    kernels = ask("kernels")
    _draw_classes(rows, kernels)
    _draw_top_kernels(manifest, kernels)


def _draw_classes(rows: pd.DataFrame, kernels: pd.DataFrame) -> None:
    st.subheader("Time by kernel class", anchor=False)
    class_bar.draw_bar(rows, key="classes-bar")
    st.caption(describe_others(rows, kernels))
    with st.container(width=CLASS_TABLE_PX):
        CLASSES.table(rows)


def describe_others(rows: pd.DataFrame, kernels: pd.DataFrame) -> str:
    """State the kernel time and the share without a class, with its largest kernels; Markdown.

    Args:
        rows: rows of ``class_split``.
        kernels: rows of ``kernels``, the longest first.
    """
    total = fmt.duration(rows["total_ns"].sum())
    other = rows.loc[rows["class"] == OTHER, "share_pct"]
    if other.empty:
        return f"{total} of kernel time, all classified."
    share, names = fmt.percent(other.iloc[0]), headline.name_without_class(kernels)
    return f"{total} of kernel time; {share} is in kernels without a class (Other): {names}."


def _draw_top_kernels(manifest: Manifest, rows: pd.DataFrame) -> None:
    st.subheader("Top kernels", anchor=False)
    chosen = tables.draw_table(
        rows.head(TOP), TOP_COLUMNS, key="top", download="top_kernels.csv", select=True, hidden=("demangled",)
    )
    if len(rows) > TOP:
        kernel_links.to_list(manifest.id, f"All {fmt.count(len(rows))} kernels")
    if chosen is not None:
        kernel_links.open_kernel(manifest.id, int(rows["kernel"].iloc[chosen]))
