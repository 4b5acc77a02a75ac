"""Findings: what holds a report back, in the order of what it costs; what is clear; what cannot be judged."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import found, page
from app.views.findings import card, others


def show() -> None:
    """Draws the page."""
    manifest = session.report()
    findings = found.findings(manifest)
    fires = [one for one in findings if one.verdict == "fires"]
    open_ = [one for one in findings if one.verdict == "cannot_judge"]
    clear = [one for one in findings if one.verdict == "clear"]
    costly = [one for one in fires if not one.rule.weight]
    page.facts(
        [
            ("Findings", fmt.count(len(costly)), "Rules that fire and cost time."),
            ("Remarks", fmt.count(len(fires) - len(costly)), "On the capture, and on what its figures are worth."),
            ("Clear", fmt.count(len(clear)), "Rules that were checked and do not fire."),
            ("Not judged", fmt.count(len(open_)), "Rules for which the report lacks data."),
        ]
    )
    if not costly:
        st.markdown(_nothing(remarks=bool(fires), judged=bool(fires or clear)))
    for finding in costly:
        card.show(manifest.id, finding)
    if costly:
        st.caption("Savings are upper bounds. They overlap, so do not add them up.")
    others.remarks(manifest.id, [one for one in fires if one.rule.weight])
    others.unjudged(open_)
    others.clear(clear)
    others.rulebook(findings)


def _nothing(*, remarks: bool, judged: bool) -> str:
    """What stands where no finding costs time: on a report that nobody could judge that is no praise."""
    if not judged:
        return "This report lacks what the rules need."
    return "Nothing found that costs time by itself." + (" See the remarks." if remarks else "")


show()
