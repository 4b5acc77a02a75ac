"""The Library page: all reports, files being imported, and failed imports."""

from collections.abc import Sequence

import streamlit as st

from app import session, worker_process
from app.ui import judged_findings, report_links
from app.ui import page_elements as ui
from app.views.library import actions, jobs, sidecars, table, tour, upload
from app.views.library import filters as library_filters
from profiledb.library.catalog import Manifest

TOOLS = (
    ("Nsight Systems", "nsys profile --trace=cuda,nvtx,osrt -o report python train.py"),
    ("Nsight Compute", "ncu --set full -o report python train.py"),
    (
        "PyTorch profiler, within the program",
        'with torch.profiler.profile() as prof:\n    train_step()\nprof.export_chrome_trace("train.pt.trace.json")',
    ),
)


def page() -> None:
    reports = session.reports()
    jobs.note_listed()
    status = worker_process.check_worker()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="library-top"):
        st.header("Library", anchor=False, width="content")
        jobs.draw_progress()
        upload.uploader(jobs.where(status, session.settings().inbox_text))
    with ui.boundary():
        jobs.workers()
    jobs.live()
    jobs.set_aside()
    newcomer = tour.only_samples(reports)
    if reports and newcomer:
        tour.draw_cards(reports)
    if reports:
        with st.container(gap="xsmall", key="library-list"):
            _draw_list(_order_reports(reports), judging=status.state in ("here", "elsewhere", "starting"))
        if not newcomer:
            tour.draw_button("Tour of the samples", reports)
    else:
        _draw_empty()
    actions.dialogs()
    report_links.dialog()
    sidecars.dialog()
    tour.dialog()


def _order_reports(reports: Sequence[Manifest]) -> list[Manifest]:
    """Return reports newest first, then the samples in the order of their import, so that none pushes others down."""
    return [*(r for r in reports if not r.sample), *(r for r in reversed(reports) if r.sample)]


def _draw_list(reports: Sequence[Manifest], *, judging: bool) -> None:
    labels = session.labels()
    partners = report_links.partners(reports, session.links(), session.links("trace"))
    known = judged_findings.known(reports)
    filters = library_filters.choose(reports, labels, known)
    matches = library_filters.matching(reports, labels, filters, known)
    total = f"{len(reports):,} report" + ("" if len(reports) == 1 else "s")
    above = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="library-bar")
    above.caption(total if len(matches) == len(reports) else f"{len(matches):,} of {total}", width="content")
    if matches:
        growing = len(matches) == len(reports) and jobs.are_samples_coming()
        selected = table.show(matches, labels, partners, known, growing=growing, judging=judging)
        with above:
            actions.bar(selected, labels, partners)
    else:
        st.info("No reports match these filters.")


def _draw_empty() -> None:
    if jobs.first_are_coming():
        st.subheader("The first reports are being imported", anchor=False)
        st.markdown("Each appears here once it is imported. To add your own, drop it on this page, or put it into")
        st.code(session.settings().inbox_text, language=None)
        return
    st.subheader("No reports yet", anchor=False)
    st.markdown("Drop a report on this page, or put it into the inbox that Warpdeck watches:")
    st.code(session.settings().inbox_text, language=None)
    st.markdown("To capture one:")
    for title, command in TOOLS:
        st.caption(title)
        st.code(command, language=None)


page()
