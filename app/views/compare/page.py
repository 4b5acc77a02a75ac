"""The Compare page: what changed from report A, the page's own, to report B, each under its own selection."""

import streamlit as st

from app import session
from app.selection import bar, compared_report, kernel_links, page_selection
from app.selection.page_selection import Settled
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui.report_titles import make_titles as report_titles
from app.views.compare import breakdown_chart, findings_diff, sentences, tables
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.studies.compare import matching, verdict
from profiledb.studies.compare.matching import Basis, Side

BASES = {"total": "Totals", "step": "Per step", "share": "Shares"}
BASIS_HELP = (
    "**Totals**: sums over the selection. **Per step**: work inside the steps, or inside the instances of one"
    " selected range, divided by their number. **Shares**: share of each side's kernel time, for different GPUs."
)


def draw_page() -> None:
    manifest = session.report()
    mine = page_selection.read_selection(manifest)
    other = _choose_other(manifest)
    if other is None:
        st.info(
            "Choose a report to compare with this one. To compare two parts of one report, choose the same report"
            " and another selection."
        )
        return
    theirs = page_selection.read_selection(other, mine)
    with st.container(gap="xxsmall"):
        length = f" (report length {fmt.plain(fmt.duration(other.duration_ns))})" if other.duration_ns else ""
        st.caption(f"Selection in B{length}")
        bar.draw_bar(theirs)
    a, b = compared_report.choose_side(mine), compared_report.choose_side(theirs)
    _draw_controls(a, b, mine, theirs)
    if _explain_lacking(a, b, manifest, other):
        return
    comparison = compared_report.compare_answers(a, b, _read_basis(a, b), mine, theirs)
    _draw_notes(comparison)
    tables.draw_facts(comparison)
    breakdown_chart.draw_breakdown(comparison)
    findings_diff.draw_differences(manifest, other, mine, theirs)
    tables.draw_kernels(comparison)
    tables.draw_phases(comparison)
    tables.draw_copies(comparison)
    tables.draw_totals(comparison)
    _draw_command(comparison, mine, theirs)


def _choose_other(manifest: Manifest) -> Manifest | None:
    """Draw the selector for the other report; return the one in the URL."""
    known = session.list_about(TIMELINE, named_by=compared_report.OTHER)
    titles = report_titles(known, manifest.id)
    named = next(iter(session.read_named(compared_report.OTHER, known)), None)
    key = "compare-other"
    st.session_state[key] = named
    if st.query_params.get(compared_report.OTHER) and not named:
        st.warning("The report in this address is not in the library, or is of another kind.")
    chosen = st.selectbox(
        "Compare this report (A) with (B)",
        list(known),
        index=None,
        key=key,
        placeholder="Choose a report",
        format_func=titles.__getitem__,
        on_change=_write_chosen,
        args=(key,),
        width=620,
    )
    return known.get(chosen or "")


def _write_chosen(key: str) -> None:
    """Write the chosen report to the URL, and drop the selection of the previous one."""
    page_selection.clear(page_selection.OTHER)
    st.query_params.pop(compared_report.BASIS, None)
    if st.session_state[key] is None:
        st.query_params.pop(compared_report.OTHER, None)
    else:
        st.query_params[compared_report.OTHER] = st.session_state[key]


def _draw_controls(a: Side, b: Side, mine: Settled, theirs: Settled) -> None:
    """Draw the selector for the basis, and the button that swaps the sides."""
    possible = [basis for basis in BASES if basis != "step" or matching.find_units(a, b)]
    key = "compare-basis"
    st.session_state[key] = _read_basis(a, b)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.segmented_control(
            "Compare",
            possible,
            key=key,
            format_func=BASES.__getitem__,
            required=True,
            help=BASIS_HELP,
            label_visibility="collapsed",
            on_change=lambda: st.query_params.update({compared_report.BASIS: st.session_state[key]}),
        )
        st.button(
            "Swap A and B", icon=":material/swap_horiz:", key="compare-swap", on_click=compared_report.swap_reports,
            args=(mine, theirs),
        )  # fmt: skip
        if mine.report_id != theirs.report_id:
            kernel_links.to_timelines(mine.report_id, [theirs.report_id], "Both on the Timeline", "step")
        if both := matching.find_units(a, b):
            name = fmt.plain(both.name) or "Steps"
            st.caption(f"{name}: {fmt.count(both.a)} in A, {fmt.count(both.b)} in B", width="content")


def _read_basis(a: Side, b: Side) -> Basis:
    """Return the basis in the URL if it fits the two reports, or else the default for them."""
    asked = st.query_params.get(compared_report.BASIS, "")
    possible = asked in BASES and (asked != "step" or matching.find_units(a, b) is not None)
    return matching.choose_basis(a, b, asked if possible else "auto")


def _explain_lacking(a: Side, b: Side, mine: Manifest, other: Manifest) -> bool:
    """Return whether either side lacks kernels to compare, and explain why."""
    sides = (("A", a, mine), ("B", b, other))
    for letter, side, manifest in sides:
        if side.lacks:
            st.markdown(f"{letter}, {fmt.plain(manifest.name)}, has no kernels to compare:")
            ui.draw_not_captured(side.lacks)
        elif side.kernel_totals.empty:
            st.info(f"No kernels run in the selection of {letter}.")
    return any(side.kernel_totals.empty for _, side, _ in sides)


def _draw_notes(comparison: compared_report.Compared) -> None:
    a, b = comparison.a, comparison.b
    if matching.has_other_gpus(a, b):
        st.warning(
            f"Different GPUs: A ran on {fmt.plain(', '.join(a.gpus))}, B on {fmt.plain(', '.join(b.gpus))}."
            f" Times may differ because of the GPU alone; compare shares. {verdict.state_scope(a, b)}",
            icon=":material/memory:",
        )
    st.markdown("  \n".join(sentences.list_verdict_lines(a, b)))
    st.markdown(sentences.describe_causes(comparison.kernels, comparison.basis))
    st.caption(sentences.count_significant(comparison.kernels))


def _draw_command(comparison: compared_report.Compared, mine: Settled, theirs: Settled) -> None:
    """Draw the command that prints the same rows."""
    with st.expander("Run this on the command line", icon=":material/terminal:"):
        st.code(sentences.build_command(comparison.basis, mine.report_id, theirs.report_id, mine.params, theirs.params),
                language=None, wrap_lines=True)  # fmt: skip
        st.caption(
            "With --fail-above 5% the exit status is 1 if B's wall time (per step if both have steps) is"
            " more than 5 % above A's, and 2 after an error. --metric checks another figure, such as kernels."
        )


draw_page()
