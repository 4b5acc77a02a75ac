"""A number that the reader types, as text: Streamlit's own field takes no 1.2e12 and knows no nothing."""

import streamlit as st

from app.ui import format as fmt
from app.ui import url_widgets


def ask(label: str, key: str, example: str, about: str) -> float | None:
    """A number that the reader types, 1.2e12 included; anything else is said to be none."""
    text = st.text_input(label, **url_widgets.text(key), placeholder=example, help=about, width=200).strip()
    value = fmt.number(text.replace(",", "").replace(" ", "")) if text else None
    if text and (value is None or value <= 0):
        st.caption(f"{fmt.plain(fmt.shortened(text, 20))} is not a number above 0.", width="content")
        return None
    return value
