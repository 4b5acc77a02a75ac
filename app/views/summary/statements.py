"""The three most important statements about the report, each with a link to the page with the details."""

from collections.abc import Sequence

import streamlit as st

from app import page_list
from app.selection import page_selection
from profiledb.findings.finding import Finding
from profiledb.query import header
from profiledb.studies.summary import headline
from profiledb.studies.summary.top_findings import idle_remark


def show(report_id: str, ask: headline.Ask, findings: Sequence[Finding], without: frozenset[str]) -> None:
    """Draw the statements side by side, except those of rule groups in ``without``, which the findings cover."""
    told = [one for one in headline.find_statements(ask) if without.isdisjoint(one.groups)]
    if not told:
        return
    with st.container(key="statements"):
        for statement in told:
            with st.container(border=True, gap="xxsmall"):
                st.markdown(
                    statement.text
                    + (idle_remark(findings) if statement.page == header.get("idle_reasons").page else "")
                )
                st.page_link(
                    page_list.get_script(statement.page), label=f":primary[{statement.label}]",
                    icon=":material/arrow_forward:",
                    query_params=page_selection.link(report_id, **statement.query), width="content",
                )  # fmt: skip
