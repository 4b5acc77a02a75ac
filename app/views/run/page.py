"""The Run page: all ranks of one job, which of them holds up the others, and why."""

import math

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import url_widgets
from app.views.run import heat, tables
from profiledb.studies import run_lookup
from profiledb.studies.runs import sentences
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_list import Run
from profiledb.studies.runs.run_tables import MEASURES
from profiledb.studies.runs.straggler import Straggler
from profiledb.studies.trends.team_summary_store import open_summaries

_ORDERS = {"Rank": "rank", "Node": "node", "Value": "value"}
_HOW = (
    "Steps without warm-up. A rank waits in a collective from its arrival until the last rank has arrived: its duration"
    " minus the shortest over the ranks. Figures come from a summary of each rank, made at import: 2,000 steps, 20,000"
    " collectives and 100 kernels at most."
)


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if the report belongs to no run."""
    manifest = session.report()
    run = run_lookup.require_found(session.run_of(manifest.id))
    known = _read_answer(run)
    straggler = known.straggler
    st.markdown(known.headline)
    _draw_facts(run, known)
    for one in known.findings:
        if one.sentence != known.headline:
            (st.warning if one.severity == "warning" else st.markdown)(one.sentence)
    reports = _choose_reports(run, manifest.id, straggler)
    if len(reports) > 1:
        kernel_links.to_timelines(reports[0], reports[1:], "Ranks on the Timeline", "collective")
    _draw_heat(run, known, reports)
    tables.draw_ranks(known.ranks)
    tables.draw_communicators(known.communicators)
    tables.draw_kernels(known.kernels)
    tables.draw_earlier(run, known)
    tables.draw_recipe(run)
    st.caption("  \n".join(filter(None, [sentences.state_clocks(known.clocks), fmt.plain(_HOW)])))


def _read_answer(run: Run) -> RunAnswer:
    shelf = session.library()
    key = (shelf.folder, "run", open_summaries(shelf).version(), tuple(run.reports))
    return session.work_out(key, lambda: run_lookup.answer(shelf, run))


def _draw_facts(run: Run, known: RunAnswer) -> None:
    nodes, ranks = len(run.hosts), known.ranks
    facts = [
        ("Ranks", f"{len(run.ranks)} of {run.size}" if run.missing else str(run.size), "Ranks of the run."),
        ("Nodes", str(nodes) if nodes else fmt.MISSING, "Machines, as far as the reports tell them."),
        ("Step time", fmt.duration(run.step_ns), "Mean over steps and ranks."),
    ]
    means = {"exposed_ns": "Exposed communication", "wait_ns": "Waiting", "idle_ns": "Idle"}
    for column, title in means.items():
        mean = ranks[column].mean()
        share = fmt.percent(100 * mean / run.step_ns) if run.step_ns and pd.notna(mean) else fmt.MISSING
        facts.append((title, share, "Share of the step, mean over the ranks."))
    ui.draw_facts(facts)


def _choose_reports(run: Run, own: str, straggler: Straggler | None) -> list[str]:
    """Return the page's report and those to put below it: the straggler's, then those of the lowest ranks."""
    late = [one.report_id for one in run.ranks if straggler is not None and one.rank == straggler.rank]
    return list(dict.fromkeys([own, *late, *run.reports]))


def _draw_heat(run: Run, known: RunAnswer, reports: list[str]) -> None:
    """Draw the heat map; a click opens the rank's timeline at this step, above those of others, aligned."""
    titles = {MEASURES[measure]: measure for measure in known.heat}
    if not titles:
        return
    st.subheader("Ranks by step", anchor=False)
    with st.container(horizontal=True):
        title = st.segmented_control(
            "Shows", list(titles), required=True, label_visibility="collapsed",
            **url_widgets.bind_option("measure", list(titles), next(iter(titles))),
        )  # fmt: skip
        order = st.segmented_control(
            "Order", list(_ORDERS), required=True, label_visibility="collapsed",
            **url_widgets.bind_option("order", list(_ORDERS), "Rank"),
        )  # fmt: skip
    values = known.heat[titles[str(title)]]
    rows = heat.order_rows(values, [one.host for one in run.ranks], _ORDERS[str(order)])
    ranks, hosts = zip(*((run.ranks[row].rank or 0, run.ranks[row].host) for row in rows), strict=True)
    late = known.straggler.rank if known.straggler else None
    is_time = titles[str(title)].endswith("_ns")
    cell = heat.draw_map(values[rows], str(title), ranks, hosts, known.steps, late, is_time=is_time)
    if cell is None:
        return
    row, column = rows[cell[0]], cell[1]
    begin, length = float(known.starts[row, column]), float(known.heat["duration_ns"][row, column])
    if not math.isnan(begin + length):
        kernel_links.open_timelines(run.ranks[row].report_id, reports, "collective", begin, begin + length)


draw_page()
