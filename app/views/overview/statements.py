"""The three most important statements about the report, each with a way to the page that shows more of it."""

from functools import partial

import streamlit as st

from app import pages, session
from app.selection import settled
from app.ui import page
from profiledb.studies import headline


@st.fragment(parallel=True)
def show(report_id: str, without: frozenset[str] = frozenset()) -> None:
    """Draws them beside each other, but for those that lead to the pages ``without``; nothing where none is left.

    The rest of the page does not wait.
    """
    with page.boundary():
        _show(report_id, without)


def _show(report_id: str, without: frozenset[str]) -> None:
    told = [one for one in headline.statements(partial(session.run, report_id)) if one.page not in without]
    if not told:
        return
    with st.container(key="statements"):
        for statement in told:
            with st.container(border=True, gap="xxsmall"):
                st.markdown(statement.text)
                st.page_link(
                    pages.script(statement.page), label=f":primary[{statement.label}]", icon=":material/arrow_forward:",
                    query_params=settled.link(report_id, **statement.query), width="content",
                )  # fmt: skip
