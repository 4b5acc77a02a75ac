"""Going from page to page.

Streamlit runs a fragment on the page that the browser names. A timer of the page that is left may still name that one
while the next page is drawn: such a request waits for the end of the run, and then empties the page and shows the
left one's address. It is turned away where the fragment is known no more, so a page takes its fragments along.
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from app import streamlit_private

_HERE = "page-of-this-session"


def to(page: Path, query: Mapping[str, str | list[str]]) -> None:
    """Goes to a page with this query; the run that calls it ends here."""
    streamlit_private.forget_fragments()
    st.switch_page(page, query_params=query)


def arrived(url: str) -> None:
    """Says which page this run draws, before it draws it: one that differs from the last run's was left."""
    if st.session_state.get(_HERE, url) != url:
        streamlit_private.forget_fragments()
    st.session_state[_HERE] = url
