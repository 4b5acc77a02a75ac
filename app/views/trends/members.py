"""The reports of a series, with controls that move them to another series or exclude them from all series."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import tables
from app.ui.table_columns import Col
from app.web import access
from profiledb.library.series_decisions import LEFT_OUT
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_changes import Trend

_OUT = "– in no series –"
_RULES = "– by the rules –"
_COLUMNS = (
    Col("name", "Report", width=280, click=True, help="A click opens the report."),
    Col("at", "Date (UTC)", width=130, help="Of the commit where that is told, else of the capture"),
    Col("commit", "Commit", width=110),
    Col("branch", "Branch", width=110),
    Col("time", "Step time", kind="duration", width=90),
    Col("driver", "Driver", width=100),
    Col("versions", "Versions", width=180),
    Col("moved", "Here by", width=80, help="Rules, or moved by someone"),
    Col("kept", "Kept", width=90, help="Report, or its figures alone: retention removed the report."),
)


def draw_members(board: Board, series: Series, trend: Trend | None) -> None:
    """Draw the table and, for editors, the controls that move reports."""
    with st.expander(f"Reports of this series ({len(series.points)})", icon=":material/list:"):
        times = dict(zip((p.id for p in trend.points), trend.values, strict=True)) if trend else {}
        newest = list(reversed(series.points))
        wall = times if trend and trend.measure.name == "wall_ns" else {}
        listed = set(board.library.catalog.listing.filter_ids(point.id for point in newest))
        rows = pd.DataFrame([_make_row(point, wall.get(point.id), point.id in listed) for point in newest])
        chosen = tables.draw_table(rows, _COLUMNS, key="trends-members", download="reports.csv", select=True)
        if chosen is not None and (reports := session.reports([newest[chosen].id])):
            ui.open_report(reports[newest[chosen].id])
        if access.may_edit():
            _draw_move_form(board, series)


def _make_row(point: Point, ns: float | None, is_listed: bool) -> dict[str, object]:
    return {
        "name": point.facts.name, "at": f"{point.at:%Y-%m-%d %H:%M}", "commit": (point.commit or "")[:10] or None,
        "branch": point.branch, "time": ns, "driver": point.facts.driver,
        "versions": ", ".join(f"{name} {value}" for name, value in point.versions) or None,
        "moved": "Moved" if point.moved else "Rules", "kept": "Report" if is_listed else "Figures",
    }  # fmt: skip


def _draw_move_form(board: Board, series: Series) -> None:
    names = {point.id: f"{point.facts.name} · {point.at:%Y-%m-%d %H:%M} · {point.id[:8]}" for point in series.points}
    out = _list_left_out(board)
    names |= {report_id: f"{name} · left out · {report_id[:8]}" for report_id, name in out.items()}
    with st.form("trends-move", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        moved = st.multiselect(
            "Reports", list(names), format_func=lambda one: fmt.visible(names[one]), width=420, key="trends-moved",
            placeholder="Choose reports of this series, or left out ones",
        )  # fmt: skip
        to = st.selectbox(
            "Move to", [_RULES, _OUT, *board.names], index=None, width=320, key="trends-to", accept_new_options=True,
            placeholder="A series, or a new name", format_func=fmt.visible,
        )  # fmt: skip
        if st.form_submit_button("Move") and moved and to:
            decided = session.open_for_changes().catalog.decisions
            for report_id in moved:
                decided.choose(report_id, {_RULES: None, _OUT: LEFT_OUT}.get(to, to))
            st.rerun()


def _list_left_out(board: Board) -> dict[str, str]:
    """Return the names of the reports excluded from all series, by id."""
    choices = board.library.catalog.decisions.choices()
    out = session.reports(report_id for report_id, series in choices.items() if series == LEFT_OUT)
    return {report_id: report.shown_name for report_id, report in out.items()}
