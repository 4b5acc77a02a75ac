"""The summary of a report as a file to download."""

from functools import partial
from pathlib import Path

import streamlit as st

from app import session
from app.ui import format as fmt
from profiledb.report.catalog import Manifest
from profiledb.studies.summary import document


def show(manifest: Manifest) -> None:
    """Draws the button; the text is made when it is clicked, of what is selected now."""
    st.download_button(
        "Summary (Markdown)",
        partial(document.text, session.library(), manifest, session.selected(manifest.id)),
        f"{Path(fmt.visible(manifest.name)).stem}.summary.md",
        "text/markdown",
        key="summary",
        help="The figures of all pages for the current selection",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
