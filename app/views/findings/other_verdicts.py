"""Rules that cost no time: remarks, not judged, clear, and a table of all rules with their thresholds."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import page_elements, tables
from app.ui.table_columns import Col
from app.views.findings import card
from profiledb.findings import sentences
from profiledb.findings.finding import Finding
from profiledb.findings.rule import GROUPS

_VERDICTS = {"fires": "Fires", "clear": "Clear", "cannot_judge": "Not judged"}
_SIDES = {"above": "≥", "below": "≤"}
_RULE_COLUMNS = [
    Col("rule", "Rule", width=200),
    Col("verdict", "Verdict", width=100),
    Col("value", "Value", width=100),
    Col("threshold", "Threshold", width=130),
    Col("question", "Question", width=380),
    Col("group", "Group", width=180),
    Col("source", "Source", width=320),
]


def draw_remarks(report_id: str, findings: Sequence[Finding]) -> None:
    """Draw the remarks on the capture."""
    if not findings:
        return
    st.subheader("Remarks", anchor=False)
    for finding in findings:
        card.draw_card(report_id, finding)


def draw_unjudged(findings: Sequence[Finding]) -> None:
    """Draw the rules that lack data: data not captured, with the command that records all of it, or not selected."""
    lacks: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        lacks.setdefault((finding.why, finding.command), []).append(finding.rule.title)
    ordered = sorted(lacks.items(), key=lambda item: -len(item[1]))
    captured = [(why, command, titles) for (why, command), titles in ordered if command]
    if captured:
        with st.expander(f"Not captured ({sum(len(titles) for _, _, titles in captured)})"):
            st.markdown(
                "\n".join(
                    f"- **{fmt.sentence(why)}** Rules that need this: {fmt.plain(', '.join(titles))}."
                    for why, _, titles in captured
                )
            )
            page_elements.draw_commands(command for _, command, _ in captured)
    rest = [
        f"- {fmt.sentence(why)} ({fmt.plain(', '.join(titles))})" for (why, command), titles in ordered if not command
    ]
    if rest:
        with st.expander(f"Nothing to judge ({sum(len(titles) for (_, command), titles in ordered if not command)})"):
            st.markdown("\n".join(rest))


def clear(findings: Sequence[Finding]) -> None:
    """Draw the rules that were checked and do not fire."""
    if not findings:
        return
    with st.expander(f"Clear ({len(findings)})"):
        st.markdown("\n".join(f"- **{fmt.plain(one.rule.title)}**: {sentences.says(one)}" for one in findings))


def draw_rulebook(findings: Sequence[Finding]) -> None:
    """Draw all rules with their values and thresholds."""
    with st.expander(f"All rules ({len(findings)})"):
        rows = pd.DataFrame(
            {
                "rule": one.rule.name,
                "verdict": _VERDICTS[one.verdict],
                "value": sentences.format_amount(one.value, one.rule.unit) if one.value is not None else None,
                "threshold": f"{_SIDES[one.rule.fires]} {sentences.format_amount(one.threshold, one.rule.unit)}",
                "question": one.rule.question,
                "group": GROUPS[one.rule.group],
                "source": one.rule.source,
            }
            for one in findings
        )
        tables.draw_table(rows, _RULE_COLUMNS, key="rules", download="rules.csv")
        st.caption(
            "To change thresholds, put thresholds.toml into the folder that WARPDECK_RULES names. Rules of your own go"
            " there, too."
        )
        if own := [one.rule.name for one in findings if one.rule.own]:
            st.caption(f"From your folder: {fmt.plain(', '.join(own))}.")
