"""A link to a report for people without a login, where whoever runs the server allows it."""

from typing import Any

import streamlit as st

from app import session
from app.ui import page_elements as ui
from app.web import access, sharing_middleware
from profiledb.library.catalog import Manifest

_MADE, _DAYS = "share-made", "share-days"
USUAL_DAYS = 7


def offer(current: Manifest) -> None:
    """Draws the way to make a link, and one that was just made; nothing for those who may not."""
    if not (sharing_middleware.allowed() and access.may_edit()):
        return
    most = int(session.settings().login_link_days)
    made: Any = st.session_state.pop(_MADE, None)
    if made and made[0] == current.id:
        st.caption("For people without a login. Copy it now: it is shown only this once. Admins can end it.")
        st.code(made[1], language=None)
        return
    with st.form("share", border=False):
        st.number_input("Days", 1, most, min(USUAL_DAYS, most), key=_DAYS, help="Then the link opens nothing")
        st.form_submit_button("Make a link that needs no login", on_click=_make, args=(current.id,))


def _make(report_id: str) -> None:
    with ui.boundary():
        most = session.settings().login_link_days
        secret = session.editing().catalog.sharing_links.create(report_id, st.session_state[_DAYS], most)
        st.session_state[_MADE] = (report_id, sharing_middleware.address(secret))
