"""Two columns side by side on wide screens, stacked on narrow ones."""

import streamlit as st

from app.streamlit_private import DeltaGenerator


def pair(key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the two containers, each at least as wide as a narrow screen (style.css); ``key`` is unique on the page.

    ``st.columns`` would squeeze them instead of stacking them.
    """
    with st.container(key=f"pair-{key}"):
        return st.container(), st.container()
