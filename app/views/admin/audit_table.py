"""The audit as a searchable table."""

from dataclasses import asdict

import pandas as pd
import streamlit as st

from app import session
from app.ui import tables, url_widgets
from app.ui.table_columns import Col
from profiledb.library.audit import ACTIONS, LONGEST_SEARCH

MOST = 5_000
"""Maximum number of entries shown."""
COLUMNS = (
    Col("at", "When (UTC)", width=170),
    Col("who", "Who", width=220, help="As the identity provider or the token calls them"),
    Col("way", "By", width=80, help="login, token, worker, link (a sharing link), local (the machine itself)"),
    Col("action", "What", width=120),
    Col("report_name", "Report", width=240, help="Its name at that time"),
    Col("about", "Details", width=320),
)


def draw_audit() -> None:
    """Draw the search and the matching entries."""
    st.subheader("Audit", anchor=False)
    audit = session.open_for_admin().catalog.audit
    months = audit.months()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Search",
            placeholder="A person, a report, a label",
            width=320,
            max_chars=LONGEST_SEARCH,
            **url_widgets.bind_text("q"),
        )
        action = st.selectbox(
            "What", ACTIONS, index=None, placeholder="Anything", width=200, **url_widgets.bind_option("action", ACTIONS)
        )
        month = st.selectbox(
            "Month", months, index=None, placeholder="Any", width=120, **url_widgets.bind_option("month", months)
        )
    entries = list(audit.iterate(text, action or "", most=MOST + 1, month=month or ""))
    if not entries:
        st.info("No entry matches." if text or action or month else "Nobody has done anything yet.")
        return
    rows = pd.DataFrame([asdict(entry) | {"at": format_moment(entry.at)} for entry in entries[:MOST]])
    tables.draw_table(rows, COLUMNS, key="admin-changes", download="changes.csv", hidden=("report_id",))
    if len(entries) > MOST:
        st.caption(
            f"The newest {MOST:,} are shown: search for others. `warpdeck audit --month {month or months[0]}"
            " --format csv` exports all of a month."
        )


def format_moment(at: str) -> str:
    """Format a UTC timestamp without the T and the time zone."""
    return at[:19].replace("T", " ")
