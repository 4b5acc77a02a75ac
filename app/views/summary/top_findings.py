"""The findings at the top of the Summary: what to do first and what it saves, then one row a finding."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import page_list
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import navigation, tables
from app.ui.table_columns import Col
from profiledb.findings import judge, sentences
from profiledb.findings.finding import Finding

MOST = 5
COLUMNS = (
    Col("title", "Finding", width=280, click=True, help="Opens the finding: evidence, and what to do"),
    Col("saving_ns", "Saves", kind="duration", help="Savings of several findings overlap."),
    Col("between", "Between", width=150, help="Interval of a saving that What if predicts"),
    Col(
        "saving_pct", "Share", kind="bar", unit="%", width=130, help="Of the time from the first to the last operation"
    ),
    Col("place", "Where", width=420),
)


def draw_first(findings: Sequence[Finding], capture_ns: int | None) -> None:
    """State the first thing to do and the most it saves, or that nothing stands out."""
    sentence = sentences.do_first(findings, capture_ns)
    st.markdown(f"**Do first:** {fmt.sentence(sentence)}" if sentence else f"**{sentences.explain_nothing(findings)}**")


def draw_rows(report_id: str, findings: Sequence[Finding]) -> None:
    """Draw a row for each of the costliest findings; a click opens it. Nothing if no rule fires."""
    shown = judge.select_worthwhile(findings)[:MOST]
    if not shown:
        return
    frame = pd.DataFrame(
        {
            "title": [one.rule.title for one in shown],
            "saving_ns": [one.shown_ns for one in shown],
            "between": [_describe_interval(one) for one in shown],
            "saving_pct": [one.shown_pct for one in shown],
            "place": [one.place or one.facts.get("kernel") or one.line for one in shown],
        }
    )
    chosen = tables.draw_table(frame, COLUMNS, key="top-findings", download="findings.csv", select=True)
    if together := sentences.describe_savings(findings):
        st.caption(fmt.plain(together))
    if chosen is not None:
        navigation.to(page_list.get_script("findings"), page_selection.link(report_id))


def _describe_interval(finding: Finding) -> str:
    """Return the interval of a predicted saving, or that it is an upper bound."""
    prediction = finding.prediction
    if prediction is None:
        return "upper bound" if finding.shown_ns else ""
    return f"{fmt.duration(prediction.low_ns)} – {fmt.duration(prediction.high_ns)}"
