"""Small parts that the views of one launch share: a titled part, what it lacks, a table of words."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.views.kernel_profiles import sentences as ncu_words
from profiledb.query.analysis import rows_or_none


def of_launch(report_id: str, analysis: str, launch: int) -> pd.DataFrame:
    """The rows of an analysis of one launch; none where the report lacks the tables behind it."""
    return rows_or_none(session.run, report_id, analysis, launch=launch)


def lacking(what: str, *parts: str) -> None:
    """Says that the report does not have something, and the sections of ncu that collect it (keys of SECTIONS)."""
    st.markdown(f"{what} To record this, run:")
    sections = dict.fromkeys(ncu_words.SECTIONS[part] for part in parts)
    st.code(f"ncu {' '.join(f'--section {section}' for section in sections)} -o report", language=None, wrap_lines=True)


def words(rows: Sequence[tuple[str, ...]]) -> None:
    """A quiet table of texts without headings, the first of each says what the others are; nothing without rows."""
    if not rows:
        return
    frame = pd.DataFrame(
        {str(place): [fmt.plain(cell) for cell in column] for place, column in enumerate(zip(*rows, strict=True))}
    )
    st.table(frame.set_index("0"), border="horizontal", hide_header=True)
