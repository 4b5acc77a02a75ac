"""The changes of a series: what accounts for each, and the users' notes and decisions."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables, theme, url_widgets
from app.ui.table_columns import Col
from app.views.trends import compared_sides, sentences
from app.views.trends.url_state import MEASURE
from app.web import access
from profiledb.library.series_decisions import LONGEST, Note, State
from profiledb.studies.compare.verdict import format_difference
from profiledb.studies.trends.explanation import Explanation, Part
from profiledb.studies.trends.measures import PARTS
from profiledb.studies.trends.series import Point
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_changes import Shift, Trend, describe_program_differences
from profiledb.studies.trends.series_lines import LISTED

CHANGE = "change"
"""Query parameter that names a change by the first report after it."""
BADGES = {"regression": "red", "improvement": "green", "surroundings": "gray"}
_COLUMNS = (
    Col("title", "Part", width=330),
    Col("change", "Change", kind="duration", signed=True, width=96),
    Col("share", "Share", unit="%", kind="percent", signed=True, width=90),
    Col("before", "Before", kind="duration", width=92),
    Col("after", "After", kind="duration", width=92),
)


def draw_changes(board: Board, trend: Trend) -> None:
    """Draw the changes, newest first, with their notes, and the breakdown of one of them."""
    st.subheader("Changes", anchor=False)
    if not trend.shifts:
        few = " A change needs some reports on both sides." if len(trend.points) < 16 else ""
        st.caption(f"No change found: nothing with p below 0.001 that is larger than 2 % and 3 MAD.{few}")
        _link_to_measures(board, trend)
        return
    _link_to_measures(board, trend)
    known = {shift.point.id: shift for shift in reversed(trend.shifts)}
    for shift in known.values():
        _draw_shift(trend, shift)
    chosen = next(iter(known))
    if len(known) > 1:
        chosen = st.selectbox(
            "What accounts for the change at", list(known), width=320,
            format_func=lambda one: fmt.visible(sentences.format_point(known[one].point)),
            **url_widgets.bind_option(CHANGE, list(known), chosen),
        )  # fmt: skip
    _explain_change(board, *compared_sides.find_sides(trend, known[chosen]))


def _link_to_measures(board: Board, trend: Trend) -> None:
    """Link to the charts of the series' other measures that changed."""
    others = [board.one(trend.series, name) for name in LISTED if name != trend.measure.name]
    changed = [one for one in others if one is not None and one.shifts]
    if not changed:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Other measures that changed:", width="content")
        for one in changed:
            last = one.shifts[-1]
            moved = sentences.format_share(last.change.share)
            label = f"{one.measure.title} {moved} at {fmt.plain(sentences.format_point(last.point))}"
            st.button(
                label, key=f"trends-other-{one.measure.name}", type="tertiary", on_click=_turn_to_measure, args=(one,)
            )


def _turn_to_measure(trend: Trend) -> None:
    st.query_params[MEASURE] = trend.measure.name


def _draw_shift(trend: Trend, shift: Shift) -> None:
    first, second = compared_sides.find_sides(trend, shift)
    with st.container(border=True):
        badge = f":{BADGES[shift.kind]}-badge[{sentences.KINDS[shift.kind]}]"
        state = "" if shift.open or shift.note is None else f" :gray-badge[{shift.note.state.capitalize()}]"
        st.markdown(f"{badge}{state} {sentences.describe_change(shift, trend.measure)}")
        if beside := sentences.list_other_changes(shift):
            st.markdown(beside)
        if shift.note and shift.note.note:
            st.caption(f"Note: {fmt.plain(shift.note.note)} ({fmt.when(shift.note.changed_at)})")
        with st.container(horizontal=True, vertical_alignment="center"):
            compared_sides.link(first, second)
            if access.may_edit():
                _draw_decision(trend, shift)


def _draw_decision(trend: Trend, shift: Shift) -> None:
    """Draw the note and the decision buttons. The gate treats both sides of a dismissed change as one level."""
    key = f"trends-note-{trend.measure.name}-{shift.point.id}"
    st.session_state.setdefault(key, shift.note.note if shift.note else "")
    st.text_input("Note", key=key, max_chars=LONGEST, placeholder="Note", label_visibility="collapsed", width=280)
    states: dict[str, State] = {"Accept": "accepted", "Dismiss": "dismissed", "Reopen": "open"}
    now: State = shift.note.state if shift.note else "open"
    for title, state in states.items():
        if state != now:
            st.button(
                title, key=f"{key}-{state}", on_click=_write_note, args=(key, shift.point.id, trend.measure.name, state)
            )


def _write_note(key: str, report_id: str, measure: str, state: State) -> None:
    text = str(st.session_state.get(key, ""))
    session.open_for_changes().catalog.decisions.write_note(report_id, measure, Note(state, text))


def _explain_change(board: Board, before: Point, after: Point) -> None:
    """Draw what accounts for the change of the step time; each table adds up to its first line."""
    st.subheader("What accounts for it", anchor=False)
    explanation = board.explained(before, after)
    st.caption(
        f"From {fmt.plain(before.facts.name)} to {fmt.plain(after.facts.name)}, the reports nearest to the levels on"
        " both sides. Each table adds up to its first line."
    )
    if differences := describe_program_differences(before, after):
        st.markdown("Different in the program's own facts: " + ", ".join(map(fmt.plain, differences[:8])) + ".")
    if explanation is None:
        st.info("These two reports tell no step time, or ran on different numbers of GPUs.")
        return
    _draw_table(explanation.wall, explanation.work, "work", f"Step time {format_difference(explanation.wall.change)}")
    if explanation.kernels is not None:
        _draw_kernels(explanation, explanation.kernels)


def _draw_kernels(explanation: Explanation, whole: Part) -> None:
    titles = {kind: f"By {title.lower()}" for kind, title in PARTS.items() if kind in explanation.by}
    if not titles:
        return
    kind = st.segmented_control(
        "Kernel time", list(titles), format_func=titles.__getitem__, required=True,
        **url_widgets.bind_option("parts", list(titles), "kernel" if "kernel" in titles else None),
    )  # fmt: skip
    _draw_table(
        whole,
        explanation.by[kind or next(iter(titles))],
        kind or "kernel",
        f"Kernel time {format_difference(whole.change)}",
    )


def _draw_table(whole: Part, parts: Sequence[Part], key: str, title: str) -> None:
    rows = build_frame(whole, parts, title)
    if key == "class":
        rows["title"] = rows["title"].replace(theme.get_class_titles())
    tables.draw_table(rows, _COLUMNS, key=f"trends-{key}", download=f"change_{key}.csv", hidden=("demangled",))


def build_frame(whole: Part, parts: Sequence[Part], title: str) -> pd.DataFrame:
    """Tabulate the total, then its parts: title, change (ns), share of the change (%), before (ns), after (ns)."""
    lines = [(title, whole), *((part.title, part) for part in parts)]
    return pd.DataFrame(
        {
            "title": [text for text, _ in lines],
            "demangled": [part.name for _, part in lines],
            "change": [part.change for _, part in lines],
            "share": [100 * part.change / whole.change if whole.change else None for _, part in lines],
            "before": [part.before for _, part in lines],
            "after": [part.after for _, part in lines],
        }
    )
