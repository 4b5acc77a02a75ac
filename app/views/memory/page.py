"""Memory and API: copies, CUDA calls, launches, why the GPU was idle, memory use, GPU metrics."""

from collections.abc import Callable

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page as ui
from app.views.memory import api, copies, idle, launch, metrics, use
from profiledb.errors import NotCapturedError

Section = Callable[[str], None]
# Title, how it is drawn, and whether its absence gets a box, or one quiet line below all others. (A comment, because
# Streamlit would show a text that stands by itself in a page.)
SECTIONS: tuple[tuple[str, Section, bool], ...] = (
    ("Copies", copies.show, True),
    ("CUDA API calls", api.show, True),
    ("Launch, queue and execution", launch.show, True),
    ("GPU idle", idle.show, True),
    ("OS runtime calls", api.os_runtime, False),
    ("GPU memory", use.show, False),
    ("GPU metrics", metrics.show, False),
)


def page() -> None:
    """Draws the page; what several sections lack is said once."""
    manifest = session.report()
    ui.header(manifest, "Memory & API")
    told: dict[str, str] = {}
    quiet: list[NotCapturedError] = []
    for title, draw, loud in SECTIONS:
        try:
            draw(manifest.id)
        except NotCapturedError as error:
            if title == "Copies" and "kernel" in manifest.rows:
                quiet.append(NotCapturedError("No copy or memory set ran on the GPU."))
            elif loud and error.hint not in told:
                st.subheader(title, anchor=False)
                ui.not_captured(error)
                told[error.hint] = error.message
            elif told.get(error.hint) != error.message:
                quiet.append(error)
    for words in dict.fromkeys(f"{fmt.plain(lack.message)} {fmt.plain(lack.hint)}" for lack in quiet):
        st.caption(words)


page()
