"""Two columns that stand side by side where both have room, and one below the other where they do not."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

LEAST_PX = 535


def pair() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The two containers; ``st.columns`` would squeeze them on a narrow screen."""
    with st.container(horizontal=True, gap="medium"):
        return st.container(width=LEAST_PX), st.container(width=LEAST_PX)
