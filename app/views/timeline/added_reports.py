"""Reports added below the page's own; the URL names them, and a field above the timeline selects them."""

from collections.abc import Mapping

import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from profiledb.library.catalog import TIMELINE, Manifest

_KEY = "timeline-with"


def choose(manifest: Manifest) -> list[tuple[str, str]]:
    """Return id and name of each added report, and draw the selector if the library has others."""
    known = session.about(TIMELINE, without=manifest.id)
    chosen = session.named(kernel_links.WITH, known)[: kernel_links.MOST_BESIDE]
    if known:
        _field(known, chosen)
    return [(one, known[one].name) for one in chosen]


def _field(known: Mapping[str, Manifest], chosen: list[str]) -> None:
    """Draw the selector, which takes its value from the URL on every run."""
    st.session_state[_KEY] = chosen
    with st.popover(_title(len(chosen)), icon=":material/stacks:", width="content"):
        st.multiselect(
            "Reports below this one", list(known), key=_KEY, format_func=lambda key: fmt.visible(known[key].shown_name),
            max_selections=kernel_links.MOST_BESIDE, placeholder="Search a report", on_change=_write,
        )  # fmt: skip
        st.caption("Choose ranks of one run, or two versions of a program.")


def _title(number: int) -> str:
    return f"{fmt.counted(number, 'report')} below" if number else "Put a report below"


def _write() -> None:
    chosen = st.session_state[_KEY]
    if chosen:
        st.query_params[kernel_links.WITH] = chosen
    else:
        st.query_params.pop(kernel_links.WITH, None)
