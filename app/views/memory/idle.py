"""When a GPU was idle, and what the host did meanwhile."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page, tables
from app.views.memory import words as memory_words

REASON_COLUMNS = (
    tables.Col(
        "words", "Host meanwhile", help="What the thread did that launched the operation after the gap", width=200
    ),
    tables.Col("share_pct", "Share", kind="bar", help="Share of the idle time", width=120),
    tables.Col("idle_ns", "Idle", kind="duration", help="Idle time in which the host did this"),
    tables.Col("gaps", "Gaps", kind="count", help="Gaps of which this is the longest part"),
    tables.Col("longest_ns", "Longest gap", kind="duration", help="The longest of these gaps", like="idle_ns"),
    tables.Col("function", "Mostly in", help="Function that took most of the time", width=220),
)
GAP_COLUMNS = (
    tables.Col("start_ns", "Begin", kind="duration", help="From the begin of the capture"),
    tables.Col("duration_ns", "Gap", kind="duration"),
    tables.Col("gpu_id", "GPU", kind="count"),
    tables.Col("words", "Host meanwhile", help="What took most of the gap", width=160),
    tables.Col("covered_pct", "Of the gap", kind="percent", help="Which part of the gap this took"),
    tables.Col("function", "In", help="Function that the host was in for most of this", width=180),
    tables.Col("next", "Next operation", help="What ended the gap", width=230),
    tables.Col("range", "NVTX range of the next operation", width=230),
    tables.Col(
        "launched_ns",
        "Launched after",
        kind="duration",
        help="Begin of the call that launched it, from the begin of the gap; negative: before the gap",
        like="duration_ns",
    ),
    tables.Col("launch", "Launched by", width=160),
    tables.Col("thread", "Thread", help="Process and thread of this call"),
)
LAST = ("until the end", "unknown")
"""Reasons that nothing can be done about: another one is explained where there is one."""


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where nothing ran on a GPU."""
    reasons = session.run(report_id, "idle_reasons")
    st.subheader("GPU idle", anchor=False)
    if reasons.empty:
        st.caption("No GPU was idle here.")
        return
    gaps = session.run(report_id, "idle_gaps")
    longest = None if gaps.empty else gaps["duration_ns"].iloc[0]
    page.facts(
        [
            (
                "GPU idle",
                fmt.percent(reasons["window_pct"].sum()),
                "Time in which nothing ran, as a share of the capture or selection, over the GPUs that were used.",
            ),
            ("Idle time", fmt.duration(reasons["idle_ns"].sum()), "Summed over these GPUs."),
            ("Longest gap", fmt.duration(longest), ""),
            ("Gaps", fmt.count(reasons["gaps"].sum()), "Stretches of time in which nothing ran."),
        ]
    )
    memory_words.share_bar(reasons, "reason", "idle_ns", memory_words.REASONS, key="idle-bar")
    top = reasons.sort_values("reason", key=lambda names: names.isin(LAST), kind="stable").iloc[0]
    words = memory_words.REASONS.get(top["reason"], top["reason"])
    st.caption(
        f"{words}, {fmt.percent(top['share_pct'])} of the idle time: {memory_words.ADVICE.get(top['reason'], '')}"
    )
    tables.table(_worded(reasons), REASON_COLUMNS, key="idle-reasons", download="idle_reasons.csv", hidden=("reason",))
    if len(gaps):
        _gaps(_worded(gaps))


def _gaps(gaps: pd.DataFrame) -> None:
    st.markdown("**Longest gaps**")
    alone = gaps["gpu_id"].nunique() == 1
    columns = [c for c in memory_words.present(gaps, GAP_COLUMNS) if not (alone and c.name == "gpu_id")]
    tables.table(
        gaps,
        columns,
        key="gaps",
        download="gpu_gaps.csv",
        height=memory_words.height(len(gaps)),
        hidden=("reason",),
    )
    st.caption("Gaps below 2 µs are not looked into one by one: above they count as “Between operations”.")


def _worded(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(words=rows["reason"].map(lambda reason: memory_words.REASONS.get(reason, reason)))
