"""One kernel: distribution of its durations, durations over time, launch shapes, and longest launches."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import chart_drag, kernel_links, page_selection
from app.ui import chart_element, charts, column_pair, judged_findings, kernel_operators, kernel_verdicts, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.views.kernel import tables
from profiledb.findings import sentences
from profiledb.findings.finding import Finding
from profiledb.library.catalog import Manifest
from profiledb.query.analysis import rows_or_none


def draw_page() -> None:
    """Draw the page of the kernel named in the URL, or of the kernel with the most time."""
    manifest = session.report()
    summary = _read_summary(manifest)
    if summary is None:
        _explain_nothing(manifest)
        return
    _draw_heading(manifest, summary)
    _draw_facts(summary)
    kernel = int(summary["kernel"])
    kernel_verdicts.draw_section(manifest.id, kernel)
    _draw_findings(manifest, summary)
    kernel_operators.draw_section(manifest, kernel)
    tables.COUNTERS.draw_rows(rows_or_none(session.run, manifest.id, "kernel_counters", kernel=kernel))
    tables.LINES.draw_rows(rows_or_none(session.run, manifest.id, "kernel_lines", kernel=kernel))
    tables.draw_neighbors(manifest.id, kernel)
    _draw_charts(manifest.id, summary)
    tables.SHAPES.draw(manifest.id, kernel=kernel)
    tables.draw_longest(manifest.id, kernel, int(summary["calls"]))


def _explain_nothing(manifest: Manifest) -> None:
    """Explain that the kernel is missing from the report or from the selection."""
    named = st.query_params.get("kernel")
    whole = session.run_whole(manifest.id, "kernel_summary", kernel=named) if named else pd.DataFrame()
    if len(whole):
        st.subheader(fmt.plain(whole["name"].iloc[0]), anchor=False)
    if named and whole.empty:
        st.info("This report has no such kernel. The address may belong to another report.")
    elif named:
        st.info(
            "This kernel does not run in the selection. The whole report has"
            f" {fmt.counted(whole['calls'].iloc[0], 'launch')} of it, {fmt.duration(whole['total_ns'].iloc[0])} in"
            " total."
        )
        page_selection.clear_button("kernel-clear")
    else:
        st.info("No kernels run in this selection.")
        page_selection.clear_button("kernel-clear")
    kernel_links.to_list(manifest.id, "All kernels")


def _read_summary(manifest: Manifest) -> "pd.Series[Any] | None":
    named = st.query_params.get("kernel")
    if named is None:
        all_of_them = session.run(manifest.id, "kernels")
        if all_of_them.empty:
            return None
        named = str(all_of_them["kernel"].iloc[0])
    rows = session.run(manifest.id, "kernel_summary", kernel=named)
    return None if rows.empty else rows.iloc[0]


def _draw_heading(manifest: Manifest, summary: "pd.Series[Any]") -> None:
    st.subheader(fmt.plain(summary["name"]), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="kernel-list"):
        kernel_links.to_list(manifest.id, "All kernels")
        for column, label, icon in (
            ("previous_kernel", "Previous by total", ":material/arrow_back:"),
            ("next_kernel", "Next by total", ":material/arrow_forward:"),
        ):
            other = fmt.number(summary[column])
            if st.button(label, icon=icon, type="tertiary", key=column, disabled=other is None) and other is not None:
                kernel_links.open_kernel(manifest.id, int(other))
    with st.container(key="kernel-name"):
        st.code(fmt.visible(summary["demangled"]), language=None, wrap_lines=True)
    streams, devices = int(summary["streams"]), int(summary["devices"])
    where = f"{streams} stream{'s'[: streams != 1]} on {devices} GPU{'s'[: devices != 1]}"
    title = theme.get_class_titles().get(summary["class"], summary["class"])
    st.caption(
        f"Class {fmt.plain(title)}  ·  number {summary['rank']} of {fmt.count(summary['kernels'])} by total time"
        f"  ·  {where}  ·  from {fmt.duration(summary['first_ns'])} to {fmt.duration(summary['last_ns'])} in the"
        " capture"
    )


def _draw_facts(summary: "pd.Series[Any]") -> None:
    deviation = summary["stddev_ns"] if int(summary["calls"]) > 1 else None  # nsys reports 0 for a single launch
    ui.draw_facts(
        [
            ("Share", fmt.percent(summary["share_pct"]), "Share of all kernel time in the selection."),
            ("Total", fmt.duration(summary["total_ns"]), "Sum of durations."),
            ("Launches", fmt.count(summary["calls"]), "Number of launches."),
            ("Average", fmt.duration(summary["avg_ns"]), ""),
            ("Median", fmt.duration(summary["median_ns"]), "Half of the launches take at most this long."),
            ("P95", fmt.duration(summary["p95_ns"]), "95 % of the launches take at most this long."),
            ("Min", fmt.duration(summary["min_ns"]), ""),
            ("Max", fmt.duration(summary["max_ns"]), ""),
            ("Std dev", fmt.duration(deviation), "Sample standard deviation (n - 1)."),
        ]
    )


@st.fragment(parallel=True)
def _draw_findings(manifest: Manifest, summary: "pd.Series[Any]") -> None:
    """List what findings say about this kernel; other sections do not wait for them."""
    with ui.boundary():
        findings = [one for one in judged_findings.judge_report(manifest) if _is_about(one, summary)]
        st.subheader("Findings", anchor=False)
        if not findings:
            st.caption("No finding names this kernel.")
        for one in findings:
            advice = [f"- {fmt.sentence(line)}" for line in sentences.fill_advice(one)]
            st.markdown(
                "\n".join([f"{judged_findings.format_badge(one)} {judged_findings.format_sentence(one)}", *advice])
            )


def _is_about(finding: Finding, summary: "pd.Series[Any]") -> bool:
    """Return True if a finding that fires has the kernel among its facts or its evidence."""
    pieces = ({"name": finding.facts.get("kernel")}, *finding.evidence)
    return finding.verdict == "fires" and any(
        piece.get("kernel") == summary["kernel"] or piece.get("name") == summary["name"] for piece in pieces
    )


def _draw_charts(report_id: str, summary: "pd.Series[Any]") -> None:
    """Draw the distribution and the durations over time, unless the kernel was launched only once."""
    if int(summary["calls"]) < 2:
        st.caption("This kernel was launched once, so there is no distribution to draw.")
        return
    kernel = int(summary["kernel"])
    bins = session.run(report_id, "kernel_histogram", kernel=kernel)
    points = session.run(report_id, "kernel_over_time", kernel=kernel)
    marks = [("median", float(summary["median_ns"])), ("P95", float(summary["p95_ns"]))]
    left, right = column_pair.pair("distribution")
    with left:
        st.subheader("Distribution", anchor=False)
        chart_element.draw_chart(charts.plot_histogram(bins, marks, theme.get_theme()), "histogram")
    with right:
        st.subheader("Duration over time", anchor=False)
        figure = charts.plot_over_time(points, theme.get_theme(), log=bins["scale"].iloc[0] == "log")
        chart_drag.draw_chart(figure, "over-time")
    if len(points) < int(summary["calls"]):
        st.caption(
            f"{fmt.count(len(points))} of {fmt.count(summary['calls'])} launches are drawn: the shortest and the"
            " longest in each time interval."
        )


draw_page()
