"""Two columns that stand side by side where both have room, and one below the other where they do not."""

import streamlit as st

from app.streamlit_private import DeltaGenerator


def pair(key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The two containers, each as wide as a narrow screen (style.css); ``key`` is unique on the page.

    ``st.columns`` would squeeze them there.
    """
    with st.container(key=f"pair-{key}"):
        return st.container(), st.container()
