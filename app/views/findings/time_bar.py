"""The bar at the top of Findings: GPU time split into parts that add up to 100 %."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import session
from app.ui import chart_element, charts, share_bar, theme
from app.ui import format as fmt
from profiledb.errors import NotCapturedError
from profiledb.rules.classes import OTHER

_TITLES = share_bar.REASONS | {
    "copies": "Copies alone",
    "communication": "Communication alone",
    "data loading": "Data loading",
    "earlier work": "Launched before the capture",
}
_CLASSES = {"communication": "communication", "copies": "copy"}
"""Kernel class whose color each kind of work uses."""


def show(report_id: str, times: Mapping[str, Any]) -> None:
    """Draw the bar for the selection, restricted to ``times``; nothing without GPU activity."""
    try:
        rows = session.run(report_id, "time_split", **times)
    except NotCapturedError:
        return
    if rows.empty:
        return
    colors, titles = theme.class_colors(), theme.class_titles()
    parts = []
    for row in rows.to_dict("records"):
        part, kind = str(row["part"]), str(row["kind"])
        idle = kind == "idle"
        title = _TITLES.get(part, part) if kind != "kernels" else titles.get(part, part)
        color = share_bar.color(part) if idle else colors.get(_CLASSES.get(kind, part), colors[OTHER])
        place = f" in {row['range']}" if row["range"] else ""
        detail = f"{fmt.duration(row['ns'])} {'idle' if idle else 'busy'}{place}"
        parts.append(charts.Part(title, float(row["share_pct"]), detail, color))
    idle_pct, unknown_pct = (float(rows.loc[rows["kind"] == one, "share_pct"].sum()) for one in ("idle", "unknown"))
    busy = fmt.percent(100 - idle_pct - unknown_pct)
    unknown = f", {fmt.percent(unknown_pct)} unknown" if unknown_pct else ""
    st.caption(
        f"Where the time goes, from the first to the last operation of each GPU: {busy} busy,"
        f" {fmt.percent(idle_pct)} idle{unknown}."
    )
    chart_element.chart(charts.share_bar(parts, theme.theme()), "time-split")
