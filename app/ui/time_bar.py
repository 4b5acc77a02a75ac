"""Where the time of the GPUs goes: one bar that adds up to 100 %, and the same bar for each step."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, charts, share_bar, theme
from app.ui import format as fmt
from profiledb.query.analysis import rows_or_none
from profiledb.rules.classes import OTHER

_TITLES = share_bar.REASONS | {
    "copies": "Copies alone",
    "communication": "Communication alone",
    "data loading": "Data loading",
    "earlier work": "Launched before the capture",
}
_CLASSES = {"communication": "communication", "copies": "copy"}
"""Kernel class whose color each kind of work uses."""
STEPS = 8
"""Most steps that have a bar."""


def draw_bar(report_id: str, times: Mapping[str, Any]) -> None:
    """Draw the bar for the selection, restricted to ``times``; nothing without GPU activity."""
    rows = rows_or_none(session.run, report_id, "time_split", **times)
    if rows.empty:
        return
    idle_pct, unknown_pct = (float(rows.loc[rows["kind"] == one, "share_pct"].sum()) for one in ("idle", "unknown"))
    unknown = f", {fmt.percent(unknown_pct)} unknown" if unknown_pct else ""
    st.caption(
        f"{fmt.duration(rows['ns'].sum())} of GPU time: {fmt.percent(100 - idle_pct - unknown_pct)} busy,"
        f" {fmt.percent(idle_pct)} idle{unknown}."
    )
    chart_element.draw_chart(charts.share_bar(_list_parts(rows), theme.get_theme()), "time-split")


def draw_steps(report_id: str, times: Mapping[str, Any]) -> None:
    """Draw the bars of the first steps, small; nothing without steps."""
    rows = rows_or_none(session.run, report_id, "step_split", **times)
    if rows.empty:
        return
    steps = {str(start): rows[rows["start_ns"] == start] for start in rows["start_ns"].unique()[:STEPS]}
    bars = [(str(one["step"].iloc[0]), _list_parts(one)) for one in steps.values()]
    chart_element.draw_chart(charts.share_bars(bars, theme.get_theme()), "step-split")


def _list_parts(rows: pd.DataFrame) -> list[charts.Part]:
    """Convert rows of ``time_split`` or ``step_split``, in order."""
    colors, titles = theme.get_class_colors(), theme.get_class_titles()
    parts = []
    for row in rows.to_dict("records"):
        part, kind = str(row["part"]), str(row["kind"])
        idle = kind == "idle"
        title = _TITLES.get(part, part) if kind != "kernels" else titles.get(part, part)
        color = share_bar.get_color(part) if idle else colors.get(_CLASSES.get(kind, part), colors[OTHER])
        place = f" in {row['range']}" if row.get("range") else ""
        detail = f"{fmt.duration(row['ns'])} {'idle' if idle else 'busy'}{place}"
        parts.append(charts.Part(title, float(row["share_pct"]), detail, color))
    return parts
