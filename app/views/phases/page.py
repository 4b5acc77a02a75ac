"""The Phases page: GPU time in matmul and in the rest, by phase and class, for one report or two side by side."""

import streamlit as st

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from app.ui.report_titles import make_titles
from app.views.phases import detected_iterations, mfu, one_report, report_side, top_kernels, two_reports
from app.views.phases.report_side import Side
from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.rules.phases import ALL, NONE

OTHER = "other"  # query parameter: the report to compare with
_PICKER = "split-other"


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if the report has no kernels."""
    manifest = session.report()
    whole = report_side.read_own(manifest)
    if whole.phases.empty:
        st.info("No kernels run in this selection.")
        page_selection.clear_button("split-clear")
        return
    chosen = _choose_other(manifest)
    _explain_missing_phases(whole)
    pair = _pair_sides(manifest, chosen, whole) if chosen else None
    if pair:
        two_reports.draw_reports(*pair)
        top_kernels.draw_kernels(*pair)
        mfu.draw_mfu(pair[0])
    else:
        one_report.draw_report(whole)
        top_kernels.draw_kernels(whole)
        mfu.draw_mfu(whole)


def _choose_other(manifest: Manifest) -> Manifest | None:
    """Draw the selector and return the report to compare with, kept in the URL; reports of the same GPU come first."""
    known = session.list_about(TIMELINE, without=manifest.id, named_by=OTHER)
    order = sorted(known, key=lambda key: known[key].gpu != manifest.gpu)
    asked = st.query_params.get(OTHER, "")
    chosen = next(iter(session.read_named(OTHER, known)), None)
    if asked and not chosen:
        st.warning(f"No other report {fmt.plain(fmt.shortened(asked, 40))} to compare with.")
    st.session_state[_PICKER] = chosen
    if not known:
        return None
    st.selectbox(
        "Compare with", order, index=None, key=_PICKER, placeholder="Compare with another report", width=420,
        format_func=make_titles(known).__getitem__, on_change=_write_chosen, label_visibility="collapsed",
    )  # fmt: skip
    return known[chosen] if chosen else None


def _write_chosen() -> None:
    if chosen := st.session_state[_PICKER]:
        st.query_params[OTHER] = chosen
    else:
        st.query_params.pop(OTHER, None)


def _pair_sides(manifest: Manifest, chosen: Manifest, whole: Side) -> tuple[Side, Side] | None:
    """Pair both reports under distinct labels; if the other has no kernels, warn and return None."""
    first, second = report_side.choose_labels(manifest.name, chosen.name)
    try:
        other = report_side.read_other(chosen, second, whole.params)
        if len(other.phases):
            return Side(manifest, first, whole.params), other
        reason = "Its selection runs no kernels."
    except NotCapturedError as error:
        reason = f"{fmt.plain(error.message)} {fmt.sentence(error.hint)}"
    except WarpdeckError as error:
        reason = fmt.plain(error.message)
    st.warning(f"{fmt.plain(fmt.visible(chosen.name))} cannot be compared with this report. {reason}")
    return None


def _explain_missing_phases(side: Side) -> None:
    """Explain why there are no phases, and offer time windows instead."""
    if set(side.phases["phase"]) - {ALL, NONE}:
        return
    if page_selection.run_or_none(side.report.id, "range_paths", []).empty:
        command = session.to_record(side.report.id, "range")
        st.info(
            "This report has no ranges, so there are no phases and no steps; the figures cover the whole"
            " selection. Choose a time window, or mark phases with ranges in the program and capture again"
            + (" with:" if command else ": they were traced already.")
        )
        if command:
            st.code(command, language=None, wrap_lines=True)
    else:
        st.info(
            "No range around these kernels is named like a phase, so the figures cover the whole selection."
            " Phase names come from `profiledb/rules/phases.toml` and from your own file, set in"
            " `WARPDECK_PHASES`."
        )
    _offer_stretches(side.report.id)
    detected_iterations.draw_iterations(side.report.id)


def _offer_stretches(report_id: str) -> None:
    """Offer thirds of the time in which the GPU worked; the selection bar takes any other time window."""
    busy = session.run_whole(report_id, "gpu_busy").dropna(subset=["first_ns", "active_ns"])
    if busy.empty:
        return
    low = int(busy["first_ns"].min())
    high = int((busy["first_ns"] + busy["active_ns"]).max())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Choose a time window in the bar above, or a third of the time in which the GPU worked:", width="content"
        )
        for number, name in enumerate(("First third", "Middle third", "Last third")):
            ends = [low + (high - low) * place // 3 for place in (number, number + 1)]
            ends[1] += number == 2  # include an operation that starts at the very end
            page_selection.draw_stretch_button(name, f"split-third-{number}", *ends)


draw_page()
