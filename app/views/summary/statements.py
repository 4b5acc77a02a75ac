"""The three most important statements about the report, each with a way to the page that shows more of it."""

from collections.abc import Sequence

import streamlit as st

from app import page_list
from app.selection import page_selection
from profiledb.findings.finding import Finding
from profiledb.studies import headline
from profiledb.studies.summary.top_findings import idle_remark


def show(report_id: str, ask: headline.Ask, findings: Sequence[Finding], without: frozenset[str]) -> None:
    """Draws them beside each other, but for those that lead to the pages ``without``; nothing where none is left."""
    told = [one for one in headline.statements(ask) if one.page not in without]
    if not told:
        return
    with st.container(key="statements"):
        for statement in told:
            with st.container(border=True, gap="xxsmall"):
                st.markdown(statement.text + (idle_remark(findings) if statement.page == "idle" else ""))
                st.page_link(
                    page_list.get_script(statement.page), label=f":primary[{statement.label}]",
                    icon=":material/arrow_forward:",
                    query_params=page_selection.link(report_id, **statement.query), width="content",
                )  # fmt: skip
