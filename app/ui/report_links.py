"""Link a Systems report to a Compute report of the same program; candidates are ranked by the GPU time they cover."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import link_row, page_elements, trace_links
from profiledb.library.catalog import LAUNCHES, Manifest
from profiledb.library.report_list import Filters
from profiledb.query import captures

CANDIDATES = 30
"""Maximum number of Compute reports compared, newest first."""

_OPEN = "library-link"
_COMPUTE = Filters(subject=LAUNCHES)
_COMMAND = f"warpdeck profile --kernels-of {{report}} -- {captures.PROGRAM}"


@dataclass(frozen=True)
class Candidate:
    """A Compute report and the kernel time of the Systems report that it covers, in percent.

    ``other_pct`` is the share of kernels that it measured in other launch shapes only.
    """

    report: Manifest
    covered_pct: float
    other_pct: float


def read_partners(reports: Sequence[Manifest], *links: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of the reports linked to each report, in either direction, by report id."""
    shown = {one.id for one in reports}
    pairs = [pair for kind in links for pair in kind.items() if not shown.isdisjoint(pair)]
    names = {key: fmt.visible(one.shown_name) for key, one in session.reports(sorted({*sum(pairs, ())})).items()}
    linked: dict[str, list[str]] = {}
    for nsys_id, other_id in pairs:
        if nsys_id in names and other_id in names:
            linked.setdefault(nsys_id, []).append(names[other_id])
            linked.setdefault(other_id, []).append(names[nsys_id])
    return linked


def draw_action(report: Manifest) -> None:
    """Draw the button that opens the dialog, for a report that can be linked."""
    if not report.rows.get("kernel"):
        return
    linked = report.id in session.read_links()
    label = "Change link" if linked else "Link a report"
    about = "Change or remove the linked report." if linked else None
    if st.button(label, icon=":material/link:", help=about):
        st.session_state[_OPEN] = report.id


def draw_dialog() -> None:
    """Show the candidates for the report whose button was pressed, until one is chosen or the dialog is closed."""
    chosen = st.session_state.get(_OPEN, "")
    if chosen and (report := session.reports([chosen]).get(chosen)):
        st.dialog("Link a report", width="medium", on_dismiss=_close_dialog)(_draw_dialog)(report)


def rank_candidates(report: Manifest) -> list[Candidate]:
    """Return the newest Compute reports and the linked one, highest coverage first, without damaged files."""
    linked = session.read_links().get(report.id)
    compute = {one.id: one for one in session.list_page(_COMPUTE, most=CANDIDATES)}
    chosen = compute | session.reports([linked] if linked else [])
    shelf = session.library()
    candidates = [_make_candidate(report, other) for other in chosen.values() if shelf.is_intact(other.id)]
    return sorted(candidates, key=lambda candidate: (-candidate.covered_pct, -candidate.other_pct))


def _make_candidate(report: Manifest, other: Manifest) -> Candidate:
    row = session.run_whole(report.id, "ncu_coverage", ncu=other.id).iloc[0]
    return Candidate(other, fmt.number(row["covered_pct"]) or 0.0, fmt.number(row["name_only_pct"]) or 0.0)


def _draw_dialog(report: Manifest) -> None:
    with page_elements.boundary():
        st.caption(
            f"Nsight Compute shows why kernels take their time; {fmt.plain(report.name)} shows how much that"
            " matters. Kernels are matched by name, grid and block."
        )
        with st.spinner("Comparing kernels…"):
            candidates = rank_candidates(report)
        linked = session.read_links().get(report.id)
        near = [candidate for candidate in candidates if candidate.covered_pct or candidate.report.id == linked]
        far = [candidate for candidate in candidates if candidate not in near]
        for candidate in near:
            _draw_row(report, candidate, linked=candidate.report.id == linked)
        if not near:
            st.info(
                "No Compute report in this library measured these kernels. To capture one of the same program, run:"
            )
            st.code(session.name_program(report.id, _COMMAND.format(report=report.id)), language=None, wrap_lines=True)
        if far:
            title = "1 report covers none" if len(far) == 1 else f"{len(far)} reports cover none"
            with st.expander(f"{title} of its kernels"):
                for candidate in far:
                    _draw_row(report, candidate, linked=False)
        total = session.count(_COMPUTE)
        if total > CANDIDATES:
            st.caption(f"Compared with the newest {CANDIDATES} of {total:,} Compute reports.")
        if trace_links.offer(report):
            _close_and_rerun()


def _draw_row(report: Manifest, candidate: Candidate, *, linked: bool) -> None:
    pressed = link_row.draw_row(
        candidate.report, _describe_report(candidate.report), note=_describe_coverage(candidate), linked=linked
    )
    if pressed == "Unlink":
        session.open_for_changes().unlink(report.id)
        _close_and_rerun()
    if pressed == "Link":
        session.open_for_changes().link(report.id, candidate.report.id)
        _close_and_rerun()


def _describe_coverage(candidate: Candidate) -> str:
    """Describe the coverage, such as "covers 63 % of the GPU time"."""
    if candidate.covered_pct:
        covers = f"covers {_format_percent(candidate.covered_pct)} of the GPU time"
        return (
            f"{covers}, plus {_format_percent(candidate.other_pct)} in other launch shapes"
            if candidate.other_pct
            else covers
        )
    if candidate.other_pct:
        return f"{_format_percent(candidate.other_pct)} of the GPU time, in other launch shapes only"
    return "covers nothing"


def _format_percent(value: float) -> str:
    """Format a whole percentage, but never 0 for a nonzero value."""
    return f"{value:.0f} %" if value >= 0.5 else "<1 %"


def _describe_report(report: Manifest) -> str:
    captured = fmt.when(report.captured_at) if report.captured_at else None
    launches = report.rows.get("ncu_launch", 0)
    count = f"{launches:,} launch{'es'[: 2 * (launches != 1)]}"
    return "  ·  ".join(part for part in (report.gpu, captured, count) if part)


def _close_and_rerun() -> None:
    """Close the dialog and rerun the page behind it: a button in a dialog reruns only the dialog."""
    _close_dialog()
    st.rerun()


def _close_dialog() -> None:
    st.session_state.pop(_OPEN, None)
