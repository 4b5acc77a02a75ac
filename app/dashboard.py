"""The script behind every page: list of pages, report picker, one error boundary. ``main.py`` serves it."""

import sys
from pathlib import Path

import streamlit as st

# Streamlit puts this file's folder on the path; the packages stand beside it.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import pages, session
from app.selection import bar
from app.selection import settled as selecting
from app.ui import format as fmt
from app.ui import navigate
from app.ui import page as ui
from app.ui.titles import titles
from app.web import access
from profiledb.errors import ReportNotFoundError
from profiledb.report.catalog import LAUNCHES, TIMELINE, Manifest

LOGO = Path(__file__).with_name("static") / "logo.svg"
ICON = LOGO.with_name("icon.png")
_PICKER = "report-picker"
_CHOSEN = "report-chosen"
# What pages are about, as the end of a sentence; no text below, Streamlit would draw it.
_SHOWS = {TIMELINE: "what ran when", LAUNCHES: "what was measured of single launches"}


def main() -> None:
    """Draws one look at one page; a part that fails says so and leaves the others."""
    with ui.boundary():
        st.set_page_config(page_title="Warpdeck", page_icon=ICON, layout="wide")
        st.html(ui.STYLE)
        st.logo(LOGO, size="large")
    open_to_visitor = False
    with ui.boundary():
        open_to_visitor = access.gate()
    if open_to_visitor:
        _pages()


def _pages() -> None:
    current = offered = None
    with ui.boundary():
        current = _current()
        offered = current or session.usual()
    with ui.boundary():
        _page(current, offered)
    with ui.boundary():
        access.who()


def _page(current: Manifest | None, offered: Manifest | None) -> None:
    """Chooses the page by the address and draws it; the menu has those that fit the report on offer."""
    library = st.Page(pages.LIBRARY, title="Library", icon=":material/folder_open:", default=True)
    scripts = {
        view: st.Page(
            view.path,
            title=view.title,
            icon=view.icon,
            url_path=view.url,
            visibility="visible" if offered and view.offers(offered, session.has_sidecar) else "hidden",
        )
        for view in pages.VIEWS
    }
    chosen = st.navigation({"": [library], "Report": list(scripts.values())}, position="sidebar", expanded=True)
    navigate.arrived(chosen.url_path)
    ui.say_escaped()
    view = next((view for view, page in scripts.items() if page is chosen), None)
    if view is None:
        _pick(current, None)
        chosen.run()
    elif _offer(view, current):
        chosen.run()


def _offer(view: pages.View, current: Manifest | None) -> bool:
    """Settles which report a page shows; False where it fits none, which is then said."""
    try:
        manifest = session.report(view.subject)
    except ReportNotFoundError as error:
        st.header(view.title, anchor=False)
        ui.problem(ReportNotFoundError(error.message))
        st.page_link(pages.LIBRARY, label="See what is in the Library")
        _pick(None, view)
        return False
    selecting.restore(manifest)
    session.remember(manifest)
    if current is None or manifest.id != current.id:
        st.rerun()  # the menu above was drawn for another report
    _pick(manifest, view)
    if view.fits(manifest):
        st.set_page_config(page_title=f"{view.title} · {fmt.visible(manifest.name)}")
        if view.subject == TIMELINE:
            settled = selecting.settle(manifest)
            if view.selects:
                bar.show(settled)
        return True
    st.header(view.title, anchor=False)
    st.info(
        f"{fmt.plain(manifest.name)} is a report of {ui.kind_title(manifest.kind)} and does not hold"
        f" {_SHOWS[view.subject]}, which this page shows."
    )
    fitting = pages.first(manifest)
    st.page_link(fitting.path, label=f"Open its {fitting.title}", query_params={session.PARAMETER: manifest.id})
    return False


def _pick(current: Manifest | None, view: pages.View | None) -> None:
    """The report picker; a chosen report stays on the page where it fits, and otherwise opens on its own first page.

    Each report has a picker of its own: a browser that still shows the one of another report sends what that one
    says with whatever else happens there, and nobody has chosen that.
    """
    with ui.boundary():
        known = {manifest.id: manifest for manifest in session.reports()}
        if not known:
            return
        labels = titles(known)
        shown = current.id if current and current.id in known else None
        key = f"{_PICKER}-{shown}"
        st.sidebar.selectbox(
            "Report",
            list(known),
            index=list(known).index(shown) if shown else None,
            key=key,
            format_func=labels.__getitem__,
            on_change=_choose,
            args=(key, known),
            placeholder="Choose a report",
            label_visibility="collapsed",
        )
    if current and st.session_state.pop(_CHOSEN, False) and (view is None or not view.fits(current)):
        ui.open_report(current)


def _choose(key: str, known: dict[str, Manifest]) -> None:
    if chosen := known.get(st.session_state[key]):
        session.remember(chosen)
        selecting.other_report()
        st.session_state[_CHOSEN] = True


def _current() -> Manifest | None:
    """The report at hand, whatever its kind; None where there is none, which the page itself then says."""
    try:
        return session.report()
    except ReportNotFoundError:
        return None


main()
