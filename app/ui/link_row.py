"""A row of the dialog that links reports: a report's name, its details, and the Link or Unlink button."""

from typing import Literal

import streamlit as st

from app.ui import format as fmt
from profiledb.library.catalog import Manifest


def draw_row(report: Manifest, about: str, *, note: str = "", linked: bool) -> Literal["Link", "Unlink"] | None:
    """Draw the row; return the label of the button if it was pressed.

    Args:
        report: the candidate.
        about: text below its name.
        note: text beside its name.
        linked: whether it is currently linked.
    """
    text, button = st.columns([4, 1], vertical_alignment="center")
    with text.container(gap="xxsmall"):
        mark = ":material/link: " if linked else ""
        st.markdown(f"{mark}**{fmt.plain(report.shown_name)}**{f'  ·  {fmt.plain(note)}' if note else ''}")
        st.caption(fmt.plain(about))
    label: Literal["Link", "Unlink"] = "Unlink" if linked else "Link"
    with button.container(horizontal=True, horizontal_alignment="right"):
        return label if st.button(label, key=f"{label.lower()}-{report.id}") else None
