"""The two reports that represent the sides of a change, and links to Compare with them."""

import streamlit as st

from app import page_list, session
from app.ui import navigation
from profiledb.studies.trends import explanation
from profiledb.studies.trends.series import Point
from profiledb.studies.trends.series_changes import Shift, Trend

COMPARE = page_list.get_view("compare")
OTHER = "other"
"""Compare's query parameter for the second report."""


def find_sides(trend: Trend, shift: Shift) -> tuple[Point, Point]:
    """Return the reports nearest to the levels on both sides of the change."""
    return explanation.level_reports(trend, shift.change.index)


def compare(before: str, after: str) -> None:
    """Open Compare with these reports, if both are in the library."""
    if {before, after} <= session.reports([before, after]).keys():
        navigation.to(COMPARE.path, {session.PARAMETER: before, OTHER: after})


def link(before: Point, after: Point) -> None:
    """Draw a link that compares the two reports, if both are in the library."""
    if not {before.id, after.id} <= session.reports([before.id, after.id]).keys():
        st.caption("Not both reports are in the library any more.", width="content")
        return
    st.page_link(
        COMPARE.path, label=":primary[Compare both sides]", icon=COMPARE.icon, width="content",
        query_params={session.PARAMETER: before.id, OTHER: after.id},
    )  # fmt: skip
