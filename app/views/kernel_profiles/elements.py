"""Shared elements of the views of one launch: its rows, a note on missing sections, and a text table."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.views.kernel_profiles import sentences
from profiledb.query.analysis import rows_or_none


def run_of_launch(report_id: str, analysis: str, launch: int) -> pd.DataFrame:
    """Run an analysis of one launch; return no rows if the report lacks the tables it reads."""
    return rows_or_none(session.run, report_id, analysis, launch=launch)


def draw_lacking(what: str, *parts: str) -> None:
    """Say what the report lacks and which ncu sections collect it (``parts`` are keys of SECTIONS)."""
    st.markdown(f"{what} To record this, run:")
    sections = dict.fromkeys(sentences.SECTIONS[part] for part in parts)
    st.code(f"ncu {' '.join(f'--section {section}' for section in sections)} -o report", language=None, wrap_lines=True)


def draw_text_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Draw a text table without a header row, the first cell of each row as its label. Draws nothing without rows."""
    if not rows:
        return
    frame = pd.DataFrame(
        {str(place): [fmt.plain(cell) for cell in column] for place, column in enumerate(zip(*rows, strict=True))}
    )
    st.table(frame.set_index("0"), border="horizontal", hide_header=True)
