"""When a GPU was idle, and what the host did meanwhile."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import heads, page, tables
from app.views.memory import words as memory_words

REASON_COLUMNS = heads.of(
    "idle_reasons",
    heads.use("reason", name="words", width=200),
    heads.bar("share_pct", width=120),
    "idle_ns",
    "gaps",
    heads.use("longest_ns", like="idle_ns"),
    heads.use("function", width=220),
)
GAP_COLUMNS = heads.of(
    "idle_gaps",
    "start_ns",
    "duration_ns",
    "gpu_id",
    heads.use("reason", name="words", width=160),
    "covered_pct",
    heads.use("function", width=180),
    heads.use("next", width=230),
    heads.use("range", width=230),
    heads.use("launched_ns", like="duration_ns"),
    heads.use("launch", width=160),
    "thread",
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
    columns = [c for c in heads.filled(gaps, GAP_COLUMNS) if not (alone and c.name == "gpu_id")]
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
