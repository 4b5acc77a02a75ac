"""A report in the dialog that links reports: its name, what is said of it, and the button that links or unlinks it."""

from typing import Literal

import streamlit as st

from app.ui import format as fmt
from profiledb.library.catalog import Manifest


def draw(report: Manifest, about: str, *, said: str = "", linked: bool) -> Literal["Link", "Unlink"] | None:
    """Draws it; returns which button was pressed.

    Args:
        report: what may be linked.
        about: what stands below its name.
        said: what stands beside its name.
        linked: whether it is linked by now.
    """
    text, button = st.columns([4, 1], vertical_alignment="center")
    with text.container(gap="xxsmall"):
        mark = ":material/link: " if linked else ""
        st.markdown(f"{mark}**{fmt.plain(report.name)}**{f'  ·  {fmt.plain(said)}' if said else ''}")
        st.caption(fmt.plain(about))
    label: Literal["Link", "Unlink"] = "Unlink" if linked else "Link"
    with button.container(horizontal=True, horizontal_alignment="right"):
        return label if st.button(label, key=f"{label.lower()}-{report.id}") else None
