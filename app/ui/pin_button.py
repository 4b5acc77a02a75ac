"""The button that pins a report: it puts the report on top of the report switcher, for everybody."""

import streamlit as st

from app import session
from profiledb.library.catalog import Manifest

PINNED = "pinned"
"""The label of pinned reports."""


def draw_pin_button(report: Manifest, key: str) -> None:
    """Draw the button that pins a report, or unpins it."""
    pinned = PINNED in session.read_labels([report.id]).get(report.id, [])
    st.button(
        "Unpin" if pinned else "Pin", icon=":material/keep_off:" if pinned else ":material/keep:", key=key,
        help="Takes the report from the top of the list." if pinned
        else "Puts the report on top of the list, for everyone. The Library shows it as the label pinned.",
        on_click=_set_pin, args=(report.id, not pinned),
    )  # fmt: skip


def _set_pin(report_id: str, pinned: bool) -> None:
    catalog = session.open_for_changes().catalog
    labels = set(catalog.listing.labels_of([report_id]).get(report_id, ()))
    catalog.set_labels(report_id, sorted(labels | {PINNED} if pinned else labels - {PINNED}))
