"""What each thread of the host did: ran, waited, was blocked in calls; which of them load data."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, table_columns, tables

COLUMNS = table_columns.of(
    "host_threads",
    table_columns.use("thread", width=130),
    table_columns.use("name", width=170),
    table_columns.use("role", width=110),
    "samples",
    "idle_samples",
    "running_ns",
    "blocked_ns",
    "waiting_ns",
    "switches",
    "cuda_ns",
    "os_ns",
    table_columns.use("os_calls", label="OS call count"),
    table_columns.use("os_function", width=150),
    "loading_ns",
)
OS_RUNTIME = table_columns.of(
    "osrt_threads",
    table_columns.use("thread", width=130),
    table_columns.use("name", width=170),
    table_columns.use("function", width=240),
    "total_ns",
    table_columns.bar("thread_pct", width=110),
    "calls",
    "max_ns",
)


def show(report_id: str) -> None:
    """Draws the table of threads, and says what the threads did that launch work and that load data."""
    rows = session.run(report_id, "host_threads")
    st.subheader("Threads", anchor=False)
    for sentence in sentences(rows):
        st.markdown(sentence)
    columns = table_columns.filled(rows, COLUMNS)
    tables.table(rows, columns, key="threads", download="host_threads.csv", height=share_bar.height(len(rows)))
    if rows["running_ns"].notna().any():
        st.caption(
            "Blocked in calls: off the core, inside a CUDA or OS runtime call. Waiting otherwise: off the core in no"
            " call that was traced."
        )


def sentences(rows: pd.DataFrame) -> list[str]:
    """What the launching thread with most time in CUDA calls did, and the threads that load data, in Markdown."""
    found = []
    launching = rows[(rows["role"] == "launches") & rows["running_ns"].notna()]
    if len(launching):
        row = launching.iloc[int(launching["cuda_ns"].astype(float).fillna(-1).to_numpy().argmax())]
        whole = sum(int(row[name]) for name in ("running_ns", "blocked_ns", "waiting_ns"))
        if whole:
            parts = (fmt.percent(100 * row[name] / whole) for name in ("running_ns", "blocked_ns", "waiting_ns"))
            told = "runs {}, is blocked in calls {} and waits otherwise {}.".format(*parts)
            found.append(f"Of its {fmt.duration(whole)} the launching thread {_name(row)} {told}")
    loading = rows[rows["role"] == "data loading"]
    if len(loading):
        names = ", ".join(_name(row) for _, row in loading.head(8).iterrows())
        more = f" and {fmt.count(len(loading) - 8)} more" if len(loading) > 8 else ""
        which = "one thread that launches" if len(loading) == 1 else f"{fmt.count(len(loading))} threads that launch"
        found.append(f"Data is loaded in {which} nothing: {names}{more}.")
    return found


def _name(row: "pd.Series[Any]") -> str:
    name = "" if pd.isna(row["name"]) else f" {fmt.plain(fmt.shortened(str(row['name']), 40))}"
    return f"{fmt.plain(str(row['thread']))}{name}"


def os_runtime(report_id: str) -> None:
    """Draws the calls into the operating system by thread; raises NotCapturedError where they were not traced."""
    rows = session.run(report_id, "osrt_threads")
    st.subheader("OS runtime calls by thread", anchor=False)
    if rows.empty:
        st.caption("No OS runtime calls in this selection.")
        return
    waiting = rows.loc[rows["waits"].astype(bool), "total_ns"].sum()
    st.caption(
        f"{fmt.duration(waiting)} of {fmt.duration(rows['total_ns'].sum())} are in functions that only"
        " wait. A thread that waits for work all the time counts in full."
    )
    tables.table(rows, OS_RUNTIME, key="osrt-threads", download="osrt_threads.csv", height=share_bar.height(len(rows)))
