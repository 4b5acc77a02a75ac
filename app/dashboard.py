"""The script behind every page, served by ``main.py``: it draws the frame and the page in error boundaries."""

import sys
import time
from functools import partial
from pathlib import Path

import streamlit as st

# Streamlit puts the folder of this file on the path; the packages are one folder up.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import page_list, script_queue, session
from app.frame import header, menu
from app.selection import bar
from app.selection import page_selection as selecting
from app.streamlit_private import StreamlitPage
from app.ui import bucket_wait, navigation, preview_notice, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.web import access
from profiledb.errors import (
    DamagedError,
    NewerLibraryError,
    OlderReportError,
    PreparingError,
    ReportNotFoundError,
    StorageError,
    WarpdeckError,
)
from profiledb.library.catalog import LAUNCHES, TIMELINE, Manifest
from profiledb.library.report_list import get_kind
from profiledb.monitoring import counters, logs

LOGO = Path(__file__).with_name("static") / "logo.svg"
ICON = LOGO.with_name("icon.png")
_STARTED_AT = time.perf_counter()  # of this run: Streamlit executes the script anew for each
# Ends of sentences. A comment, because Streamlit would draw a string below the constant.
_SUBJECT_TITLES = {TIMELINE: "a timeline", LAUNCHES: "measurements of kernel launches"}


def main() -> None:
    """Draw a page once. A part that fails says so and leaves the others alone."""
    with ui.boundary():
        st.set_page_config(page_title="Warpdeck", page_icon=ICON, layout="wide")
        st.logo(LOGO, size="large")
    admitted = False
    with ui.boundary():
        admitted = access.admit_visitor()
    if admitted and not _is_library_newer():
        _draw_frame_and_page()


def _is_library_newer() -> bool:
    """Return True, and say so, if a later version of Warpdeck changed the library: nothing else can be shown then."""
    with ui.boundary():
        try:
            session.count()
        except NewerLibraryError as error:
            ui.draw_problem(error)
            return True
        except WarpdeckError:  # each part of the page reports it
            return False
    return False


def _draw_frame_and_page() -> None:
    current = offered = None
    with ui.boundary():
        current = _find_current_report()
        offered = current or session.choose_usual()
    with ui.boundary():
        _draw_page(current, offered)
    with ui.boundary():
        access.draw_account()
    with ui.boundary(), st.sidebar:
        theme.follow()


def _draw_page(current: Manifest | None, offered: Manifest | None) -> None:
    """Draw the page of the browser's address, with the menu for the report ``offered``."""
    library = st.Page(page_list.LIBRARY, title="Library", icon=":material/folder_open:", default=True)
    admin = st.Page(
        page_list.ADMIN, title="Admin", icon=":material/shield_person:", url_path=page_list.ADMIN_URL,
        visibility="hidden",
    )  # fmt: skip
    scripts = {
        view: st.Page(view.path, title=view.title, icon=view.icon, url_path=view.url, visibility="hidden")
        for view in page_list.VIEWS
    }
    redirects = {
        st.Page(partial(_redirect_address, view), title=view.title, url_path=url, visibility="hidden"): view
        for view in page_list.VIEWS
        for url in view.former_urls
    }
    chosen = st.navigation([library, admin, *scripts.values(), *redirects], position="hidden")
    if chosen in redirects:
        chosen.run()
    navigation.note_arrival(chosen.url_path)
    ui.say_escaped()
    view = next((view for view, page in scripts.items() if page is chosen), None)
    if access.is_guest() and not (view and view.for_guests):
        _draw_guest_notice(library, scripts, offered)
    elif view is None or view.across:
        _draw_frame(library, scripts, offered, current, None)
        if view:
            st.set_page_config(page_title=f"{view.title} · Warpdeck")
        chosen.run()
    elif _prepare_report_page(view, library, scripts):
        chosen.run()
    _count_page(chosen.url_path or "library", offered)


def _count_page(page: str, report: Manifest | None) -> None:
    """Count and log a page that was drawn to its end."""
    seconds = time.perf_counter() - _STARTED_AT
    counters.PAGES.add(page, seconds)
    logs.log_event("page", page=page, report=report.id if report else None, seconds=round(seconds, 3))


def _draw_guest_notice(library: StreamlitPage, scripts: menu.Scripts, shared: Manifest | None) -> None:
    """Draw a page that a sharing link does not open: a notice, and a link to the shared report."""
    _draw_frame(library, scripts, shared, None, None)
    st.info("The link that you have shows one report. Log in to see more.")
    if shared:
        query = {session.PARAMETER: shared.id}
        path = page_list.get_first_view(shared).path
        st.page_link(path, label=f"Open {fmt.plain(shared.shown_name)}", query_params=query)


def _redirect_address(view: page_list.View) -> None:
    """Redirect from a former address of a page to the present one."""
    navigation.to(view.path, {name: st.query_params.get_all(name) for name in st.query_params})


def _draw_frame(
    library: StreamlitPage,
    scripts: menu.Scripts,
    offered: Manifest | None,
    current: Manifest | None,
    view: page_list.View | None,
) -> None:
    """Draw the menu for the report ``offered``, and the bar above the page for the report ``current``."""
    with ui.boundary():
        menu.draw_menu(library, scripts, offered, view)
    with ui.boundary():
        if view is not None:
            header.draw_header(view, current)


def _draw_library_link() -> None:
    if not access.is_guest():
        st.page_link(page_list.LIBRARY, label="Open the Library")


def _draw_missing_report(error: ReportNotFoundError) -> None:
    """Say that no report has the name in the URL; of a file that is being imported or failed, say that instead."""
    name = st.query_params.get(session.PARAMETER)
    if job := None if access.is_guest() else session.find_unfinished_job(name):
        if job.state == "failed":
            message = f"{job.name} failed to import: {job.message}"
            ui.draw_problem(WarpdeckError(message, hint=job.hint, detail=job.detail))
        else:
            st.info(f"{fmt.plain(job.name)} is being imported.", icon=":material/hourglass_top:")
    else:
        ui.draw_problem(ReportNotFoundError(error.message))


def _prepare_report_page(view: page_list.View, library: StreamlitPage, scripts: menu.Scripts) -> bool:
    """Choose the report of a page and draw everything above the page; return False, with a notice, if none fits."""
    try:
        manifest = session.report(view.subject)
    except ReportNotFoundError as error:
        _draw_frame(library, scripts, session.choose_usual(), None, view)
        _draw_missing_report(error)
        _draw_library_link()
        return False
    selecting.restore(manifest)
    session.remember(manifest)
    has_selection = TIMELINE in manifest.subjects and view.subject != LAUNCHES
    try:
        manifest.require_current()
        bucket_wait.bring(manifest)
        settled = _settle_selection(manifest) if has_selection else None
    except (DamagedError, OlderReportError, StorageError) as error:
        _draw_frame(library, scripts, None, None, view)
        ui.draw_problem(error)
        _draw_library_link()
        return False
    _draw_frame(library, scripts, manifest, manifest, view)
    preview_notice.draw_notice(manifest)
    if view.fits(manifest):
        st.set_page_config(page_title=f"{view.title} · {fmt.visible(manifest.shown_name)}")
        if settled and view.selects:
            bar.draw_bar(settled)
        return True
    assert view.subject is not None, "a page for every subject fits every report"
    st.info(
        f"{fmt.plain(manifest.shown_name)} is a report of {ui.get_kind_title(get_kind(manifest))}. This page shows"
        f" {_SUBJECT_TITLES[view.subject]}, which it does not have."
    )
    fitting = page_list.get_first_view(manifest)
    st.page_link(fitting.path, label=f"Open {fitting.title}", query_params={session.PARAMETER: manifest.id})
    return False


def _settle_selection(manifest: Manifest) -> selecting.Settled | None:
    """Settle the selection of a report; None while the ranges that it names are not there yet."""
    try:
        return selecting.settle(manifest)
    except PreparingError:
        return None


def _find_current_report() -> Manifest | None:
    """Return the report of the address, whatever its kind; None if there is none, which the page itself reports."""
    try:
        return session.report()
    except ReportNotFoundError:
        return None


with script_queue.page_scripts.wait_turn():
    main()
