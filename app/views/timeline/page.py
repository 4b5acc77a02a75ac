"""The Timeline page: everything that ran, drawn in the browser at any zoom level."""

from typing import Any

import streamlit as st

from app import session
from app.selection import page_selection
from app.timeline import component
from app.views.timeline import added_reports
from app.web import access
from profiledb.errors import CatalogError
from profiledb.library import marks
from profiledb.selection import model

_MOST_NS = 2**62


def draw_page() -> None:
    manifest = session.report()
    chosen = model.parse(session.read_selected(manifest.id))
    known = added_reports.list_known(manifest)
    added = added_reports.find_added(manifest, known)
    component.draw_timeline(
        component.TimelineData(
            manifest.id, manifest.name, (chosen.from_ns, chosen.to_ns), _read_marks(manifest.id), access.may_edit(),
            bool(known), [(one, known[one].shown_name) for one in added],
        ),
        _select_times, _save_marks, added_reports.ask,
    )  # fmt: skip
    added_reports.draw_dialog(manifest, known, added)


def _read_marks(report_id: str) -> list[marks.Mark]:
    """Return the saved marks; none if the catalog cannot be read, which other parts of the page report."""
    try:
        return session.library().catalog.marks.get(report_id)
    except CatalogError:
        return []


def _save_marks() -> None:
    """Save the marks sent by the browser, if the visitor may edit."""
    message = st.session_state.get(component.NAME, {}).get("mark")
    message = message if isinstance(message, dict) else {}
    new_marks = marks.parse_marks(message.get("marks"))
    report_id = str(message.get("report"))
    if new_marks and session.reports([report_id]):
        session.open_for_changes().catalog.marks.change(report_id, new_marks)


def _select_times() -> None:
    """Select the time window sent by the browser on all pages; anything else clears the time selection."""
    times = parse_stretch(st.session_state.get(component.NAME, {}).get("select"))
    if times:
        first, last = times
        st.query_params.update({"from": page_selection.milliseconds(first), "to": page_selection.milliseconds(last)})
    else:
        for key in {"from", "to"} & set(st.query_params):
            del st.query_params[key]


def parse_stretch(area: Any) -> tuple[int, int] | None:
    """Parse start and end in ns from the browser's message; None if it is not a valid time window."""
    if not isinstance(area, dict):
        return None
    ends = [end for end in (area.get("from"), area.get("to")) if isinstance(end, int | float) and 0 <= end < _MOST_NS]
    first, last = (round(ends[0]), round(ends[1])) if len(ends) == 2 else (0, 0)
    return (first, last) if first < last else None


draw_page()
