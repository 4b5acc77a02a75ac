"""Tokens for programs: list, create, remove."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import tables
from app.ui.table_columns import Col
from app.views.admin.audit_table import format_moment
from profiledb.access.operations.tokens import DAYS, LONGEST_NAME, MOST_DAYS, ROLES, Token, describe_days, open_tokens

_MADE = "admin-token"
_NAME, _ROLE, _GONE = "admin-token-name", "admin-token-role", "admin-token-gone"
_DAYS, _NEVER = "admin-token-days", "admin-token-never"
COLUMNS = (
    Col("name", "Token", width=260),
    Col("role", "Role", width=80),
    Col("created_at", "Made (UTC)", width=170),
    Col("ends_at", "Ends (UTC)", width=170),
    Col("used_at", "Last used (UTC)", width=170, help="To five minutes"),
)


def draw_tokens() -> None:
    st.subheader("Tokens for programs", anchor=False)
    uses = session.open_for_admin().catalog.token_uses.all()
    tokens = open_tokens(session.get_settings()).all()
    if tokens:
        rows = pd.DataFrame([_make_row(one, uses.get(one.id, "")) for one in tokens])
        tables.draw_table(rows, COLUMNS, key="admin-tokens", download="tokens.csv")
    else:
        st.caption("There are none.")
    _show_new_token()
    with st.container(horizontal=True):
        with st.popover("Make a token", icon=":material/key:"), st.form("admin-token-new", border=False):
            st.text_input("Name", key=_NAME, max_chars=LONGEST_NAME, placeholder="nightly build")
            st.selectbox("Role", ROLES, key=_ROLE, format_func=str.capitalize)
            st.number_input("Days", 1, MOST_DAYS, DAYS, key=_DAYS, help="How long it lasts")
            st.checkbox("Never ends", key=_NEVER)
            st.form_submit_button("Make", on_click=_make_token)
        if tokens:
            with st.popover("Remove a token", icon=":material/key_off:"), st.form("admin-token-remove", border=False):
                st.selectbox("Token", [one.name for one in tokens], key=_GONE, format_func=fmt.visible)
                st.form_submit_button("Remove", on_click=_remove_token)


def _make_row(one: Token, used_at: str) -> dict[str, str]:
    ends = format_moment(one.ends_at) + (" (over)" if one.has_ended else "") if one.ends_at else "Never"
    used = format_moment(used_at) if used_at else "Never"
    return {
        "name": one.name,
        "role": one.role,
        "created_at": format_moment(one.created_at),
        "ends_at": ends,
        "used_at": used,
    }


def _show_new_token() -> None:
    """Show the text of a token that was just created, once."""
    made: Any = st.session_state.pop(_MADE, None)
    if made:
        st.success("Copy the token now: it is shown only this once.")
        st.code(made, language=None)


def _make_token() -> None:
    with ui.boundary():
        library = session.open_for_admin()
        name, role = st.session_state[_NAME], st.session_state[_ROLE]
        days = None if st.session_state[_NEVER] else int(st.session_state[_DAYS])
        made = open_tokens(session.get_settings()).new(name, role, days)
        library.catalog.audit.write("made token", about=f"{name}, {role}, {describe_days(days)}")
        st.session_state[_MADE] = made


def _remove_token() -> None:
    with ui.boundary():
        library = session.open_for_admin()
        open_tokens(session.get_settings()).remove(st.session_state[_GONE])
        library.catalog.audit.write("removed token", about=st.session_state[_GONE])
