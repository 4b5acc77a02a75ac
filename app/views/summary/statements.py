"""Where to read on: a link for each of the three most important statements; their text where no finding says more."""

from collections.abc import Sequence

import streamlit as st

from app import page_list
from app.selection import page_selection
from profiledb.findings.finding import Finding
from profiledb.studies.summary import headline, top_findings
from profiledb.studies.summary.statement import Ask, Statement


def draw_links(report_id: str, ask: Ask, *, all_findings: bool) -> None:
    """Draw the links side by side, that to all findings first."""
    with st.container(horizontal=True, key="statement-links"):
        if all_findings:
            _draw_link(report_id, Statement("", 0.0, "All findings", "findings"))
        for statement in headline.find_statements(ask):
            _draw_link(report_id, statement)


def draw_cards(report_id: str, ask: Ask, findings: Sequence[Finding]) -> None:
    """Draw the statements side by side, each with its link."""
    statements = top_findings.select_statements(headline.find_statements(ask), findings)
    if not statements:
        return
    with st.container(key="statements"):
        for statement in statements:
            with st.container(border=True, gap="xxsmall"):
                st.markdown(statement.text)
                _draw_link(report_id, statement)


def _draw_link(report_id: str, statement: Statement) -> None:
    st.page_link(
        page_list.get_script(statement.page), label=f":primary[{statement.label}]", icon=":material/arrow_forward:",
        query_params=page_selection.link(report_id, **statement.query), width="content",
    )  # fmt: skip
