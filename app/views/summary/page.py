"""Overview of an nsys report: how busy the GPU was, what took the time, and what the capture contains and lacks."""

import streamlit as st

from app import session
from app.ui import capture_facts, capture_notes, summary_button
from app.ui import judged_findings as judged
from app.ui import page_elements as ui
from app.views.summary import busy_strip, kernels, statements, tables, top_findings
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.studies.summary import headline, memory


def page() -> None:
    manifest = session.report()
    steady = judged.covered(manifest)
    ask = judged.asking(manifest, steady)
    _head(manifest, ask, startup=steady is None)
    told = ""
    capture_notes.reading(manifest.id)
    try:
        busy_strip.show(manifest.id, ask, part=steady is not None)
        kernels.show(manifest, ask)
    except NotCapturedError as error:
        if memory.is_snapshot_only(manifest):
            tables.memory(manifest.id)
        else:
            ui.not_captured(error)
            told = "kernel"
            tables.calls(manifest.id)
    tables.copies(ask)
    tables.ranges(ask)
    capture_notes.diagnostics(manifest.id)
    capture_notes.lacks(manifest.id, told)
    capture_facts.show(manifest.id)
    summary_button.show(manifest)


@st.fragment(parallel=True)
def _head(manifest: Manifest, ask: headline.Ask, *, startup: bool) -> None:
    """Draw findings and statements; if they fail, the rest of the page is still drawn."""
    with ui.boundary():
        findings = judged.findings(manifest, startup=startup)
        said = top_findings.show(findings, manifest)
        statements.show(manifest.id, ask, findings, frozenset() if memory.is_snapshot_only(manifest) else said)


page()
