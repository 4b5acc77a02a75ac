"""Summary of a report with a timeline: what to do first, where the time goes, the findings, and what took the time."""

import streamlit as st

from app import session
from app.ui import capture_facts, capture_notes, summary_button, time_bar
from app.ui import judged_findings as judged
from app.ui import page_elements as ui
from app.views.summary import busy_strip, kernels, statements, tables, top_findings
from profiledb.errors import NotCapturedError
from profiledb.findings import judge
from profiledb.library.catalog import Manifest
from profiledb.studies.summary import memory, paths
from profiledb.studies.summary.statement import Ask


def page() -> None:
    manifest = session.report()
    steady = judged.chosen_part(manifest)
    ask = judged.asking(manifest, steady)
    times = steady.times if steady else {}
    with st.container(key="summary-first"):
        if paths.has_sums_only(manifest):
            st.markdown(paths.explain(ask))
        else:
            _draw_first_sentence(manifest, startup=steady is None)
    time_bar.show(manifest.id, times)
    time_bar.show_steps(manifest.id, times)
    found = judged.known([manifest]).get(manifest.id)
    rows = "unknown" if found is None else min(top_findings.MOST, sum(one.costs for one in found))
    with st.container(key=f"summary-findings-{rows}"):  # reserves height for what loads later
        _draw_findings(manifest, ask, startup=steady is None)
    judged.covered(manifest)
    told = ""
    try:
        busy_strip.show(manifest.id, ask, part=steady is not None)
        kernels.show(manifest, ask)
    except NotCapturedError as error:
        if memory.is_snapshot_only(manifest):
            tables.memory(manifest.id)
        elif paths.has_sums_only(manifest):
            tables.paths(manifest.id)
        else:
            ui.not_captured(error)
            told = "kernel"
            tables.calls(manifest.id)
    tables.copies(ask)
    tables.ranges(ask)
    capture_notes.diagnostics(manifest.id)
    capture_notes.lacks(manifest.id, told)
    with st.expander("Details of the capture"):
        capture_notes.reading(manifest.id)
        capture_facts.show(manifest.id)
    summary_button.show(manifest)


@st.fragment(parallel=True)
def _draw_first_sentence(manifest: Manifest, *, startup: bool) -> None:
    """Draw the first sentence; the rest of the page does not wait for it, nor moves when it arrives (style.css)."""
    with ui.boundary():
        top_findings.first(judged.findings(manifest, startup=startup), manifest.duration_ns if startup else None)


@st.fragment(parallel=True)
def _draw_findings(manifest: Manifest, ask: Ask, *, startup: bool) -> None:
    """Draw the rows of findings with links to read on; or statements, where no finding costs time."""
    with ui.boundary():
        findings = judged.findings(manifest, startup=startup)
        if judge.worthwhile(findings):
            top_findings.rows(manifest.id, findings)
            statements.links(manifest.id, ask, all_findings=True)
        elif paths.has_sums_only(manifest):
            statements.links(manifest.id, ask, all_findings=False)
        else:
            statements.cards(manifest.id, ask, findings)


page()
