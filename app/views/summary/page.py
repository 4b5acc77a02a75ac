"""Summary of a report with a timeline: what to do first, where the time goes, the findings, and the top kernels."""

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


def draw_page() -> None:
    manifest = session.report()
    steady = judged.choose_part(manifest)
    ask = judged.make_ask(manifest, steady)
    times = steady.times if steady else {}
    with st.container(key="summary-first"):
        if paths.has_sums_only(manifest):
            st.markdown(paths.explain(ask))
        else:
            _draw_first_sentence(manifest, startup=steady is None)
    time_bar.draw_bar(manifest.id, times)
    time_bar.draw_steps(manifest.id, times)
    findings = judged.read_known([manifest]).get(manifest.id)
    rows = "unknown" if findings is None else min(top_findings.MOST, sum(one.costs for one in findings))
    with st.container(key=f"summary-findings-{rows}"):  # reserves height for what loads later
        _draw_findings(manifest, ask, startup=steady is None)
    judged.draw_covered(manifest)
    mentioned = ""
    try:
        busy_strip.draw_busy(manifest.id, ask, part=steady is not None)
        kernels.draw_kernels(manifest, ask)
    except NotCapturedError as error:
        if memory.is_snapshot_only(manifest):
            tables.draw_memory(manifest.id)
        elif paths.has_sums_only(manifest):
            tables.draw_paths(manifest.id)
        else:
            ui.draw_not_captured(error)
            mentioned = "kernel"
            tables.draw_calls(manifest.id)
    tables.draw_copies(ask)
    tables.draw_ranges(ask)
    capture_notes.draw_diagnostics(manifest.id)
    capture_notes.draw_lacks(manifest.id, mentioned)
    with st.expander("Details of the capture"):
        capture_notes.draw_reading(manifest.id)
        capture_facts.draw_facts(manifest.id)
    summary_button.draw_buttons(manifest)


@st.fragment(parallel=True)
def _draw_first_sentence(manifest: Manifest, *, startup: bool) -> None:
    """Draw the first sentence; the rest of the page does not wait for it, nor moves when it arrives (style.css)."""
    with ui.boundary():
        top_findings.draw_first(
            judged.judge_report(manifest, startup=startup), manifest.duration_ns if startup else None
        )


@st.fragment(parallel=True)
def _draw_findings(manifest: Manifest, ask: Ask, *, startup: bool) -> None:
    """Draw the rows of findings with links to read on; or statements, where no finding costs time."""
    with ui.boundary():
        with st.spinner(judged.JUDGING):
            findings = judged.judge_report(manifest, startup=startup)
        if judge.select_worthwhile(findings):
            top_findings.draw_rows(manifest.id, findings)
            statements.draw_links(manifest.id, ask, all_findings=True)
        elif paths.has_sums_only(manifest):
            statements.draw_links(manifest.id, ask, all_findings=False)
        else:
            statements.draw_cards(manifest.id, ask, findings)


draw_page()
