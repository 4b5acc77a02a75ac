"""All series in a table, worst first, with their trend and newest change."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import tables, url_widgets
from app.ui.table_columns import Col
from app.views.trends.sentences import KINDS, format_point, format_share, format_value
from app.views.trends.url_state import MEASURE, SERIES
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_changes import LEAST
from profiledb.studies.trends.series_lines import MAIN, RECENT, Line

MOST = 500
"""Most series listed; the search covers all of them."""
LEAST_SPARK = 4
"""Reports that a sparkline needs: fewer make a line without a shape."""
_SEPARATOR = " · "
COLUMNS = (
    Col("series", "Series", width=330, click=True, help="Program, what keeps it apart, GPU. A click opens it."),
    Col("measure", "Measure", width=110, help="What changed; step time where nothing did (wall time without steps)"),
    Col("spark", "Over reports", kind="line", width=150, help=f"Of the last {RECENT} reports"),
    Col("newest", "Newest", width=84, help="Of the last report"),
    Col("change", "Change", width=84, help="Newest change that was found: new level against the one before"),
    Col("kind", "What", width=120, help="Surroundings: driver, machine, profiler or recorded data changed with it."),
    Col("where", "At", width=150, help="First report of the new level: its commit, else its date"),
    Col("state", "State", width=90),
    Col("reports", "Reports", kind="count", width=76),
    Col("last", "Last report", width=104),
)


def draw_series(board: Board) -> None:
    """Draw the table, and open a clicked series."""
    if board.waiting:
        verb = "is" if board.waiting == 1 else "are"
        st.caption(
            f"{fmt.counted(board.waiting, 'report')} {verb} still being summarized. To finish now: `warpdeck series`."
        )
    lines = board.listed
    if not lines:
        st.info("No series yet. A series needs a report with a timeline; two reports of one program make a trend.")
        return
    text = st.text_input("Search", placeholder="A part of a name", width=240, **url_widgets.bind_text("q"))
    matching = [line for line in lines if text.casefold() in line.series.casefold()]
    if not matching:
        st.info("No series matches.")
    else:
        rows = build_frame(matching[:MOST])
        if common := find_common_parts([line.series for line in matching[:MOST]]):
            st.caption(f"All of these: {fmt.plain(_SEPARATOR.join(common))}")
        chosen = tables.draw_table(rows, COLUMNS, key="trends-series", download="series.csv", select=True)
        if len(matching) > MOST:
            st.caption(f"{fmt.count(len(matching) - MOST)} more: search for them.")
        if chosen is not None:
            st.query_params[SERIES] = matching[chosen].key
            if matching[chosen].measure.name != MAIN:
                st.query_params[MEASURE] = matching[chosen].measure.name
            st.rerun()


def build_frame(lines: Sequence[Line]) -> pd.DataFrame:
    """Return one row per series, named by the facts that not all of them share."""
    common = find_common_parts([line.series for line in lines])
    return pd.DataFrame([_make_row(line, common) for line in lines])


def find_common_parts(names: Sequence[str]) -> list[str]:
    """Return the parts that all names have; none if there is one name, or one that has nothing else."""
    parts = [name.split(_SEPARATOR) for name in names]
    common = [part for part in parts[0] if all(part in other for other in parts)] if len(parts) > 1 else []
    return common if all(set(own) - set(common) for own in parts) else []


def _explain_no_change(line: Line) -> str:
    """Return why a line has no change: it drifts, is too short to tell, or keeps its level."""
    if line.drifts:
        return "Drifts"
    return f"Below {LEAST} reports" if line.reports < LEAST else "No change"


def _make_row(line: Line, common: Sequence[str]) -> dict[str, Any]:
    last = line.change
    row: dict[str, Any] = {
        "series": _SEPARATOR.join(part for part in line.series.split(_SEPARATOR) if part not in common),
        "measure": line.measure.title,
        "spark": line.recent if len(line.recent) >= LEAST_SPARK else None,
        "newest": format_value(line.measure, line.recent[-1]),
        "reports": line.reports, "last": f"{line.last:%Y-%m-%d}",
        "change": None, "kind": _explain_no_change(line), "where": None, "state": None,
    }  # fmt: skip
    if last is not None:
        row |= {"change": format_share(last.share), "kind": KINDS[last.kind], "where": format_point(last)}
        row["state"] = "Open" if last.note is None else last.note.state.capitalize()
    return row


def explain_rules() -> None:
    """Explain how reports are grouped into series, with the rules in force."""
    from profiledb.rules import series as rules

    with st.expander("How reports are grouped", icon=":material/rule:"):
        known = rules.read_current()
        st.markdown(
            "A report belongs to the series that someone moved it to. Otherwise the first known fact of **program**"
            " names the series, and each known fact of **apart** keeps reports apart. A file of your own"
            " (WARPDECK\\_SERIES) changes these rules; profiledb/rules/series.toml explains them."
        )
        lines = [f"{name} = {', '.join(getattr(known, name))}" for name in ("program", "apart", "commit", "date")]
        st.code("\n".join(lines), language=None, wrap_lines=True)
