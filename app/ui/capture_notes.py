"""Messages of the profiler and the conversion about a report, and the data that the capture lacks."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements

OURS = "warpdeck"
ICONS = {"error": ":material/error:", "warning": ":material/warning:"}
SHOWN = 20


def draw_reading(report_id: str) -> None:
    """Show how the file was read if that affects the numbers, such as a SQLite export used in its place."""
    rows = session.run(report_id, "diagnostics")
    for _, row in rows[(rows["source"] == OURS) & (rows["severity"] != "info")].iterrows():
        hint, command = page_elements.split_hint(row["text"])
        st.info(hint, icon=":material/info:")
        if command:
            st.code(command, language=None)


def draw_diagnostics(report_id: str) -> None:
    """Draw the profiler's errors and warnings, with informational messages collapsed; nothing without messages."""
    rows = session.run(report_id, "diagnostics")
    loud = rows[rows["severity"].isin(list(ICONS)) & (rows["source"] != OURS)]
    quiet = rows[rows["severity"] == "info"]
    if rows.empty or (loud.empty and quiet.empty):
        return
    st.subheader("Diagnostics", anchor=False)
    for _, row in loud.head(SHOWN).iterrows():
        st.markdown(f"{ICONS[row['severity']]} {_format_line(row)}")
    if len(loud) > SHOWN:
        st.caption(f"{len(loud) - SHOWN} more: see the analysis diagnostics.")
    if len(quiet):
        with st.expander(f"{fmt.count(len(quiet))} informational message" + "s" * (len(quiet) != 1)):
            for _, row in quiet.head(10 * SHOWN).iterrows():
                st.caption(_format_line(row))


def _format_line(row: "pd.Series[Any]") -> str:
    times = f" ({fmt.count(row['times'])} times)" if int(row["times"]) > 1 else ""
    return f"{fmt.plain(row['text'])}{times}"


def draw_lacks(report_id: str, mentioned: str = "") -> None:
    """List the data that the capture lacks, its use, and the command that records all of it; nothing if it is complete.

    ``mentioned`` is a table whose absence the page has already mentioned.
    """
    missing = [capture for capture in session.list_missing(report_id) if capture.table != mentioned]
    if not missing:
        return
    with st.expander(f"Not in this capture: {', '.join(fmt.plain(c.title) for c in missing)}"):
        st.markdown(
            "\n".join(
                f"- **{fmt.plain(one.title)}**: {fmt.plain(one.use)}.{'' if one.command else f' {one.none}'}"
                for one in missing
            )
        )
        page_elements.draw_commands(one.command for one in missing)
