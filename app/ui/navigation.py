"""Navigation between pages.

Streamlit runs a fragment on the page that the browser names. A timer of the old page may still name that page while the
new one is drawn. Such a request waits for the run to end, then clears the page and restores the old URL. Streamlit
rejects it if the fragment is no longer registered, so leaving a page unregisters its fragments.
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from app import streamlit_private

_HERE = "page-of-this-session"


def to(page: Path, query: Mapping[str, str | list[str]]) -> None:
    """Open a page with this query; the current run ends here."""
    streamlit_private.forget_fragments()
    st.switch_page(page, query_params=query)


def note_arrival(url: str) -> None:
    """Record the page that this run is about to draw, and unregister the fragments of the last one if it differs."""
    if st.session_state.get(_HERE, url) != url:
        streamlit_private.forget_fragments()
    st.session_state[_HERE] = url
