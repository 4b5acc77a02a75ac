"""Findings that are new in B, gone from A, or that cost more or less."""

import pandas as pd
import streamlit as st

from app.selection.page_selection import Settled
from app.ui import judged_findings, tables
from app.ui.table_columns import Col
from profiledb.findings import sentences
from profiledb.findings.changes import Changed, compare_findings
from profiledb.findings.finding import Finding
from profiledb.library.catalog import Manifest

_TITLES = {
    "new": "New in B", "gone": "Gone in B", "changed": "Changed", "same": "In both", "not judged": "Judged on one side",
}  # fmt: skip
_COLUMNS = [
    Col("change", "Change", width=140),
    Col("title", "Finding", width=220),
    Col("a_pct", "A saves", unit="%", kind="percent", help="Predicted or at most: share of the time on A's GPUs"),
    Col("b_pct", "B saves", unit="%", kind="percent", help="Predicted or at most: share of the time on B's GPUs"),
    Col("a_ns", "A saves", kind="duration", help="Predicted or at most, in A"),
    Col("b_ns", "B saves", kind="duration", help="Predicted or at most, in B"),
    Col("said", "What it says", width=520, help="From B if it fires there, else from A"),
]


def draw_differences(a: Manifest, b: Manifest, mine: Settled, theirs: Settled) -> None:
    """Draw the section; nothing if no rule fires on either side."""
    rows = compare_findings(
        judged_findings.judge_report(a, mine.params), judged_findings.judge_report(b, theirs.params)
    )
    if not rows:
        return
    st.subheader("Findings", anchor=False)
    frame = pd.DataFrame(_make_row(one) for one in rows)
    tables.draw_table(frame, _COLUMNS, key="compare-findings", download="compare_findings.csv")


def _make_row(one: Changed) -> dict[str, object]:
    finding = one.b if one.b.verdict == "fires" else one.a
    return {
        "change": _TITLES[one.change],
        "title": one.a.rule.title,
        "a_pct": _read_share(one.a),
        "b_pct": _read_share(one.b),
        "a_ns": one.a.saving_ns if one.a.verdict == "fires" else None,
        "b_ns": one.b.saving_ns if one.b.verdict == "fires" else None,
        "said": sentences.strip_sentence(finding),
    }


def _read_share(finding: Finding) -> float | None:
    return finding.saving_pct if finding.verdict == "fires" else None
