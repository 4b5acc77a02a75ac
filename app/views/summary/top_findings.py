"""The costliest findings at the top of the Overview, and the link to all findings."""

from collections.abc import Sequence

import streamlit as st

from app import page_list
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import judged_findings
from profiledb.findings import judge
from profiledb.findings.finding import Finding
from profiledb.library.catalog import Manifest
from profiledb.query import header

MOST = 3
_IDLE = ("idle_reasons", "Why the GPU is idle")
_WHOLE = {
    "idle": _IDLE, "host": _IDLE, "launch": _IDLE, "copies": ("copies", "All copies"),
    "steps": ("iterations", "All steps"),
}  # fmt: skip
"""For each group of rules, the analysis with the full picture, and the label of the link to its page."""


def show(findings: Sequence[Finding], manifest: Manifest) -> frozenset[str]:
    """Draw the findings and return their rule groups; draw nothing if no rule fires."""
    fires = judge.costly(findings)
    if not fires:
        return frozenset()
    first = judge.leading(fires, MOST)
    with st.container(border=True, key="findings-head", gap="xsmall"):
        for one in first:
            bound = judged_findings.bound(one)
            st.markdown(
                f"{judged_findings.badge(one)} {judged_findings.sentence(one)}"
                + (f" :gray[{fmt.plain(bound)}.]" if bound else "")
            )
        all_of_them = "All findings" if len(fires) > len(first) else "What to do"
        _ways(manifest.id, [one.rule.group for one in first], all_of_them)
    return frozenset(one.rule.group for one in first)


def _ways(report_id: str, groups: list[str], all_of_them: str) -> None:
    """Draw links to all findings and to the pages about the findings above."""
    shown = [_WHOLE[group] for group in groups if group in _WHOLE]
    ways = {"findings": all_of_them} | {header.get(name).page: label for name, label in shown}
    with st.container(horizontal=True, key="findings-ways"):
        for page, label in ways.items():
            st.page_link(
                page_list.get_script(page), label=f":primary[{label}]", icon=":material/arrow_forward:",
                query_params=page_selection.link(report_id), width="content",
            )  # fmt: skip
