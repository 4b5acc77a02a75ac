"""A number input as a text field: Streamlit's number field rejects 1.2e12 and cannot be empty."""

import streamlit as st

from app.ui import format as fmt
from app.ui import url_widgets


def ask(label: str, key: str, example: str, about: str) -> float | None:
    """Draw the field and return its value; None if it is empty or, with a message, not a number above 0."""
    text = st.text_input(label, **url_widgets.bind_text(key), placeholder=example, help=about, width=200).strip()
    value = fmt.number(text.replace(",", "").replace(" ", "")) if text else None
    if text and (value is None or value <= 0):
        st.caption(f"{fmt.plain(fmt.shortened(text, 20))} is not a number above 0.", width="content")
        return None
    return value
