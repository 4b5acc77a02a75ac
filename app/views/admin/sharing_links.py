"""The open sharing links, and a form that ends one."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import tables
from app.ui.table_columns import Col
from app.views.admin.audit_table import format_moment
from app.web import sharing_route
from profiledb.library.sharing_links import Share

_GONE = "admin-link-gone"
COLUMNS = (
    Col("report", "Report", width=260),
    Col("made_by", "Made by", width=220),
    Col("made_at", "Made (UTC)", width=170),
    Col("ends_at", "Ends (UTC)", width=170),
    Col("id", "Number", width=130, help="As the audit calls it"),
)


def draw_links() -> None:
    st.subheader("Sharing links", anchor=False)
    if not sharing_route.are_links_allowed():
        st.caption("Links are off: WARPDECK_LOGIN_LINK_DAYS says for how many days one may last.")
        return
    known = session.open_for_admin().catalog.sharing_links.all()
    if not known:
        st.caption("There are none. Editors make one above the pages of a report, with Share.")
        return
    names = {key: report.shown_name for key, report in session.reports(one.report_id for one in known).items()}
    rows = pd.DataFrame([_make_row(one, names) for one in known])
    tables.draw_table(rows, COLUMNS, key="admin-links", download="links.csv")
    titles = {one.id: f"{names.get(one.report_id, one.report_id)}, {one.id}" for one in known}
    with st.popover("End a link", icon=":material/link_off:"), st.form("admin-link-end", border=False):
        st.selectbox("Link", list(titles), key=_GONE, format_func=lambda one: fmt.visible(titles[one]))
        st.form_submit_button("End", on_click=_end_link)


def _make_row(one: Share, names: dict[str, str]) -> dict[str, str]:
    return {
        "report": names.get(one.report_id, one.report_id),
        "made_by": one.made_by,
        "made_at": format_moment(one.made_at),
        "ends_at": format_moment(one.ends_at),
        "id": one.id,
    }


def _end_link() -> None:
    with ui.boundary():
        session.open_for_admin().catalog.sharing_links.end(st.session_state[_GONE])
