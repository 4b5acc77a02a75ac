"""Download buttons for a report: a Markdown summary, or the full report as one self-contained HTML page."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from app import session
from app.ui import format as fmt
from profiledb.library.catalog import Manifest
from profiledb.studies.html import document as html
from profiledb.studies.summary import document

_HELP = {
    ".summary.md": "The figures of all pages for the current selection",
    ".html": "What to do first, charts, findings and tables, as one file that opens without a server",
}


def draw_buttons(manifest: Manifest) -> None:
    """Draw the buttons. A file is built on click, from the selection at that moment."""
    asked = (session.library(), manifest, session.read_selected(manifest.id))
    base = (st.context.url or "").partition("?")[0].rpartition("/")[0]
    with st.container(horizontal=True):
        _draw_button(
            "Summary (Markdown)", partial(document.write_summary, *asked), manifest, ".summary.md", "text/markdown"
        )
        _draw_button("Report (HTML)", partial(html.write_page, *asked, address=base), manifest, ".html", "text/html")


def _draw_button(label: str, text: Callable[[], str], manifest: Manifest, ending: str, kind: str) -> None:
    st.download_button(
        label,
        lambda: text().encode(errors="replace"),
        f"{Path(fmt.visible(manifest.name)).stem}{ending}",
        kind,
        key=f"summary{ending}",
        help=_HELP[ending],
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
