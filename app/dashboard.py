"""The script behind every page: list of pages, report picker, one error boundary. ``main.py`` serves it."""

import sys
import time
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

# Streamlit puts this file's folder on the path; the packages stand beside it.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import page_list, script_queue, session
from app.frame import header, menu
from app.selection import bar
from app.selection import page_selection as selecting
from app.ui import bucket_wait, navigation, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.web import access
from profiledb.errors import (
    DamagedError,
    NewerLibraryError,
    OlderReportError,
    ReportNotFoundError,
    StorageError,
    WarpdeckError,
)
from profiledb.library.catalog import LAUNCHES, TIMELINE, Manifest
from profiledb.monitoring import counters, logs

LOGO = Path(__file__).with_name("static") / "logo.svg"
ICON = LOGO.with_name("icon.png")
_STARTED_AT = time.perf_counter()  # of this look: the script runs anew at each
# What pages are about, as the end of a sentence; no text below, Streamlit would draw it.
_SUBJECT_TITLES = {TIMELINE: "a timeline", LAUNCHES: "measurements of kernel launches"}


def main() -> None:
    """Draws one look at one page; a part that fails says so and leaves the others."""
    with ui.boundary():
        st.set_page_config(page_title="Warpdeck", page_icon=ICON, layout="wide")
        st.html(ui.STYLE)
        st.logo(LOGO, size="large")
    open_to_visitor = False
    with ui.boundary():
        open_to_visitor = access.admit_visitor()
    if open_to_visitor and not _is_library_newer():
        _draw_frame_and_page()


def _is_library_newer() -> bool:
    """Whether a later version of Warpdeck has changed the library, which is said: then nothing else can be shown."""
    with ui.boundary():
        try:
            session.reports()
        except NewerLibraryError as error:
            ui.problem(error)
            return True
        except WarpdeckError:  # the parts of the page say it, each its own
            return False
    return False


def _draw_frame_and_page() -> None:
    current = offered = None
    with ui.boundary():
        current = _find_current_report()
        offered = current or session.usual()
    with ui.boundary():
        _draw_page(current, offered)
    with ui.boundary():
        access.draw_account()
    with ui.boundary(), st.sidebar:
        theme.follow()


def _draw_page(current: Manifest | None, offered: Manifest | None) -> None:
    """Chooses the page by the address and draws it; the menu has those that fit the report on offer."""
    library = st.Page(page_list.LIBRARY, title="Library", icon=":material/folder_open:", default=True)
    admin = st.Page(
        page_list.ADMIN, title="Admin", icon=":material/shield_person:", url_path=page_list.ADMIN_URL,
        visibility="hidden",
    )  # fmt: skip
    scripts = {
        view: st.Page(view.path, title=view.title, icon=view.icon, url_path=view.url, visibility="hidden")
        for view in page_list.VIEWS
    }
    former = {
        st.Page(partial(_redirect, view), title=view.title, url_path=url, visibility="hidden"): view
        for view in page_list.VIEWS
        for url in view.was
    }
    chosen = st.navigation([library, admin, *scripts.values(), *former], position="hidden")
    if chosen in former:
        chosen.run()
    navigation.arrived(chosen.url_path)
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
    _count_view(chosen.url_path or "library", offered)


def _count_view(page: str, report: Manifest | None) -> None:
    """Counts a look at a page that was drawn to its end."""
    seconds = time.perf_counter() - _STARTED_AT
    counters.PAGES.add(page, seconds)
    logs.event("page", page=page, report=report.id if report else None, seconds=round(seconds, 3))


def _draw_guest_notice(library: StreamlitPage, scripts: menu.Scripts, shared: Manifest | None) -> None:
    """What a page says that a sharing link does not open."""
    _draw_frame(library, scripts, shared, None, None)
    st.info("The link that you have shows one report. Log in to see more.")
    if shared:
        link = {session.PARAMETER: shared.id}
        st.page_link(page_list.get_first_view(shared).path, label=f"Open {fmt.plain(shared.name)}", query_params=link)


def _redirect(view: page_list.View) -> None:
    """Leads from an address that a page had before to the one that it has."""
    navigation.to(view.path, {name: st.query_params.get_all(name) for name in st.query_params})


def _draw_frame(
    library: StreamlitPage,
    scripts: menu.Scripts,
    offered: Manifest | None,
    current: Manifest | None,
    view: page_list.View | None,
) -> None:
    """The menu for the report on offer, and the bar above the page with the one at hand."""
    with ui.boundary():
        menu.draw_menu(library, scripts, offered)
    with ui.boundary():
        header.draw_header(current, view)


def _draw_library_link() -> None:
    if not access.is_guest():
        st.page_link(page_list.LIBRARY, label="See what is in the Library")


def _prepare_report_page(view: page_list.View, library: StreamlitPage, scripts: menu.Scripts) -> bool:
    """Settles which report a page shows; False where it fits none, which is then said."""
    try:
        manifest = session.report(view.subject)
    except ReportNotFoundError as error:
        _draw_frame(library, scripts, None, None, view)
        st.header(view.title, anchor=False)
        ui.problem(ReportNotFoundError(error.message))
        _draw_library_link()
        return False
    selecting.restore(manifest)
    session.remember(manifest)
    about = TIMELINE in manifest.subjects and view.subject != LAUNCHES
    try:
        manifest.require_current()
        bucket_wait.bring(manifest)
        settled = selecting.settle(manifest) if about else None
    except (DamagedError, OlderReportError, StorageError) as error:
        _draw_frame(library, scripts, None, None, view)
        ui.header(manifest, view.title)
        ui.problem(error)
        _draw_library_link()
        return False
    _draw_frame(library, scripts, manifest, manifest, view)
    ui.header(manifest, view.title)
    if view.fits(manifest):
        st.set_page_config(page_title=f"{view.title} · {fmt.visible(manifest.name)}")
        if settled and view.selects:
            bar.show(settled)
        return True
    assert view.subject is not None  # what shows every kind fits
    st.info(
        f"{fmt.plain(manifest.name)} is a report of {ui.kind_title(ui.kind_of(manifest))}. This page shows"
        f" {_SUBJECT_TITLES[view.subject]}, which it does not have."
    )
    fitting = page_list.get_first_view(manifest)
    st.page_link(fitting.path, label=f"Open {fitting.title}", query_params={session.PARAMETER: manifest.id})
    return False


def _find_current_report() -> Manifest | None:
    """The report at hand, whatever its kind; None where there is none, which the page itself then says."""
    try:
        return session.report()
    except ReportNotFoundError:
        return None


with script_queue.page_scripts.wait_turn():
    main()
