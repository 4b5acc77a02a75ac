"""Link a Systems report to a PyTorch trace of the same program, the source of its operators, shapes and modules."""

import streamlit as st

from app import script_queue, session
from app.ui import format as fmt
from app.ui import link_row
from profiledb.errors import WarpdeckError
from profiledb.library.catalog import Manifest
from profiledb.library.report_list import Filters
from profiledb.studies.trace_link import links

CANDIDATES = 10
"""Maximum number of traces offered, newest first."""


def has_operators(report: Manifest) -> bool:
    """Return whether the report, or a trace linked to it, records operators."""
    return bool(report.rows.get("operator")) or session.library().linked_report(report.id, "trace") is not None


def offer(report: Manifest) -> bool:
    """Draw the traces that a report can be linked to; return whether a link was added or removed."""
    traces = session.list_page(Filters(has_operators=True), most=CANDIDATES)
    if not traces or report.rows.get("operator"):
        return False
    linked = session.read_links("trace").get(report.id)
    st.markdown("**Traces of the PyTorch profiler**")
    st.caption("A trace of the same program gives the kernels their operators, shapes and modules.")
    offered = {one.id: one for one in traces} | session.reports([linked] if linked else [])
    changed = [_draw_row(report, one, linked=one.id == linked) for one in offered.values()]
    return any(changed)


def _draw_row(report: Manifest, trace: Manifest, *, linked: bool) -> bool:
    when = fmt.when(trace.captured_at) if trace.captured_at else None
    kernels = fmt.counted(trace.rows["kernel"], "kernel")
    pressed = link_row.draw_row(
        trace, "  ·  ".join(part for part in (trace.gpu, when, kernels) if part), linked=linked
    )  # fmt: skip
    if pressed is None:
        return False
    library = session.open_for_changes()
    if pressed == "Unlink":
        library.unlink(report.id, "trace")
        return True
    try:
        with st.spinner("Comparing kernels…"), script_queue.page_scripts.step_aside():
            links.link_trace(library, report.id, trace.id)
    except WarpdeckError as error:
        st.error(fmt.plain(f"{error.message} {error.hint}"))
        return False
    return True
