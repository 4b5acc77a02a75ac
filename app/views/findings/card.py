"""The card of a finding: its sentence, its cost, advice, and evidence with links."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import page_list, session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import judged_findings, navigation, tables
from app.ui.table_columns import Col, Kind, select_filled
from profiledb.findings import sentences
from profiledb.findings.finding import Finding

_KINDS: dict[str, Kind] = {"%": "percent", "ns": "duration", "bytes": "bytes", "count": "count", "ratio": "number"}


def draw_card(report_id: str, finding: Finding, below: Sequence[Finding] = ()) -> None:
    """Draw the card; ``below`` are the findings that share most of their time with this one."""
    with st.container(border=True, key=f"finding-{finding.rule.name}", gap="xsmall"):
        with st.container(
            horizontal=True,
            horizontal_alignment="distribute",
            vertical_alignment="center",
            key=f"saving-{finding.rule.name}",
        ):
            st.markdown(f"{judged_findings.format_badge(finding)} **{fmt.plain(finding.rule.title)}**", width="content")
            _draw_saving(report_id, finding)
        st.markdown(judged_findings.format_sentence(finding))
        if advice := sentences.fill_advice(finding):
            st.markdown("\n".join(f"- {fmt.sentence(line)}" for line in advice))
        _draw_evidence(report_id, finding)
        for one in below:
            st.markdown(
                f":gray[In the same time] **{fmt.plain(one.rule.title)}**: {judged_findings.format_sentence(one)}"
            )
            _draw_evidence(report_id, one)


def _draw_saving(report_id: str, finding: Finding) -> None:
    """Draw the saving of a fix, as a link to the page What if if it is predicted."""
    saves = sentences.describe_saving(finding, reason=False)
    if saves and finding.prediction:
        more = sentences.explain_more(finding)
        st.page_link(
            page_list.get_script("what_if"), label=f":gray[{fmt.plain(saves)}]",
            query_params=page_selection.link(report_id, change=finding.prediction.changes[0]), width="content",
            help=f"Replayed with the change{f': {more}' if more else ''}. Opens What if",
        )  # fmt: skip
    elif saves:
        st.caption(fmt.plain(saves), width="content")


def _draw_evidence(report_id: str, finding: Finding) -> None:
    if not finding.evidence:
        return
    rows = pd.DataFrame(finding.evidence)
    with st.expander(f"Evidence ({len(rows)})"):
        _link_to_timeline(report_id, finding)
        columns = select_filled(rows, _list_columns(finding.rule.unit))
        name = f"evidence-{finding.rule.name}"
        chosen = tables.draw_table(rows, columns, key=name, download=f"{finding.rule.name}.csv", select=True)
        if chosen is not None:
            _open_evidence(report_id, finding.evidence[chosen])


def _link_to_timeline(report_id: str, finding: Finding) -> None:
    """Link to the first piece of evidence that has a time."""
    timed = next((piece for piece in finding.evidence if "end_ns" in piece), None)
    if timed:
        times = float(timed["start_ns"]), float(timed["end_ns"])
        kernel_links.to_timeline(report_id, "Show the first on the timeline", *times, key=finding.rule.name)


def _list_columns(unit: str) -> list[Col]:
    return [
        Col("name", "Where", width=380, click=True, help="Opens the kernel, the launch or the time"),
        Col("note", "What", width=240),
        Col("value", "Value", unit="%" if unit == "%" else "", kind=_KINDS[unit]),
        Col("ns", "Time", kind="duration"),
        Col("count", "Count", kind="count"),
        Col("bytes", "Size", kind="bytes"),
        Col("start_ns", "Start", kind="moment"),
        Col("device", "GPU", kind="count"),
        Col("stream", "Stream", kind="count"),
    ]


def _open_evidence(report_id: str, piece: Mapping[str, Any]) -> None:
    """Open the page that shows a piece of evidence."""
    if "kernel" in piece:
        navigation.to(page_list.get_script("kernel"), page_selection.link(report_id, kernel=str(piece["kernel"])))
    elif "launch" in piece:
        measured = session.read_links().get(
            report_id, report_id
        )  # a Systems report has its launches in the linked report
        navigation.to(
            page_list.get_script("kernel_profiles"), {session.PARAMETER: measured, "launch": str(piece["launch"])}
        )
    elif "end_ns" in piece:
        times = float(piece["start_ns"]), float(piece["end_ns"])
        navigation.to(kernel_links.TIMELINE.path, kernel_links.link_timeline(report_id, *times))
    elif "range" in piece:
        navigation.to(page_list.get_script("ranges"), page_selection.link(report_id, range=str(piece["range"])))
