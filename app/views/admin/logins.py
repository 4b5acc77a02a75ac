"""The people who are logged in, and a form that ends a person's logins."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import tables
from app.ui.table_columns import Col
from app.views.admin.audit_table import format_moment

_GONE = "admin-login-gone"
COLUMNS = (
    Col("name", "Person", width=420, help="As the identity provider calls them"),
    Col("at", "Last login (UTC)", width=170),
)


def draw_logins() -> None:
    """Draw the people, and a form that logs one out everywhere."""
    st.subheader("Logins", anchor=False)
    known = session.open_for_admin().catalog.logins.all()
    if not known:
        st.caption("Nobody is logged in.")
        return
    rows = pd.DataFrame([{"name": one.name, "at": format_moment(one.at)} for one in known])
    tables.draw_table(rows, COLUMNS, key="admin-logins", download="logins.csv")
    names = {one.person: one.name for one in known}
    with st.popover("Log a person out", icon=":material/person_off:"), st.form("admin-login-end", border=False):
        st.selectbox("Person", list(names), key=_GONE, format_func=lambda one: fmt.visible(names[one]))
        st.form_submit_button("Log out", on_click=_end_login)


def _end_login() -> None:
    with ui.boundary():
        catalog, person = session.open_for_admin().catalog, st.session_state[_GONE]
        name = next((one.name for one in catalog.logins.all() if one.person == person), "")
        if catalog.logins.end(person):
            catalog.audit.write("ended logins", about=f"of {name}")
