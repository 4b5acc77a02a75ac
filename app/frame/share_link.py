"""The form that makes a sharing link, which opens a report for people without a login."""

from typing import Any

import streamlit as st

from app import session
from app.ui import page_elements as ui
from app.web import access, sharing_route
from profiledb.library.catalog import Manifest

_NEW_LINK, _DAYS = "share-made", "share-days"
DEFAULT_DAYS = 7


def draw_share_popover(current: Manifest) -> None:
    """Draw the popover with the form, or with the link that was just made; nothing for users who may not share."""
    if not (sharing_route.are_links_allowed() and access.may_edit()):
        return
    with st.popover("Share", icon=":material/share:", key="top-share"):
        _draw_form(current)


def _draw_form(current: Manifest) -> None:
    max_days = int(session.get_settings().login_link_days)
    new_link: Any = st.session_state.pop(_NEW_LINK, None)
    if new_link and new_link[0] == current.id:
        st.caption("For people without a login. Copy it now: it is shown only this once. Admins can end it.")
        st.code(new_link[1], language=None)
        return
    with st.form("share", border=False):
        st.number_input("Days", 1, max_days, min(DEFAULT_DAYS, max_days), key=_DAYS, help="Then the link stops working")
        st.form_submit_button("Make a link that needs no login", on_click=_make_share, args=(current.id,))


def _make_share(report_id: str) -> None:
    with ui.boundary():
        max_days = session.get_settings().login_link_days
        secret = session.open_for_changes().catalog.sharing_links.create(report_id, st.session_state[_DAYS], max_days)
        st.session_state[_NEW_LINK] = (report_id, sharing_route.make_link(secret))
