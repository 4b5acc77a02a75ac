"""NCCL across the ranks of a run: which rank waits for which, and the bandwidth of each operation."""

from collections.abc import Sequence

import streamlit as st

from app import session
from app.ui import chart_element, charts, share_bar, table_columns, tables, theme
from app.ui import format as fmt
from app.views.scaling import charts as charts_scaling
from app.views.scaling import tables as scaling_tables
from profiledb.library.catalog import Manifest
from profiledb.studies.scaling import nccl, sentences
from profiledb.studies.scaling.runs import Run

RUN = "run"
"""Query parameter for the run, unless it is the run of the page's report."""
_PICKER = "scaling-run"
_HOW = (
    "Operations that carry a number in their process group are matched by it; else the nth operation of a kind and"
    " size in a step of one rank is matched with the nth on the other ranks. The last rank to arrive does not wait, so"
    " the shortest duration is the transfer time, and the rest of each rank's duration is its wait; no common clock is"
    " needed. Where compute runs at the same time, the transfer shares the GPU with it. Bus bandwidth: algorithm"
    " bandwidth times 2(n − 1) ÷ n for AllReduce (without in-network reduction), (n − 1) ÷ n for AllGather,"
    " ReduceScatter and AlltoAll, 1 for others (PERFORMANCE.md of nccl-tests)."
)


def draw_collectives(manifest: Manifest, runs: Sequence[Run], own: Run) -> None:
    """Draw the section, or say that no run used NCCL."""
    with_nccl = [run for run in runs if any(len(rank.ops) for rank in run.ranks)]
    st.subheader("Ranks and NCCL", anchor=False)
    if not with_nccl:
        _explain_no_times(manifest, runs)
        return
    run = _choose_run(with_nccl, own)
    if nccl.lacks_sizes(with_nccl):
        traced = bool(manifest.rows.get("operator"))  # by a profiler that does not record NVTX
        st.info(fmt.plain(sentences.NO_SIZES if traced else sentences.SIZES))
    rows = nccl.wait_rows(run)
    if rows.empty:
        _draw_one_rank(manifest, run)
        return
    st.markdown(fmt.plain(sentences.state_waits(run, rows)))
    color = theme.get_class_colors().get("communication", charts.ACCENT[theme.get_theme()])
    figure = charts_scaling.plot_waits(rows, color, theme.get_theme())
    chart_element.draw_chart(figure, "waits-chart")
    st.caption("Mean wait of each rank per step.")
    operations = nccl.build_operations(run)
    columns = table_columns.select_filled(operations, scaling_tables.OPERATION_COLUMNS)
    tables.draw_table(operations, columns, key="operations", download="nccl_operations.csv", hidden=("matched",))
    by_size = nccl.build_sizes(run)
    if len(by_size) > 1:
        st.markdown("**By message size**")
        columns = table_columns.select_filled(by_size, scaling_tables.SIZE_COLUMNS)
        tables.draw_table(
            by_size, columns, key="nccl-sizes", download="nccl_sizes.csv", height=share_bar.compute_height(len(by_size))
        )
    st.caption(_HOW)


def _choose_run(runs: Sequence[Run], own: Run) -> Run:
    """Draw the selector; return the run in the URL, else of the page's report, else the one with the most ranks."""
    known = {run.name: run for run in runs}
    usual = own.name if own.name in known else max(runs, key=lambda run: (run.size, run.name)).name
    asked = st.query_params.get(RUN, "")
    st.session_state[_PICKER] = asked if asked in known else usual
    if len(known) == 1:
        return runs[0]
    chosen = st.selectbox(
        "Run", list(known), key=_PICKER, format_func=fmt.visible, width=320, on_change=_write_run, args=(usual,),
        label_visibility="collapsed",
    )  # fmt: skip
    return known[chosen]


def _write_run(usual: str) -> None:
    if st.session_state[_PICKER] == usual:
        st.query_params.pop(RUN, None)
    else:
        st.query_params[RUN] = st.session_state[_PICKER]


def _draw_one_rank(manifest: Manifest, run: Run) -> None:
    """Draw the NCCL times of one report, without the other ranks."""
    st.markdown(
        "Waits and transfers need reports of at least two ranks with the same operations in their steps. The NCCL times"
        " of this report alone include the waits:"
        if any(rank.report == manifest.name for rank in run.ranks)
        else "Waits and transfers need reports of at least two ranks with the same operations in their steps."
    )
    rows = session.run_whole(manifest.id, "nccl_sum", mode="process", warmup="exclude")
    if len(rows):
        scaling_tables.ONE_RANK.table(rows)


def _explain_no_times(manifest: Manifest, runs: Sequence[Run]) -> None:
    rows = session.run_whole(manifest.id, "nccl_sum")
    if len(rows):
        st.caption("NCCL ran only outside of steps:")
        scaling_tables.ONE_RANK.table(rows)
    elif all(run.size == 1 for run in runs):
        st.caption("One GPU and no NCCL kernels: no rank waits for another.")
    else:
        st.caption("No NCCL kernels ran in these reports, so waits between ranks are unknown.")
