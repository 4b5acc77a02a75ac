"""The Admin page: audit, retention, spaces, logins, sharing links, and tokens for programs. For admins only."""

import streamlit as st

from app.ui import page_elements as ui
from app.views.admin import audit_table, logins, retention, sharing_links, spaces, tokens
from app.web import access


def draw_page() -> None:
    """Draw the page; its sections check for an admin again (``session.open_for_admin``)."""
    st.header("Admin", anchor=False)
    if not access.may_administer():
        st.info(
            "Only an admin sees this page. Without a login there is none: warpdeck audit and warpdeck token do the same"
            " on the command line."
        )
        return
    for part in (
        audit_table.draw_audit,
        retention.draw_retention,
        spaces.draw_spaces,
        logins.draw_logins,
        sharing_links.draw_links,
        tokens.draw_tokens,
    ):
        with ui.boundary():
            part()


draw_page()
