"""Memory and API: copies, CUDA calls, launches, why the GPU was idle, memory use, GPU metrics."""

from collections.abc import Callable

import streamlit as st

from app import format as fmt
from app import session, ui
from app.views import memory_api, memory_copies, memory_idle, memory_launch, memory_metrics, memory_use
from profiledb.errors import NotCapturedError

Section = Callable[[str], None]
# Title, how it is drawn, and whether its absence gets a box, or one quiet line below all others. (A comment, because
# Streamlit would show a text that stands by itself in a page.)
SECTIONS: tuple[tuple[str, Section, bool], ...] = (
    ("Copies", memory_copies.show, True),
    ("CUDA API calls", memory_api.show, True),
    ("Launch, queue and execution", memory_launch.show, True),
    ("GPU idle", memory_idle.show, True),
    ("OS runtime calls", memory_api.os_runtime, False),
    ("GPU memory", memory_use.show, False),
    ("GPU metrics", memory_metrics.show, False),
)


def page() -> None:
    """Draws the page; what several sections lack is said once."""
    manifest = session.report()
    ui.header(manifest, "Memory & API")
    said: dict[str, str] = {}
    quiet: list[NotCapturedError] = []
    for title, draw, loud in SECTIONS:
        try:
            draw(manifest.id)
        except NotCapturedError as error:
            if title == "Copies" and "kernel" in manifest.rows:
                quiet.append(NotCapturedError("No copy or memory set ran on the GPU."))
            elif loud and error.hint not in said:
                st.subheader(title, anchor=False)
                ui.not_captured(error)
                said[error.hint] = error.message
            elif said.get(error.hint) != error.message:
                quiet.append(error)
    for lack in quiet:
        st.caption(f"{fmt.plain(lack.message)} {fmt.plain(lack.hint)}")


page()
