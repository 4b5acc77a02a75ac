"""The report switcher: pinned reports first, then those that the session looked at, then others, newest first.

It offers the newest reports of a large library; what people type finds any other one, if need be in the Library.
"""

from collections.abc import Iterable, Mapping

import streamlit as st

from app import page_list, session
from app.selection import page_selection
from app.ui import navigation, page_elements
from app.ui.pin_button import PINNED
from app.ui.report_titles import make_titles
from profiledb.library.catalog import Manifest
from profiledb.library.report_list import Filters

_PICKER = "report-picker"
_WAS_CHOSEN = "report-chosen"
_WAS_TYPED = "report-typed"
_RECENT = "recent-reports"
_MAX_RECENT = 8
_MAX_PINNED = 100
_PREFIXES = {"pinned": "★ ", "recent": "↺ "}


def draw_switcher(current: Manifest | None, view: page_list.View | None) -> None:
    """Draw the switcher. A chosen report stays on this page if it fits; otherwise it opens on its own first page.

    The key of the widget contains the report: a browser that still shows the picker of another report sends that
    report's id along with any other event, although nobody has chosen it.
    """
    shown = current.id if current else None
    recent = [report_id for report_id in _remember_report(shown) if report_id != shown]
    pinned = {one.id: one for one in session.list_page(Filters(labels=(PINNED,)), most=_MAX_PINNED)}
    newest = {one.id: one for one in session.list_page(most=session.OFFERED)}
    listed = pinned | newest
    known = listed | session.reports(one for one in (*recent, shown) if one and one not in listed)
    order = order_reports(known, pinned, recent)
    options = _label_reports(make_titles(known), session.read_labels(known), pinned, recent)
    key = f"{_PICKER}-{shown}"
    st.selectbox(
        "Report",
        order,
        index=order.index(shown) if shown else None,
        key=key,
        format_func=options.__getitem__,
        on_change=_choose_report,
        args=(key, known, shown),
        placeholder="Choose a report: type a part of its name, GPU, date or label",
        label_visibility="collapsed",
        width=380,
        accept_new_options=len(newest) == session.OFFERED,
    )
    if text := st.session_state.pop(_WAS_TYPED, ""):
        navigation.to(page_list.LIBRARY, {"q": text})
    if current and st.session_state.pop(_WAS_CHOSEN, False) and (view is None or not view.fits(current)):
        page_elements.open_report(current)


def order_reports(known: Iterable[str], pinned: Iterable[str], recent: Iterable[str]) -> list[str]:
    """Return every known id once: pinned reports, then recent ones, then the others in their order."""
    ids = list(known)
    return list(dict.fromkeys([*pinned, *(report_id for report_id in recent if report_id in ids), *ids]))


def _label_reports(
    report_titles: Mapping[str, str], labels: Mapping[str, list[str]], pinned: Iterable[str], recent: Iterable[str]
) -> dict[str, str]:
    """Return the options of the list by id: title and labels, which typing finds, after a sign if pinned or recent."""
    prefixes = dict.fromkeys(recent, _PREFIXES["recent"]) | dict.fromkeys(pinned, _PREFIXES["pinned"])
    return {
        report_id: prefixes.get(report_id, "")
        + "  ·  ".join([title, *(label for label in labels.get(report_id, []) if label != PINNED)])
        for report_id, title in report_titles.items()
    }


def _remember_report(shown: str | None) -> list[str]:
    """Note the report that this session looks at, and return the recent ones, newest first."""
    recent: list[str] = st.session_state.setdefault(_RECENT, [])
    if shown:
        others = [report_id for report_id in recent if report_id != shown]
        recent = st.session_state[_RECENT] = [shown, *others][:_MAX_RECENT]
    return recent


def _choose_report(key: str, known: Mapping[str, Manifest], shown: str | None) -> None:
    text = st.session_state[key] or ""
    chosen = known.get(text) or _find_typed(text)
    if chosen and chosen.id != shown:
        session.remember(chosen)
        page_selection.note_report_change()
        st.session_state[_WAS_CHOSEN] = True


def _find_typed(text: str) -> Manifest | None:
    """Return the only report that a typed text finds; if there are none or several, the Library shows them."""
    reports = session.list_page(Filters(text=text), most=2) if text else []
    if text and len(reports) != 1:
        st.session_state[_WAS_TYPED] = text
    return reports[0] if len(reports) == 1 else None
