"""Reports added below the page's own: the URL names them, and a dialog selects them."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from profiledb.library.catalog import TIMELINE, Manifest

_LAST, _OPEN = "timeline-with", "timeline-adding"


def list_known(manifest: Manifest) -> dict[str, Manifest]:
    """Return the reports that can be drawn below this one."""
    return session.list_about(TIMELINE, without=manifest.id, named_by=kernel_links.WITH)


def find_added(manifest: Manifest, known: Mapping[str, Manifest]) -> list[str]:
    """Return the ids of the added reports: those of the URL, else those that this session last had below this one."""
    last, ids = st.session_state.get(_LAST, ("", []))
    if kernel_links.WITH not in st.query_params and last == manifest.id and ids:
        st.query_params[kernel_links.WITH] = ids
    added = session.read_named(kernel_links.WITH, known)[: kernel_links.MOST_BESIDE]
    st.session_state[_LAST] = (manifest.id, added)
    return added


def ask() -> None:
    """Open the dialog in the run that follows."""
    st.session_state[_OPEN] = True


def draw_dialog(manifest: Manifest, known: Mapping[str, Manifest], added: Sequence[str]) -> None:
    """Draw the dialog if ``ask`` was called."""
    if st.session_state.pop(_OPEN, False):
        _choose_reports(manifest, known, added)


@st.dialog("Reports below this one", width="large")
def _choose_reports(manifest: Manifest, known: Mapping[str, Manifest], added: Sequence[str]) -> None:
    chosen = st.multiselect(
        "Reports", list(known), added, format_func=lambda key: fmt.visible(known[key].shown_name),
        max_selections=kernel_links.MOST_BESIDE, placeholder="Search a report",
    )  # fmt: skip
    st.caption("Choose ranks of one run, or two versions of a program.")
    if st.button("Show them", type="primary"):
        st.session_state[_LAST] = (manifest.id, chosen)
        if chosen:
            st.query_params[kernel_links.WITH] = chosen
        else:
            st.query_params.pop(kernel_links.WITH, None)
        st.rerun()
