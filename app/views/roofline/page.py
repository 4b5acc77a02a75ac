"""Roofline of a Compute report: every launch under the roofs of its GPU, with other reports as baselines."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, profile_links, table_columns, tables, theme, url_widgets, verdicts
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui.roofline import charts, elements
from app.ui.roofline.charts import Roofline
from app.ui.roofline.elements import Choice
from app.ui.roofline.points import Point
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import LAUNCHES

COLUMNS = table_columns.choose_columns(
    "ncu_roofline",
    table_columns.use("launch_id", width=56),
    table_columns.use("name", click="opens the launch", width=260),
    *elements.GAP,
    "duration_ns",
    table_columns.use("class", width=184),
    *elements.MEASURES,
    table_columns.use("grid", width=100),
    table_columns.use("block", width=90),
)
MOST_OTHERS = 4
WITH = "with"  # query parameter: the baselines


def draw_page() -> None:
    manifest = session.report()
    try:
        everything = _read_rows(manifest.id)
    except NotCapturedError:
        _draw_speed_of_light(manifest.id)
        return
    launches = session.run(manifest.id, "ncu_speed_of_light")
    choice = elements.choose(sorted(everything["class"].dropna().unique()))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        everything = _choose_range(everything)
        others = _choose_baselines(manifest.id)
    matches = choice.keeps(_select_rows(everything, choice))
    if matches.empty:
        st.info("No launches match these filters.")
        return
    _draw_facts(matches, everything, len(launches))
    shown = elements.select_drawable(matches)
    _draw_chart(manifest.id, everything, shown, choice, others)
    elements.draw_above(shown)
    ordered = elements.sort_by_gap(matches)
    chosen = tables.draw_table(
        elements.add_titles(ordered), COLUMNS, key="roofline",
        download="roofline.csv", select=True, hidden=("flops_per_s", "bytes_per_s", "peak_flops_per_s", "full_name"),
    )  # fmt: skip
    if chosen is not None:
        profile_links.open_launch(manifest.id, int(ordered["launch_id"].iloc[chosen]))


def _read_rows(report_id: str) -> pd.DataFrame:
    rows = session.run(report_id, "ncu_roofline").rename(columns={"kernel": "full_name"})
    return elements.add_readings(rows, session.run(report_id, "ncu_limits"))


def _select_rows(everything: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """Return the rows of the chosen memory level and precision."""
    rows = everything[everything["level"] == choice.level]
    wanted = rows["is_main"] if choice.precision == "main" else rows["precision"] == choice.precision
    return rows[wanted.astype(bool)]


def _choose_range(rows: pd.DataFrame) -> pd.DataFrame:
    """Draw the range selector and return the rows inside the chosen range."""
    paths = rows["nvtx"].dropna().unique()
    known = sorted({"/".join(path.split("/")[: depth + 1]) for path in paths for depth in range(path.count("/") + 1)})
    if not known:
        return rows
    chosen = st.selectbox(
        "Range", known, index=None, placeholder="All ranges", width=360, **url_widgets.bind_option("inside", known)
    )
    if chosen is None:
        return rows
    inside = rows["nvtx"].fillna("")
    return rows[(inside == chosen) | inside.str.startswith(f"{chosen}/")]


def _choose_baselines(report_id: str) -> list[str]:
    """Draw the baseline selector and return the ids of the chosen reports; the URL keeps them."""
    known = session.list_about(LAUNCHES, without=report_id, named_by=WITH)
    if not known:
        return []
    asked = session.read_named(WITH, known)
    chosen = st.multiselect(
        "Baselines",
        list(known),
        default=asked[:MOST_OTHERS],
        format_func=lambda key: fmt.visible(known[key].name),
        key="baselines",
        placeholder="Other Compute reports",
        max_selections=MOST_OTHERS,
        width=420,
    )
    if chosen != st.query_params.get_all(WITH):  # by id, because two reports may have the same name
        st.query_params[WITH] = chosen
    return chosen


def _draw_facts(matches: pd.DataFrame, everything: pd.DataFrame, launches: int) -> None:
    known = matches.dropna(subset=["pct_of_roof"])
    time = known["duration_ns"].sum()
    share = (known["pct_of_roof"] * known["duration_ns"]).sum() / time if time else None
    memory = 100 * known.loc[known["roof"].isin(verdicts.LEVELS), "duration_ns"].sum() / time if time else None
    ui.draw_facts(
        [
            ("Launches", f"{fmt.count(len(matches))} of {fmt.count(launches)}", "Launches that match the filters."),
            ("Time", fmt.duration(matches["duration_ns"].sum()), "Sum of their durations under ncu's clock control."),
            ("Roof efficiency", fmt.percent(share), "Mean over launches with a known roof, weighted by time."),
            ("Under the memory roof", fmt.percent(memory), "Share of time left of the ridge point."),
            ("Saving at the roof", elements.sum_gap(matches), "Time saved if every launch reached its roof."),
        ]
    )  # fmt: skip
    lacking = launches - everything["launch_id"].nunique()
    if lacking > 0 and "inside" not in st.query_params:
        lack = "lacks" if lacking == 1 else "lack"
        st.markdown(f"{fmt.counted(lacking, 'launch')} {lack} work or traffic. Capture again with `{elements.FLAGS}`.")


def _draw_chart(
    report_id: str, everything: pd.DataFrame, shown: pd.DataFrame, choice: Choice, others: list[str]
) -> None:
    points = [_make_point(row, choice, hollow=False) for _, row in shown.iterrows()]
    memory, compute = elements.find_roofs(everything, elements.select_working(shown), choice.level)
    arrows: list[tuple[int, int]] = []
    for other in others:
        try:
            theirs = _read_rows(other)
        except NotCapturedError:
            st.caption(f"{fmt.plain(session.library().find(other).name)} has too few metrics for a roofline.")
            continue
        drawn = elements.select_drawable(choice.keeps(_select_rows(theirs, choice)))
        arrows += _pair_launches(drawn, len(points), shown)
        points += [_make_point(row, choice, hollow=True, report=other) for _, row in drawn.iterrows()]
    if not points:
        st.info("No launch here has both work and traffic measured.")
        return
    clicked = elements.show_chart(Roofline(points, memory, compute, arrows), f"roofline-{choice.level}")
    if clicked is not None:
        of, launch = clicked.rsplit("/", 1)
        profile_links.open_launch(of or report_id, int(launch))


def _make_point(row: "pd.Series[Any]", choice: Choice, *, hollow: bool, report: str = "") -> Point:
    whose = [f"Launch {row['launch_id']}, {fmt.duration(row['duration_ns'])}" + (", baseline" if hollow else "")]
    return elements.make_point(
        row.to_dict() | {"launch_id": f"{report}/{row['launch_id']}"},
        choice,
        float(row["duration_ns"]),
        whose,
        hollow=hollow,
    )


def _pair_launches(before: pd.DataFrame, first: int, after: pd.DataFrame) -> list[tuple[int, int]]:
    """Pair each baseline launch with this report's launch of the same kernel, in order of launch."""
    places = {key: place for place, key in enumerate(_number_occurrences(after))}
    return [(first + place, places[key]) for place, key in enumerate(_number_occurrences(before)) if key in places]


def _number_occurrences(rows: pd.DataFrame) -> list[tuple[str, str, int]]:
    counted = rows.groupby(["name", "precision"], observed=True).cumcount()
    return list(zip(rows["name"], rows["precision"], counted, strict=True))


def _draw_speed_of_light(report_id: str) -> None:
    """Plot compute against memory throughput instead of a roofline, and show the ncu flags that a roofline needs."""
    st.info("This report lacks the FLOP and traffic counters that a roofline needs. To record them, run:")
    st.code(elements.FLAGS, language=None)
    rows = session.run(report_id, "ncu_speed_of_light")
    known = rows.dropna(subset=["compute_pct", "memory_pct"])
    if known.empty:
        st.caption("The speed of light was not collected either.")
        return
    st.subheader("Speed of light", anchor=False)
    points = [
        Point(
            key=f"/{row['launch_id']}", name=row["name"], group=row["verdict"],
            color=verdicts.get_color(row["verdict"]), x=float(row["memory_pct"]), y=float(row["compute_pct"]),
            weight=fmt.number(row["duration_ns"]) or 0.0,
            hover=f"<b>{fmt.escape_plotly(fmt.shortened(row['name'], 60))}</b><br>Launch {row['launch_id']},"
            f" {fmt.duration(row['duration_ns'])}<br>{fmt.escape_plotly(row['reason'])}<br>"
            f"{row['verdict']}",
        )
        for _, row in known.iterrows()
    ]  # fmt: skip
    picked = chart_element.draw_clickable(charts.plot_speed_of_light(points, theme.get_theme()), "speed-of-light")
    st.caption("Dotted: 60 % and 80 % of the peaks, the thresholds of the verdict. Click a point to open its launch.")
    if picked is not None:
        profile_links.open_launch(report_id, int(picked.rsplit("/", 1)[1]))


draw_page()
