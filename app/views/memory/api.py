"""CUDA calls of the host and calls into the operating system: what they are for, and what they cost."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables
from app.views.memory import words as memory_words

COLUMNS = (
    tables.Col("function", "Function", width=300),
    tables.Col("share_pct", "Share", kind="bar", help="Share of the sum of all durations", width=110),
    tables.Col("total_ns", "Total", kind="duration", help="Sum of durations"),
    tables.Col("for", "For", help="What the call is for, by its name", width=160),
    tables.Col("calls", "Calls", kind="count"),
    tables.Col("avg_ns", "Average", kind="duration", like="median_ns"),
    tables.Col("median_ns", "Median", kind="duration", help="Half of the calls take at most this long"),
    tables.Col("min_ns", "Min", kind="duration", like="median_ns"),
    tables.Col("max_ns", "Max", kind="duration", like="median_ns"),
    tables.Col("threads", "Threads", kind="count", help="Threads that called it"),
    tables.Col("failed", "Not 0", kind="count", help="Calls that did not return success, which may also mean: not yet"),
)
WAITING = ("synchronisation", "blocking copy")


def show(report_id: str) -> None:
    """Draws the CUDA calls; raises NotCapturedError where they were not traced."""
    categories = session.run(report_id, "api_categories")
    st.subheader("CUDA API calls", anchor=False)
    if categories.empty:
        st.caption("No CUDA call here.")
        return
    memory_words.share_bar(categories, "category", "total_ns", memory_words.CATEGORIES, key="api-bar")
    st.caption(_sentence(categories))
    calls = session.run(report_id, "api_calls")
    calls = calls.assign(**{"for": calls["category"].map(memory_words.CATEGORIES)})
    columns = [column for column in COLUMNS if column.name != "failed" or int(calls["failed"].sum())]
    tables.table(calls, columns, key="api", download="cuda_api_calls.csv", height=memory_words.height(len(calls)))


def _sentence(rows: pd.DataFrame) -> str:
    times = dict(zip(rows["category"], rows["total_ns"], strict=True))
    waiting = sum(int(times.get(name, 0)) for name in WAITING)
    total = int(rows["total_ns"].sum())
    parts = [("waiting (synchronisation and blocking copies)", waiting)] + [
        (words, int(times.get(name, 0)))
        for name, words in (
            ("launch", "launching"),
            ("allocation", "allocating"),
            ("module loading", "loading modules"),
        )
    ]
    told = ", ".join(f"{fmt.duration(ns)} {words}" for words, ns in sorted(parts, key=lambda p: -p[1]) if ns)
    return f"{fmt.duration(total)} in {fmt.count(rows['calls'].sum())} calls, over all threads" + (
        f": {told}." if told else "."
    )


def os_runtime(report_id: str) -> None:
    """Draws the calls into the operating system; raises NotCapturedError where they were not traced."""
    calls = session.run(report_id, "osrt_calls")
    st.subheader("OS runtime calls", anchor=False)
    if calls.empty:
        st.caption("No OS runtime call here.")
        return
    st.caption(
        f"{fmt.duration(calls['total_ns'].sum())} in {fmt.count(calls['calls'].sum())} calls, summed over threads: one"
        " that waits for work all the time counts in full."
    )
    tables.table(calls, COLUMNS, key="osrt", download="os_runtime_calls.csv", height=memory_words.height(len(calls)))
