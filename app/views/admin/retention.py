"""Announced removals by retention, with their dates."""

from datetime import datetime, timedelta

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables
from app.ui.table_columns import Col
from app.views.admin.audit_table import format_moment
from profiledb.rules import retention as rules

MOST = 1_000
"""Maximum number of things shown."""
COLUMNS = (
    Col("name", "Name", width=300),
    Col("what", "What", width=90, help="A report, or an upload: a file of the inbox"),
    Col("why", "Rule", width=220),
    Col("bytes", "Size", kind="bytes", width=90),
    Col("from", "Goes from (UTC)", width=150),
)


def draw_retention() -> None:
    """Draw the rules in force and the removals that they announce."""
    st.subheader("Retention", anchor=False)
    retention_rules = rules.read_current(session.get_settings())
    if retention_rules is None or not retention_rules.words:
        st.info("Nothing is ever removed: no rules are set (WARPDECK_RETENTION).")
        return
    st.caption(
        f"Rules: {fmt.plain('; '.join(retention_rules.words))}. Reports with a label stay, and Trends keeps the figures"
        f" of removed reports. Each removal is announced {retention_rules.notice_days:g} days before."
    )
    announced = session.open_for_admin().catalog.removals.announced(MOST + 1)
    if not announced:
        st.info("Nothing is about to be removed.")
        return
    notice = timedelta(days=retention_rules.notice_days)
    rows = [
        {"name": one.name, "what": one.what.capitalize(), "why": one.why, "bytes": one.bytes,
         "from": format_moment((datetime.fromisoformat(one.announced_at) + notice).isoformat())[:16]}
        for one in announced[:MOST]
    ]  # fmt: skip
    tables.draw_table(pd.DataFrame(rows), COLUMNS, key="admin-retention", download="retention.csv")
    if len(announced) > MOST:
        st.caption(f"The first {fmt.count(MOST)} are shown: warpdeck retain --dry-run lists all.")
