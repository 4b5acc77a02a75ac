"""Runs below the list of reports: a row for each, and the ranks of the chosen one."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import page_list, session
from app.ui import cell_text, judged_findings, navigation
from app.ui import format as fmt
from app.views.library.table import NOTHING, ROW_PX, UNJUDGED, shorten_gpu
from profiledb.studies.run_lookup import RunLine
from profiledb.studies.runs import sentences

_MOST_ROWS = 6
_BORDERS_PX = 2
_NAME_LETTERS = 27
COLUMNS = {
    "open": ("Open", 56), "name": ("Run", 210), "worst": ("Worst finding", 250), "ranks": ("Ranks", 140),
    "nodes": ("Nodes", 56), "gpu": ("GPU", 116), "captured": ("Captured (UTC)", 126), "step": ("Step", 80),
}  # fmt: skip
"""Heading and width in pixels of each column."""
_RANKS = {
    "open": ("Open", 56), "rank": ("Rank", 60), "report": ("Report", 320), "node": ("Node", 150),
    "gpu": ("GPU", 116), "steps": ("Steps", 66), "step": ("Step", 80),
}  # fmt: skip
_WORDS: Any = {"step": fmt.duration, "gpu": shorten_gpu, "name": lambda name: fmt.shortened(name, _NAME_LETTERS)}


def draw_runs(*, judging: bool) -> None:
    """Draw the runs of the library; nothing without one."""
    lines = session.run_lines()
    if not lines:
        return
    with st.expander(fmt.counted(len(lines), "run") + " on several GPUs", key="library-runs-box"):
        chosen = _draw_table(
            build_frame(lines, judging=judging), COLUMNS, "library-runs", [one.run.reports[0] for one in lines]
        )
        if chosen is None:
            st.caption("Open leads to the page of all ranks; select a row to list them here.")
            return
        run = lines[chosen].run
        for _, sentence in sentences.state_gaps(run):
            st.caption(sentence)
        _draw_table(
            list_ranks(lines[chosen]), _RANKS, f"library-ranks-{run.reports[0]}", [one.report_id for one in run.ranks]
        )


def build_frame(lines: Sequence[RunLine], *, judging: bool) -> pd.DataFrame:
    """Build a row per run, in the columns of ``COLUMNS``."""
    rows = pd.DataFrame(
        {
            "open": "Open",
            "name": fmt.visible(one.run.name),
            "worst": _state_worst(one, judging=judging),
            "ranks": sentences.count_ranks(one.run),
            "nodes": len(one.run.hosts) or None,
            "gpu": fmt.visible(", ".join(sorted({rank.gpu for rank in one.run.ranks if rank.gpu}))) or None,
            "captured": one.run.begin_ns,
            "step": one.run.step_ns,
        }
        for one in lines
    )
    rows["captured"] = pd.to_datetime(rows["captured"], utc=True, unit="ns", errors="coerce")
    return rows


def list_ranks(line: RunLine) -> pd.DataFrame:
    """Build a row per rank that is present, in the columns of ``_RANKS``."""
    names = session.reports([one.report_id for one in line.run.ranks])
    return pd.DataFrame(
        {
            "open": "Open", "rank": one.rank, "report": fmt.visible(names[one.report_id].shown_name),
            "node": fmt.visible(one.host) or None, "gpu": fmt.visible(one.gpu) or None, "steps": one.steps,
            "step": one.step_ns,
        }
        for one in line.run.ranks if one.report_id in names
    )  # fmt: skip


def _state_worst(line: RunLine, *, judging: bool) -> str:
    if line.worst is None:
        return UNJUDGED[judging]
    severity, title = line.worst
    return f"{judged_findings.TITLES[severity]}: {title}" if title else NOTHING


def _draw_table(
    rows: pd.DataFrame, columns: dict[str, tuple[str, int]], key: str, reports: Sequence[str]
) -> int | None:
    """Draw rows with a button each; return the selected one. A button opens the run's page, or the report of a rank."""
    is_run = columns is COLUMNS
    config = st.column_config
    made: dict[str, Any] = {
        name: config.DatetimeColumn(title, width=px, format="YYYY-MM-DD HH:mm", timezone="UTC") if name == "captured"
        else config.ButtonColumn(title, width=px, type="tertiary", key=f"open-{key}") if name == "open"
        else config.Column(title, width=px)
        for name, (title, px) in columns.items()
    }  # fmt: skip
    more: dict[str, Any] = {"on_select": "rerun", "selection_mode": "single-row"} if is_run else {}
    event: Any = st.dataframe(
        cell_text.make_styler(rows, {name: word for name, word in _WORDS.items() if name in rows}),
        height=(min(len(rows), _MOST_ROWS) + 1) * ROW_PX + _BORDERS_PX, row_height=ROW_PX, hide_index=True,
        column_config=made, key=key, placeholder=fmt.MISSING, **more,
    )  # fmt: skip
    if click := st.session_state.get(f"open-{key}"):
        page = page_list.get_script("run" if is_run else "summary")
        navigation.to(page, {session.PARAMETER: reports[click["row"]]})
    chosen = event.selection.rows if is_run else ()
    return chosen[0] if chosen and chosen[0] < len(rows) else None
