"""GPU idle gaps, and what the CPU did during them."""

from collections.abc import Collection
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from app.ui import page_elements, share_bar
from app.ui.analysis_table import AnalysisTable
from app.ui.table_columns import HeaderChanges
from app.views.idle import sentences
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary import idle as places
from profiledb.words import code

_WORDS: HeaderChanges = {"name": "words"}
REASONS = AnalysisTable("idle_reasons", changes={"reason": _WORDS}, hidden=("reason",))
RANGES = AnalysisTable("idle_ranges", changes={"reason": _WORDS}, hidden=("reason",), few=True)
GAPS = AnalysisTable(
    "idle_gaps",
    changes={"reason": _WORDS, "next_range": {"label": "In range"}},
    note="Gaps under 2 µs are grouped as “Between operations”.",
    filled=True,
    few=True,
    hidden=("reason",),
    download="gpu_gaps.csv",
)


def draw_gaps(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if the report has no GPU activity."""
    reasons = session.run(report_id, "idle_reasons")
    st.subheader("GPU idle", anchor=False)
    if reasons.empty:
        st.caption("No GPU was idle between its first and last selected operation.")
        return
    gaps, ranges = session.run(report_id, "idle_gaps"), rows_or_none(session.run, report_id, "idle_ranges")
    longest = None if gaps.empty else gaps["duration_ns"].iloc[0]
    page_elements.draw_facts(
        [
            (
                "GPU idle",
                fmt.percent(reasons["window_pct"].sum()),
                "Share of the time between first and last operation in which nothing ran, over all GPUs used.",
            ),
            ("Idle time", fmt.duration(reasons["idle_ns"].sum()), "Summed over these GPUs."),
            ("Longest gap", fmt.duration(longest), ""),
            ("Gaps", fmt.count(reasons["gaps"].sum()), "Times in which nothing ran."),
        ]
    )
    share_bar.share_bar(reasons, "reason", "idle_ns", share_bar.REASONS, key="idle-bar")
    traits = frozenset(session.run(report_id, "program")["trait"])
    st.markdown(_explain_idle_time(reasons, gaps, ranges, rows_or_none(session.run, report_id, "idle_code"), traits))
    REASONS.table(_add_words(reasons))
    if len(ranges):
        st.markdown("**Idle time by range**")
        RANGES.table(_add_words(ranges.assign(range=ranges["range"].fillna("outside all ranges"))))
    if len(gaps):
        _draw_gaps(report_id, _add_words(gaps))


def _explain_idle_time(
    reasons: pd.DataFrame, gaps: pd.DataFrame, ranges: pd.DataFrame, sampled: pd.DataFrame, traits: Collection[str]
) -> str:
    """Explain the largest cause of idle time, where the CPU was, and what to do about it, as Markdown."""
    top = reasons.iloc[0]
    sentence = sentences.TAKES[top["reason"]].format(share=fmt.percent(top["share_pct"]))
    where = places.find_place(ranges) if len(ranges) else None
    if where is not None:
        sentence += f" The CPU was in {code(where['range'])} for {fmt.percent(where['share_pct'])} of it."
    if top["reason"] == "host code" and (code_sentence := places.find_code(sampled)):
        sentence += f" {code_sentence}"
    gap_ns = find_usual_gap(top, gaps)
    path = None if where is None else where["range"]
    return f"{sentence} {sentences.choose_advice(top['reason'], gap_ns, path, str(top['function']), traits)}".strip()


def find_usual_gap(top: "pd.Series[Any]", gaps: pd.DataFrame) -> float:
    """Return the typical length of the gaps of one reason, in ns.

    A few long gaps outweigh many short ones: if the long gaps hold at least half of the reason's idle time, their mean
    counts, otherwise the mean over all gaps.

    Args:
        top: the row of ``idle_reasons`` for this reason.
        gaps: rows of ``idle_gaps`` (the longest gaps).
    """
    mean = top["idle_ns"] / top["gaps"] if top["gaps"] else top["idle_ns"]
    long = gaps[(gaps["reason"] == top["reason"]) & (gaps["duration_ns"] >= sentences.LONG_NS)]["duration_ns"]
    return float(long.mean() if 2 * long.sum() >= top["idle_ns"] and len(long) else mean)


def _draw_gaps(report_id: str, gaps: pd.DataFrame) -> None:
    st.markdown("**Longest gaps**")
    without = ("gpu_id",) if gaps["gpu_id"].nunique() == 1 else ()
    kernel_links.draw_times(report_id, GAPS, gaps, "gap", "duration_ns", without=without)


def _add_words(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(words=rows["reason"].map(lambda reason: share_bar.REASONS.get(reason, reason)))
