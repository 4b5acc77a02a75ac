"""CUDA API calls and OS runtime calls: their purpose and their cost."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar
from app.ui.analysis_table import AnalysisTable

CUDA = AnalysisTable(
    "api_calls", "CUDA API calls", few=True, changes={"category": {"name": "for"}}, download="cuda_api_calls.csv"
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
"""Display title of each category of ``api_categories``."""

WAITING = ("synchronization", "blocking copy")


def draw_calls(report_id: str) -> None:
    """Draw the CUDA calls; raise NotCapturedError if they were not traced."""
    categories = session.run(report_id, "api_categories")
    st.subheader(CUDA.title, anchor=False)
    if categories.empty:
        st.caption("No CUDA calls in this selection.")
        return
    share_bar.share_bar(categories, "category", "total_ns", CATEGORIES, key="api-bar")
    st.caption(_sum_up_calls(categories))
    calls = session.run(report_id, "api_calls")
    calls = calls.assign(**{"for": calls["category"].map(CATEGORIES)})
    CUDA.table(calls, without=() if int(calls["failed"].sum()) else ("failed",))


def _sum_up_calls(rows: pd.DataFrame) -> str:
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
    breakdown = ", ".join(f"{fmt.duration(ns)} {words}" for words, ns in sorted(parts, key=lambda p: -p[1]) if ns)
    return f"{fmt.duration(total)} in {fmt.counted(rows['calls'].sum(), 'call')}, summed over threads" + (
        f": {breakdown}." if breakdown else "."
    )


def _sum_up_os_calls(rows: pd.DataFrame) -> str:
    return (
        f"{fmt.duration(rows['total_ns'].sum())} in {fmt.counted(rows['calls'].sum(), 'call')}, summed over threads."
        " Threads that only wait count in full."
    )


OS_RUNTIME = AnalysisTable(
    "osrt_calls", "OS runtime calls", "No OS runtime calls in this selection.", caption=_sum_up_os_calls, few=True,
    download="os_runtime_calls.csv", loud=False,
)  # fmt: skip
