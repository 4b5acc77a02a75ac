"""The report switcher: pinned reports first, then those of this session, then all others, the newest first."""

from collections.abc import Iterable, Mapping

import streamlit as st

from app import page_list, session
from app.selection import page_selection
from app.ui import page_elements
from app.ui.report_titles import titles
from profiledb.library.catalog import Manifest

PINNED = "pinned"
"""The label that puts a report on top of the list, for everybody."""

_PICKER = "report-picker"
_WAS_CHOSEN = "report-chosen"
_RECENT = "recent-reports"
_PREFIXES = {"pinned": "★ ", "recent": "↺ "}


def draw_switcher(known: Mapping[str, Manifest], current: Manifest | None, view: page_list.View | None) -> None:
    """Draws it; a chosen report stays on the page where it fits, and otherwise opens on its own first page.

    Each report has a picker of its own: a browser that still shows the one of another report sends what that one
    says with whatever else happens there. That is the report it stands for, which nobody has chosen.
    """
    shown = current.id if current and current.id in known else None
    recent = [one for one in _remember_report(shown) if one != shown]
    labels = session.labels()
    pinned = [one for one in known if PINNED in labels.get(one, [])]
    order = order_reports(known, pinned, recent)
    names = _label_reports(titles(known), labels, pinned, recent)
    key = f"{_PICKER}-{shown}"
    st.selectbox(
        "Report",
        order,
        index=order.index(shown) if shown else None,
        key=key,
        format_func=names.__getitem__,
        on_change=_choose_report,
        args=(key, known, shown),
        placeholder="Choose a report: type a part of its name, GPU, date or label",
        label_visibility="collapsed",
        width=480,
    )
    if current and st.session_state.pop(_WAS_CHOSEN, False) and (view is None or not view.fits(current)):
        page_elements.open_report(current)


def draw_pin_button(current: Manifest) -> None:
    """The button that puts a report on top of the list for everybody, or takes it from there."""
    pinned = PINNED in session.labels().get(current.id, [])
    st.button(
        "Unpin" if pinned else "Pin", icon=":material/keep_off:" if pinned else ":material/keep:", key="top-pin",
        help="Takes the report from the top of the list." if pinned
        else "Puts the report on top of the list, for everyone. The Library shows it as the label pinned.",
        on_click=_pin, args=(current.id, not pinned),
    )  # fmt: skip


def _pin(report_id: str, wanted: bool) -> None:
    catalog = session.editing().catalog
    labels = set(catalog.labels().get(report_id, ()))
    catalog.set_labels(report_id, sorted(labels | {PINNED} if wanted else labels - {PINNED}))


def order_reports(known: Iterable[str], pinned: Iterable[str], recent: Iterable[str]) -> list[str]:
    """All ids of reports once: those pinned, those seen last, the rest in their order."""
    every = list(known)
    return list(dict.fromkeys([*pinned, *(one for one in recent if one in every), *every]))


def _label_reports(
    plain: Mapping[str, str], labels: Mapping[str, list[str]], pinned: Iterable[str], recent: Iterable[str]
) -> dict[str, str]:
    """What the list calls each report: its title and labels, so that typing finds these, and why it stands above."""
    marks = dict.fromkeys(recent, _PREFIXES["recent"]) | dict.fromkeys(pinned, _PREFIXES["pinned"])
    return {
        one: marks.get(one, "") + "  ·  ".join([title, *(tag for tag in labels.get(one, []) if tag != PINNED)])
        for one, title in plain.items()
    }


def _remember_report(shown: str | None) -> list[str]:
    """The reports that this session looked at, the last first."""
    recent: list[str] = st.session_state.setdefault(_RECENT, [])
    if shown:
        recent = st.session_state[_RECENT] = [shown, *(one for one in recent if one != shown)][:8]
    return recent


def _choose_report(key: str, known: Mapping[str, Manifest], shown: str | None) -> None:
    if (chosen := known.get(st.session_state[key])) and chosen.id != shown:
        session.remember(chosen)
        page_selection.other_report()
        st.session_state[_WAS_CHOSEN] = True
