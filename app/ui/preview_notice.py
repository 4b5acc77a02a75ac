"""Say that a report is being prepared, and draw the page again once it is complete."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui.page_elements import boundary
from profiledb.library.catalog import Manifest
from profiledb.library.preview_wait import HINT

_LOOK_S = 2


def draw_notice(manifest: Manifest) -> None:
    """Draw the notice above the page of a preview; nothing for a complete report."""
    if manifest.preparing:
        st.info(f"{fmt.plain(manifest.shown_name)} is being prepared. {HINT}", icon=":material/hourglass_top:")
        st.fragment(_look_again, run_every=_LOOK_S)(manifest.id)


def _look_again(report_id: str) -> None:
    with boundary():
        known = session.reports([report_id]).get(report_id)
        if known is None or not known.preparing:
            st.rerun()
