"""Spaces and their members, with forms to create, change and remove one."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import tables
from app.ui.table_columns import Col
from profiledb.library.space_registry import LONGEST, OF_PROGRAMS, Space
from profiledb.library.spaces import get_folder

_NAME, _GROUPS, _GONE = "admin-space-name", "admin-space-groups", "admin-space-gone"
LONGEST_GROUPS = 20_000
COLUMNS = (
    Col("name", "Space", width=220),
    Col("folder", "Folder of the inbox", width=220, help="Files below this folder are in the space"),
    Col("reports", "Reports", kind="count", width=90),
    Col("seen_by", "Who sees it", width=420, help="Values of the claim that says roles, and names of tokens"),
)


def draw_spaces() -> None:
    st.subheader("Spaces", anchor=False)
    listed = session.open_for_admin().catalog.spaces.list_all()
    made = [one.name for one in listed if one.made]
    if listed:
        tables.draw_table(pd.DataFrame(map(_make_row, listed)), COLUMNS, key="admin-spaces", download="spaces.csv")
    else:
        st.caption("There are none: everybody who may look at reports sees all of them.")
    with st.container(horizontal=True):
        with (
            st.popover("Make or change a space", icon=":material/folder_shared:"),
            st.form("admin-space-new", border=False),
        ):
            st.text_input("Name", key=_NAME, max_chars=LONGEST, placeholder="kernels")
            st.text_area(
                "Who sees it",
                key=_GROUPS,
                max_chars=LONGEST_GROUPS,
                placeholder=f"kernel-team\n{OF_PROGRAMS}nightly build",
                help=f"A value of the claim that says roles, or {OF_PROGRAMS} and the name of a token, on each line",
            )
            st.form_submit_button("Save", on_click=_put_space)
        if made:
            with (
                st.popover("Remove a space", icon=":material/folder_off:"),
                st.form("admin-space-remove", border=False),
            ):
                st.caption("Its reports stay, and admins alone see them.")
                st.selectbox("Space", made, key=_GONE, format_func=fmt.visible)
                st.form_submit_button("Remove", on_click=_remove_space)


def _make_row(one: Space) -> dict[str, object]:
    return {"name": one.name, "folder": get_folder(one.name), "reports": one.reports, "seen_by": one.seen_by}


def _put_space() -> None:
    with ui.boundary():
        name = st.session_state[_NAME].strip()
        session.open_for_admin().catalog.spaces.put(name, st.session_state[_GROUPS].splitlines())


def _remove_space() -> None:
    with ui.boundary():
        session.open_for_admin().catalog.spaces.remove(st.session_state[_GONE])
