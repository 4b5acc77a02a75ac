"""Download of the CPU samples as a speedscope file."""

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from app import session
from app.ui import format as fmt
from profiledb.studies import speedscope


def draw_button(report_id: str, asked: dict[str, Any]) -> None:
    """Draw the button; the file is built on click, from the selection at that moment."""
    name = session.report().name
    st.download_button(
        "For speedscope (JSON)",
        partial(speedscope.format_document, session.library(), report_id, session.read_selected(report_id) | asked),
        f"{Path(fmt.visible(name)).stem}.speedscope.json",
        "application/json",
        key="speedscope",
        help="The CPU samples of this view; https://www.speedscope.app opens the file",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
