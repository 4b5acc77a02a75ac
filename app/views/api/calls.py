"""CUDA calls of the host and calls into the operating system: what they are for, and what they cost."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, table_columns, tables

CUDA = table_columns.of(
    "api_calls",
    table_columns.use("function", width=280),
    table_columns.bar("share_pct", width=110),
    "total_ns",
    table_columns.use("category", name="for", width=194),
    "calls",
    "avg_ns",
    "median_ns",
    "min_ns",
    "max_ns",
    "failed",
)
OS_RUNTIME = table_columns.of(
    "osrt_calls",
    table_columns.use("function", width=300),
    table_columns.bar("share_pct", width=110),
    "total_ns",
    "calls",
    "avg_ns",
    "median_ns",
    "max_ns",
    "threads",
)
CATEGORIES = {
    "launch": "Launch",
    "synchronization": "Synchronization",
    "blocking copy": "Blocking memcpy",
    "queued copy": "Queued memcpy or memset",
    "allocation": "Allocation",
    "module loading": "Module loading",
    "other": "Other",
}
"""What people read for each category of ``api_categories``."""

WAITING = ("synchronization", "blocking copy")


def show(report_id: str) -> None:
    """Draws the CUDA calls; raises NotCapturedError where they were not traced."""
    categories = session.run(report_id, "api_categories")
    st.subheader("CUDA API calls", anchor=False)
    if categories.empty:
        st.caption("No CUDA calls in this selection.")
        return
    share_bar.share_bar(categories, "category", "total_ns", CATEGORIES, key="api-bar")
    st.caption(_sentence(categories))
    calls = session.run(report_id, "api_calls")
    calls = calls.assign(**{"for": calls["category"].map(CATEGORIES)})
    columns = [column for column in CUDA if column.name != "failed" or int(calls["failed"].sum())]
    tables.table(calls, columns, key="api", download="cuda_api_calls.csv", height=share_bar.height(len(calls)))


def _sentence(rows: pd.DataFrame) -> str:
    times = dict(zip(rows["category"], rows["total_ns"], strict=True))
    waiting = sum(int(times.get(name, 0)) for name in WAITING)
    total = int(rows["total_ns"].sum())
    parts = [("waiting (synchronization and blocking memcpy)", waiting)] + [
        (words, int(times.get(name, 0)))
        for name, words in (
            ("launch", "launching"),
            ("allocation", "allocating"),
            ("module loading", "module loading"),
        )
    ]
    told = ", ".join(f"{fmt.duration(ns)} {words}" for words, ns in sorted(parts, key=lambda p: -p[1]) if ns)
    return f"{fmt.duration(total)} in {fmt.counted(rows['calls'].sum(), 'call')}, summed over threads" + (
        f": {told}." if told else "."
    )


def os_runtime(report_id: str) -> None:
    """Draws the calls into the operating system; raises NotCapturedError where they were not traced."""
    calls = session.run(report_id, "osrt_calls")
    st.subheader("OS runtime calls", anchor=False)
    if calls.empty:
        st.caption("No OS runtime calls in this selection.")
        return
    st.caption(
        f"{fmt.duration(calls['total_ns'].sum())} in {fmt.counted(calls['calls'].sum(), 'call')}, summed over"
        " threads. Threads that only wait count in full."
    )
    tables.table(calls, OS_RUNTIME, key="osrt", download="os_runtime_calls.csv", height=share_bar.height(len(calls)))
