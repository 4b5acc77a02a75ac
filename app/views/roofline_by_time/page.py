"""Roofline of a Systems report: its kernel times explained by ncu's measurements of the same kernels."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import report_links, table_columns, tables, verdicts
from app.ui.analysis_table import AnalysisTable
from app.ui.report_links import Candidate
from app.ui.roofline import elements
from app.ui.roofline.charts import Roofline
from app.ui.roofline.elements import Choice
from app.web import access
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest

LEAST_PCT = (
    0.05  # percent of kernel time below which coverage displays as 0.0 %; such a report is not chosen by default
)
NCU = "ncu"  # query parameter: the Compute report, unless it is the linked one

MATCHES = {"exact": "measured", "name": "other shapes", "none": "not measured"}
COLUMNS = table_columns.choose_columns(
    "time_weighted_roofline",
    table_columns.use("name", click="opens the kernel", width=250),
    *elements.GAP,
    "total_ns",
    table_columns.make_bar("share_pct", width=104),
    "calls",
    "avg_ns",
    "ncu_duration_ns",
    *elements.MEASURES,
    table_columns.use("class", width=184),
    table_columns.use("grid", width=100),
    table_columns.use("block", width=90),
    "launches",
)
REST = AnalysisTable(
    "time_weighted_roofline",
    "Not measured",
    changes={"match": {"name": "found", "help": "Other shapes: measured, with other grids or blocks"}},
    hidden=("full_name",),
    key="unmeasured",
    download="not_measured.csv",
)


def draw_page() -> None:
    manifest = session.report()
    if session.run(manifest.id, "kernels").empty:
        st.info("No kernels run in this selection.")
        page_selection.clear_button("roofline-clear")
        return
    compute = _compute_report(manifest)
    if compute is None:
        return
    classes = sorted(session.run(manifest.id, "kernels")["class"].dropna().unique())
    choice = elements.choose(classes)
    rows = _read_rows(manifest.id, compute, choice)
    _draw_coverage(manifest, compute, rows)
    measured = elements.sort_by_gap(choice.keeps(rows[rows["match"] == "exact"]))
    shown = elements.select_drawable(measured)
    _draw_chart(manifest.id, compute, shown, choice)
    elements.draw_above(shown)
    if lacking := int(measured["flops_per_s"].isna().sum()):
        st.markdown(f"{fmt.count(lacking)} measured kernels lack work or traffic. To record them, run:")
        st.code(elements.FLAGS, language=None)
    _draw_measured(manifest.id, measured)
    _draw_unmeasured(choice.keeps(rows[rows["match"] != "exact"]))


def _read_rows(report_id: str, compute: str, choice: Choice) -> pd.DataFrame:
    rows = session.run(report_id, "time_weighted_roofline", ncu=compute, level=choice.level, precision=choice.precision)
    return elements.add_readings(
        rows.rename(columns={"demangled": "full_name"}), session.run_whole(compute, "ncu_limits")
    )


def _compute_report(manifest: Manifest) -> str | None:
    """Return the Compute report to join: the linked one or the reader's choice; None if no report is usable."""
    candidates = {candidate.report.id: candidate for candidate in report_links.rank_candidates(manifest)}
    linked = session.read_links().get(manifest.id)
    useful = {
        key: candidate
        for key, candidate in candidates.items()
        if candidate.covered_pct or candidate.other_pct or key == linked
    }
    if not useful:
        st.info(
            "A roofline needs Nsight Compute measurements, and no Compute report in this library measured these"
            " kernels. Capture one of the same program, and drop it into the Library:"
        )
        st.code(f"{elements.FLAGS} -o report PROGRAM", language=None)
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        named = session.read_named(NCU, {key: one.report for key, one in useful.items()})
        asked = next((key for key in (*named, linked) if key in useful), _choose_best(useful))
        chosen = st.selectbox(
            "Compute report",
            list(useful),
            index=None if asked is None else list(useful).index(asked),
            key="compute-report",
            format_func=lambda key: _title_candidate(useful[key], key == linked),
            placeholder="Choose a Compute report",
            width=520,
        )
        if chosen is not None:
            if st.query_params.get(NCU, linked) != chosen:
                st.query_params[NCU] = chosen
            _offer_link(manifest, chosen, linked)
    if chosen is None:
        _explain_no_coverage(next(iter(useful.values())))
    return chosen


def _choose_best(useful: Mapping[str, Candidate]) -> str | None:
    """Return the candidate that covers most; None if its coverage would display as 0.0 %."""
    key, first = next(iter(useful.items()))
    return key if first.covered_pct >= LEAST_PCT else None


def _explain_no_coverage(nearest: Candidate) -> None:
    """Say that no Compute report covers these kernels, and how close the nearest one comes."""
    name, other = fmt.plain(nearest.report.shown_name), fmt.percent(nearest.other_pct)
    st.info(
        f"No Compute report in this library covers this report's kernel time. The nearest, {name}, covers"
        f" {other} of it, in other launch shapes only. Choose it above anyway, or capture one:"
    )
    st.code(f"{elements.FLAGS} -o report PROGRAM", language=None)


def _offer_link(manifest: Manifest, chosen: str, linked: str | None) -> None:
    """Draw the button that links the chosen Compute report to this report, for everyone."""
    if chosen == linked or not access.may_edit():
        return
    if st.button("Link", icon=":material/link:", help="Remember this pairing"):
        session.open_for_changes().link(manifest.id, chosen)
        st.rerun()


def _title_candidate(candidate: Candidate, linked: bool) -> str:
    return f"{fmt.visible(candidate.report.shown_name)}  ·  covers {fmt.percent(candidate.covered_pct)}" + (
        "  ·  linked" if linked else ""
    )


def _draw_coverage(manifest: Manifest, compute: str, rows: pd.DataFrame) -> None:
    """Draw how much of the kernel time ncu covers and how efficient it is, and list ambiguous matches."""
    row = session.run(manifest.id, "ncu_coverage", ncu=compute).iloc[0]
    known = rows.dropna(subset=["pct_of_roof"])
    time = known["total_ns"].sum()
    share = (known["pct_of_roof"] * known["total_ns"]).sum() / time if time else None
    memory = 100 * known.loc[known["roof"].isin(verdicts.LEVELS), "total_ns"].sum() / time if time else None
    ui.draw_facts(
        [
            ("Kernel time", fmt.duration(row["total_ns"]), "Sum of all kernel durations in the selection."),
            ("ncu covers", fmt.percent(row["covered_pct"]), "Share of kernel time in kernels that ncu measured."),
            ("Roof efficiency", fmt.percent(share), "Mean over covered kernels, weighted by their time here."),
            ("Under the memory roof", fmt.percent(memory), "Share of covered time left of the ridge point."),
            ("Saving at the roof", elements.sum_gap(rows), "Time that the covered kernels would save at their roofs."),
        ]
    )  # fmt: skip
    st.caption(
        f"ncu covers {fmt.percent(row['covered_pct'])} of kernel time: {fmt.count(row['covered_kernels'])} of"
        f" {fmt.counted(row['kernels'], 'kernel')}"
        + (f"; another {fmt.percent(row['name_only_pct'])} in other launch shapes" if row["name_only_pct"] else "")
        + ". Figures of ncu are those of the launch with the median duration; times are those of this report."
    )
    vague = rows.dropna(subset=["ambiguous"])
    if len(vague):
        with st.expander(f"{fmt.counted(len(vague), 'kernel')} matched several ncu launches"):
            for _, match in vague.head(20).iterrows():
                st.markdown(
                    f"- {fmt.plain(match['name'])} ({fmt.percent(match['share_pct'])},"
                    f" grid {fmt.plain(match['grid'])}): {fmt.plain(match['ambiguous'])}"
                )
            if len(vague) > 20:
                st.caption(f"and {fmt.count(len(vague) - 20)} more; the table has them all")


def _draw_chart(report_id: str, compute: str, shown: pd.DataFrame, choice: Choice) -> None:
    if shown.empty:
        st.info("ncu captured work and traffic for none of these kernels.")
        return
    points = [
        elements.make_point(
            row.to_dict() | {"launch_id": row["kernel"]}, choice, float(row["total_ns"]),
            [
                (
                    f"{fmt.duration(row['total_ns'])} in {fmt.counted(row['calls'], 'launch')},"
                    f" {fmt.percent(row['share_pct'])}"
                )
            ],
        )
        for _, row in shown.iterrows()
    ]  # fmt: skip
    try:
        everything = session.run_whole(compute, "ncu_roofline")
    except NotCapturedError:
        everything = shown
    memory, roofs = elements.find_roofs(everything, elements.select_working(shown), choice.level)
    clicked = elements.show_chart(Roofline(points, memory, roofs), f"roofline-{choice.level}")
    if clicked is not None:
        kernel_links.open_kernel(report_id, int(clicked))


def _draw_measured(report_id: str, rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    chosen = tables.draw_table(
        elements.add_titles(rows), COLUMNS, key="measured", download="time_weighted_roofline.csv", select=True,
        hidden=("match", "ambiguous", "flops_per_s", "bytes_per_s", "launch_id", "full_name"),
    )  # fmt: skip
    if chosen is not None:
        kernel_links.open_kernel(report_id, int(rows["kernel"].iloc[chosen]))


def _draw_unmeasured(rows: pd.DataFrame) -> None:
    """Draw the kernels that ncu did not measure, of which only the time is known."""
    if rows.empty:
        return
    st.subheader(REST.title, anchor=False)
    st.caption(f"{fmt.percent(rows['share_pct'].sum())} of kernel time is in launch shapes that ncu did not measure.")
    REST.table(rows.assign(found=rows["match"].map(MATCHES)))


draw_page()
