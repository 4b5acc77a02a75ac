"""Overview of an nsys report: how busy the GPU was, what took the time, what the capture says and what it lacks."""

import streamlit as st

from app import session
from app.ui import about, notes, summary_button
from app.ui import page as ui
from app.views.overview import found, gpu, kernels, statements, tables
from profiledb.errors import NotCapturedError
from profiledb.report.catalog import Manifest
from profiledb.studies.summary import memory


def page() -> None:
    """Draws the page."""
    manifest = session.report()
    _head(manifest)
    told = ""
    notes.reading(manifest.id)
    try:
        gpu.show(manifest.id)
        kernels.show(manifest)
    except NotCapturedError as error:
        if memory.alone(manifest):
            tables.memory(manifest.id)
        else:
            ui.not_captured(error)
            told = "kernel"
            tables.calls(manifest.id)
    tables.copies(manifest.id)
    tables.ranges(manifest.id)
    notes.diagnostics(manifest.id)
    notes.lacks(manifest.id, told)
    about.show(manifest.id)
    summary_button.show(manifest)


@st.fragment(parallel=True)
def _head(manifest: Manifest) -> None:
    """Findings and statements; the rest of the page does not wait for them."""
    with ui.boundary():
        said = found.show(manifest)
        statements.show(manifest.id, frozenset() if memory.alone(manifest) else said)


page()
