"""The Scaling page: runs on different numbers of GPUs, the breakdown of a step, and which rank waits for which."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import chart_element, theme, url_widgets
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.views.scaling import charts, family, nccl, tables
from profiledb import config
from profiledb.errors import NotCapturedError
from profiledb.query import captures
from profiledb.studies.scaling import rows as scaling_rows
from profiledb.studies.scaling import sentences
from profiledb.studies.scaling.runs import Run, classify_scaling, find_base

KIND = "scaling"  # query parameter: strong or weak, if the program does not say
_MEASURES = {"Efficiency": "efficiency_pct", "Speed-up": "speedup"}
_NEEDED = (
    "Efficiency needs another run of the same program on another number of GPUs, ideally one. Name the reports"
    " NAME_1, NAME_4_rank0, NAME_4_rank1, ..., or choose reports above. To capture such runs:"
)
_CAPTURE = f"{config.WORKLOADS} profile ddp --ranks 4"
_HOW = (
    "Step times are means over steps and ranks of the whole report, without warm-up. Strong scaling divides one"
    " piece of work: efficiency N₀ · T(N₀) ÷ (N · T(N)). Weak scaling gives every rank the same work: efficiency"
    " T(N₀) ÷ T(N), and the speed-up is N ÷ N₀ times that. N₀ is the run with the fewest ranks on the curve, or"
    " the single-GPU run."
)


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if no kernel ran in the page's report."""
    manifest = session.report()
    named, cut = family.choose(manifest)
    runs, left_out = family.gather(named)
    own = next((run for run in runs if run.name == named[0].run), None)
    if own is None:
        session.run_whole(manifest.id, "rank_split")  # raises NotCapturedError
        raise NotCapturedError("No steps in this report.", command=session.name_program(manifest.id, captures.PROFILE))
    assumed = _ask_scaling_kind(runs)
    rows = scaling_rows.run_rows(runs, assumed)
    sentence = sentences.state_efficiency(rows) or sentences.state_parts(own)
    st.markdown(fmt.plain(sentence))
    _draw_facts(own, rows[rows["run"] == own.name].iloc[0])
    ranks = [report.id for report in named[1:] if report.run == named[0].run]
    if ranks:
        kernel_links.to_timelines(manifest.id, ranks, "Ranks on the Timeline", "collective")
    _draw_charts(runs, rows)
    tables.draw_runs(rows)
    _draw_notes([*sentences.state_gaps(runs), *sentences.state_kinds(runs, assumed), *left_out], rows, cut)
    nccl.draw_collectives(manifest, runs, own)


def _ask_scaling_kind(runs: Sequence[Run]) -> str:
    """Return strong or weak; ask the reader only if neither the programs nor their item counts tell."""
    bases = [(run, base) for run in runs if (base := find_base(run, runs))]
    if all(classify_scaling(run, base, "strong").told_by != "nothing" for run, base in bases):
        return "strong"
    chosen = st.segmented_control(
        "Scaling", ["strong", "weak"], required=True, **url_widgets.bind_option(KIND, ["strong", "weak"], "strong"),
        help="Strong: the ranks divide one piece of work. Weak: every rank has the same work. The programs do not"
        " say which it is.",
    )  # fmt: skip
    return str(chosen or "strong")


def _draw_facts(own: Run, row: "pd.Series[float]") -> None:
    """Draw the key figures of the run that the page's report belongs to."""
    facts = [("Ranks", str(own.size), "Ranks in the run of this report.")]
    if own.comparable:
        step = own.step_ns
        facts += [
            ("Step time", fmt.duration(step), "Mean over steps and ranks."),
            (
                "Compute",
                fmt.percent(100 * own.part("compute_ns") / step),
                "Non-communication kernels ran.",
            ),
            (
                "Exposed communication",
                fmt.percent(100 * own.part("exposed_ns") / step),
                f"Communication ran without compute; {fmt.duration(own.part('hidden_ns'))} more overlapped compute.",
            ),
            ("Idle", fmt.percent(100 * own.part("idle_ns") / step), "No kernel and no memcpy ran."),
        ]
    if pd.notna(row["efficiency_pct"]):
        facts.append(
            ("Efficiency", fmt.percent(row["efficiency_pct"]), f"Relative to {row['base']}, {row['scaling']}.")
        )
    if pd.notna(row["items_per_s"]):
        facts.append(
            (
                f"{str(row['items']).capitalize()}/s",
                f"{row['items_per_s']:,.0f}",
                "Over all ranks, as the program counts them.",
            )
        )
    ui.draw_facts(facts)


def _draw_charts(runs: Sequence[Run], rows: pd.DataFrame) -> None:
    with_base = rows["efficiency_pct"].notna()
    if not with_base.any():
        st.info(_NEEDED)
        st.code(_CAPTURE, language=None)
    else:
        st.subheader("Relative to ideal", anchor=False)
        measure = st.segmented_control(
            "Chart shows", list(_MEASURES), required=True, **url_widgets.bind_option("measure", list(_MEASURES),
            "Efficiency"),
            label_visibility="collapsed",
        )  # fmt: skip
        figure = charts.plot_scaling(
            rows, [run.curve for run in runs], _MEASURES[measure or "Efficiency"], theme.get_theme()
        )
        chart_element.draw_chart(figure, "scaling-chart")
    known = rows[rows["step_ns"].notna()]
    if len(known):
        st.subheader("Step time", anchor=False)
        figure = charts.plot_steps(known, theme.get_class_colors(), theme.get_theme())
        chart_element.draw_chart(figure, "steps-chart")


def _draw_notes(messages: Sequence[str], rows: pd.DataFrame, cut: int) -> None:
    more = (
        [f"{fmt.counted(cut, 'more report')} of this family {'is' if cut == 1 else 'are'} not shown. Choose above."]
        if cut
        else []
    )
    notes = [*messages, *more]
    cut_off = [f"{fmt.counted(len(notes) - 8, 'more such note')}."] if len(notes) > 8 else []
    if notes:
        st.caption("  \n".join(fmt.plain(note) for note in [*notes[:8], *cut_off]))
    st.caption(_HOW if rows["efficiency_pct"].notna().any() else _HOW.split(" Strong scaling", maxsplit=1)[0])


draw_page()
