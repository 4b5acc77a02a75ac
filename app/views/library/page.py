"""The Library page: all reports, files being imported, and failed imports."""

import streamlit as st

from app import session, worker_process
from app.ui import format as fmt
from app.ui import judged_findings, report_links
from app.ui import page_elements as ui
from app.views.library import actions, jobs, paging, runs, sidecars, table, tour, upload
from app.views.library import filters as library_filters

TOOLS = (
    ("From a program to its findings", "warpdeck profile -- python train.py"),
    ("Nsight Systems", "nsys profile --trace=cuda,nvtx,osrt -o report python train.py"),
    ("Nsight Compute", "ncu --set full -o report python train.py"),
    (
        "PyTorch profiler, within the program",
        'with torch.profiler.profile() as prof:\n    train_step()\nprof.export_chrome_trace("train.pt.trace.json")',
    ),
)


def draw_page() -> None:
    total = session.count()
    samples = session.list_page(paging.SAMPLES, most=paging.MOST_SAMPLES)
    jobs.note_listed()
    status = worker_process.check_worker()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="library-top"):
        st.header("Library", anchor=False, width="content")
        jobs.draw_progress()
        upload.draw_uploader(jobs.describe_inbox(status, session.get_settings().inbox_text))
    with ui.boundary():
        jobs.draw_workers()
    jobs.draw_live()
    jobs.set_aside()
    newcomer = total == len(samples)
    if total and newcomer:
        tour.draw_cards(samples)
    if total:
        judging = status.state in ("here", "elsewhere", "starting")
        with st.container(gap="xsmall", key="library-list"):
            _draw_list(total, judging=judging)
            runs.draw_runs(judging=judging)
        _announce_removals()
        if not newcomer:
            tour.draw_button("Tour of the samples", samples)
    else:
        _draw_empty()
    actions.draw_dialogs()
    report_links.draw_dialog()
    sidecars.draw_dialog()
    tour.draw_dialog()


def _draw_list(total: int, *, judging: bool) -> None:
    filters = library_filters.choose()
    count = session.count(filters)
    every = f"{total:,} report" + ("" if total == 1 else "s")
    above = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="library-bar")
    above.caption(every if count == total else f"{count:,} of {every}", width="content")
    if not count:
        st.info("No reports match these filters.")
        return
    place = st.container()
    order, first = paging.draw_pager(count)
    shown = paging.read_page(filters, order, first)
    labels = session.read_labels(one.id for one in shown)
    partners = report_links.read_partners(shown, session.read_links(), session.read_links("trace"))
    growing = count == total and jobs.are_samples_coming()
    with place:
        known = judged_findings.read_known(shown)
        selected = table.draw_reports(shown, labels, partners, known, growing=growing, judging=judging)
    with above:
        actions.draw_actions(selected, labels, partners)


def _announce_removals() -> None:
    count, size = session.count_removals()
    if count:
        st.caption(
            f"Retention is about to remove {fmt.counted(count, 'report')} ({fmt.bytes_(size)}). A label keeps a report."
        )


def _draw_empty() -> None:
    if jobs.is_first_import():
        st.subheader("The first reports are being imported", anchor=False)
        st.markdown("Each appears here once it is imported. To add your own, drop it on this page, or put it into")
        st.code(session.get_settings().inbox_text, language=None)
        return
    st.subheader("No reports yet", anchor=False)
    st.markdown("Drop a report on this page, or put it into the inbox that Warpdeck watches:")
    st.code(session.get_settings().inbox_text, language=None)
    st.markdown("To capture one:")
    for title, command in TOOLS:
        st.caption(title)
        st.code(command, language=None)


draw_page()
