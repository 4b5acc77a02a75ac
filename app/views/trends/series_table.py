"""All series in a table, worst first, with their trend and newest change."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables, url_widgets
from app.ui.table_columns import Col
from app.views.trends.sentences import KINDS, signed_share, value, when
from app.views.trends.url_state import MEASURE, SERIES
from profiledb.library.catalog import TIMELINE
from profiledb.library.report_list import Filters
from profiledb.studies.trends.series_board import MAIN, Board
from profiledb.studies.trends.series_changes import LEAST, Trend

MOST = 500
"""Most series listed; the search covers all of them."""
SPARK = 60
"""Number of reports in a series' sparkline, the newest ones."""
LEAST_SPARK = 4
"""Reports that a sparkline needs: fewer make a line without a shape."""
_SEPARATOR = " · "
COLUMNS = (
    Col("series", "Series", width=330, click=True, help="Program, what keeps it apart, GPU. A click opens it."),
    Col("measure", "Measure", width=110, help="What changed; step time where nothing did (wall time without steps)"),
    Col("spark", "Over reports", kind="line", width=150, help=f"Of the last {SPARK} reports"),
    Col("newest", "Newest", width=84, help="Of the last report"),
    Col("change", "Change", width=84, help="Newest change that was found: new level against the one before"),
    Col("kind", "What", width=120, help="Surroundings: driver, machine, profiler or recorded data changed with it."),
    Col("where", "At", width=150, help="First report of the new level: its commit, else its date"),
    Col("state", "State", width=90),
    Col("reports", "Reports", kind="count", width=76),
    Col("last", "Last report", width=104),
)


def show(board: Board) -> None:
    """Draw the table, and open a clicked series."""
    waiting = session.count(Filters(subject=TIMELINE)) - len(board.facts)
    if waiting > 0:
        verb = "is" if waiting == 1 else "are"
        st.caption(f"{fmt.counted(waiting, 'report')} {verb} still being summarized. To finish now: `warpdeck series`.")
    found = board.listed
    if not found:
        st.info("No series yet. A series needs a report with a timeline; two reports of one program make a trend.")
        _explain_rules()
        return
    text = st.text_input("Search", placeholder="A part of a name", width=240, **url_widgets.text("q"))
    matching = [trend for trend in found if text.casefold() in trend.series.name.casefold()]
    if not matching:
        st.info("No series matches.")
    else:
        rows = frame(matching[:MOST])
        if common := find_common_parts([trend.series.name for trend in matching[:MOST]]):
            st.caption(f"All of these: {fmt.plain(_SEPARATOR.join(common))}")
        chosen = tables.table(rows, COLUMNS, key="trends-series", download="series.csv", select=True)
        if len(matching) > MOST:
            st.caption(f"{fmt.count(len(matching) - MOST)} more: search for them.")
        if chosen is not None:
            st.query_params[SERIES] = matching[chosen].series.key
            if matching[chosen].measure.name != MAIN:
                st.query_params[MEASURE] = matching[chosen].measure.name
            st.rerun()
    _explain_rules()


def frame(found: Sequence[Trend]) -> pd.DataFrame:
    """Return one row per series, named by what not all of them have."""
    common = find_common_parts([trend.series.name for trend in found])
    return pd.DataFrame([_make_row(trend, common) for trend in found])


def find_common_parts(names: Sequence[str]) -> list[str]:
    """Return the parts that all names have; none if there is one name, or one that has nothing else."""
    parts = [name.split(_SEPARATOR) for name in names]
    common = [part for part in parts[0] if all(part in other for other in parts)] if len(parts) > 1 else []
    return common if all(set(own) - set(common) for own in parts) else []


def _explain_no_change(trend: Trend) -> str:
    """Return why a trend has no change: it drifts, is too short to tell, or keeps its level."""
    if trend.drifts:
        return "Drifts"
    return f"Below {LEAST} reports" if len(trend.points) < LEAST else "No change"


def _make_row(trend: Trend, common: Sequence[str]) -> dict[str, Any]:
    last = trend.shifts[-1] if trend.shifts else None
    row: dict[str, Any] = {
        "series": _SEPARATOR.join(part for part in trend.series.name.split(_SEPARATOR) if part not in common),
        "measure": trend.measure.title,
        "spark": trend.values[-SPARK:] if len(trend.values) >= LEAST_SPARK else None,
        "newest": value(trend.measure, trend.values[-1]),
        "reports": len(trend.points), "last": f"{trend.points[-1].at:%Y-%m-%d}",
        "change": None, "kind": _explain_no_change(trend), "where": None, "state": None,
    }  # fmt: skip
    if last is not None:
        row |= {"change": signed_share(last.change.share), "kind": KINDS[last.kind], "where": when(last.point)}
        row["state"] = "Open" if last.note is None else last.note.state.capitalize()
    return row


def _explain_rules() -> None:
    """Explain how reports are grouped into series, with the rules in force."""
    from profiledb.rules import series as rules

    with st.expander("How reports are grouped", icon=":material/rule:"):
        known = rules.current()
        st.markdown(
            "A report belongs to the series that someone moved it to. Otherwise the first known fact of **program**"
            " names the series, and each known fact of **apart** keeps reports apart. A file of your own"
            " (WARPDECK\\_SERIES) changes these rules; profiledb/rules/series.toml explains them."
        )
        lines = [f"{name} = {', '.join(getattr(known, name))}" for name in ("program", "apart", "commit", "date")]
        st.code("\n".join(lines), language=None, wrap_lines=True)
