"""Compare two launches, from this or another Compute report: key figures and all metrics."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import table_columns, tables, url_widgets
from app.views.kernel_profiles import elements
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import LAUNCHES, Manifest

OTHER, OTHER_LAUNCH = "other", "other_launch"
"""Query parameters: the report and the launch to compare with."""

FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("duration_ns", "Duration", fmt.duration),
    ("compute_pct", "Compute", fmt.percent),
    ("memory_pct", "Memory", fmt.percent),
    ("dram_pct", "DRAM", fmt.percent),
    ("dram_bytes_per_s", "DRAM traffic", fmt.rate),
    ("l1_hit_pct", "L1 hits", fmt.percent),
    ("l2_hit_pct", "L2 hits", fmt.percent),
    ("occupancy_pct", "Occupancy, achieved", fmt.percent),
    ("theoretical_occupancy_pct", "Occupancy, theoretical", fmt.percent),
    ("registers", "Registers per thread", fmt.count),
    ("waves_per_sm", "Waves", lambda waves: f"{waves:,.2f}"),
)
TEXTS = (("verdict", "Verdict"), ("grid", "Grid"), ("block", "Block"))
COLUMNS = table_columns.choose_columns(
    "ncu_metrics",
    table_columns.use("name", width=330),
    table_columns.use("value", label="This", width=140),
    table_columns.use("value", name="other", label="Other", width=140),
    table_columns.Col("difference", "Difference", kind="number", help="This minus the other", width=140),
    table_columns.Col("relative_pct", "Relative", kind="percent", help="Relative difference", width=110),
    table_columns.use("unit", width=90),
)


def draw_comparison(report_id: str, launch: "pd.Series[Any]", rows: pd.DataFrame) -> None:
    """Compare one launch (a row of ``ncu_speed_of_light``) with another; ``rows`` are all launches of the report."""
    chosen = _choose_launch(report_id, int(launch["launch_id"]), rows)
    if chosen is None:
        return
    other_id, other = chosen
    st.caption(
        f"This is launch {int(launch['launch_id'])}, the other {_title_one(other)}. Differences: this minus the other."
    )
    frame = list_figures(launch, other)
    st.table(frame.set_index("Figure"), border="horizontal")
    _draw_metrics(report_id, int(launch["launch_id"]), other_id, int(other["launch_id"]))


def _choose_launch(report_id: str, launch: int, rows: pd.DataFrame) -> "tuple[str, pd.Series[Any]] | None":
    """Draw the two selectors and return the chosen report and launch; the URL keeps the choice."""
    known = session.list_about(LAUNCHES, named_by=OTHER)
    named = next(iter(session.read_named(OTHER, known)), None)
    if OTHER in st.query_params and not named:
        st.info("The report in this address is no longer in the library.")
    with st.container(horizontal=True):
        other_id = _draw_selector(
            "Compare with",
            list(known),
            named or report_id,
            OTHER,
            lambda key: _title_report(known[key], report_id),
            340,
        )
        try:
            others = rows if other_id == report_id else session.run(other_id, "ncu_speed_of_light")
        except NotCapturedError:
            others = rows.head(0)
        launches = {int(row["launch_id"]): row for _, row in others.iterrows()}
        if other_id == report_id:
            launches.pop(launch, None)
        chosen = st.query_params.get(OTHER_LAUNCH, "")
        number = int(chosen) if chosen.isdecimal() and int(chosen) in launches else None
        picked = _draw_selector(
            "Launch", list(launches), number, OTHER_LAUNCH, lambda key: _title_one(launches[key], False), 340
        )
    if not launches:
        st.info("This report has no other launch. Choose another report.")
    elif picked is None:
        st.info("Choose a launch to compare with.")
    return (other_id, launches[picked]) if picked in launches else None


def _draw_selector(
    label: str, options: list[Any], value: Any, param: str, title: Callable[[Any], str], width: int
) -> Any:
    """Draw a select box that stores its choice in the query parameter ``param``."""
    key = f"select-{param}"
    st.session_state[key] = value if value in options else None
    return st.selectbox(
        label, options, index=None, key=key, format_func=title, width=width, on_change=_write_choice, args=(param, key)
    )


def _write_choice(param: str, key: str) -> None:
    chosen = st.session_state[key]
    if chosen is None:
        st.query_params.pop(param, None)
    else:
        st.query_params[param] = str(chosen)
    if param == OTHER:
        st.query_params.pop(OTHER_LAUNCH, None)


def _title_report(manifest: Manifest, own: str) -> str:
    parts = ["this report" if manifest.id == own else manifest.name, manifest.gpu]
    return "  ·  ".join(fmt.visible(part) for part in parts if part)


def _title_one(launch: "pd.Series[Any]", sentence: bool = True) -> str:
    name = f"{int(launch['launch_id'])}: {fmt.shortened(launch['name'], 60)}, {fmt.duration(launch['duration_ns'])}"
    return f"launch {fmt.plain(name)}" if sentence else name


def list_figures(this: "pd.Series[Any]", other: "pd.Series[Any]") -> pd.DataFrame:
    """Return the key figures of two ``ncu_speed_of_light`` rows as text: Figure, This, Other, Difference, Relative."""
    rows = [[title, _format_text(this[name]), _format_text(other[name]), "", ""] for name, title in TEXTS]
    for name, title, form in FIGURES:
        a, b = fmt.number(this[name]), fmt.number(other[name])
        if a is None and b is None:
            continue
        shown = [fmt.MISSING if value is None else form(value) for value in (a, b)]
        rows.append([title, *shown, *_format_difference(a, b, form)])
    cells = [[fmt.plain(cell) for cell in row] for row in rows]
    return pd.DataFrame(cells, columns=["Figure", "This", "Other", "Difference", "Relative"])


def _format_difference(a: float | None, b: float | None, form: Callable[[Any], str]) -> tuple[str, str]:
    """Format the absolute and the relative difference; percentages differ in points."""
    if a is None or b is None:
        return fmt.MISSING, fmt.MISSING
    sign = "+" if a > b else "−" if a < b else ""
    amount = f"{abs(a - b):.1f} points" if form is fmt.percent else form(abs(a - b))
    return f"{sign}{amount}", f"{sign}{100 * abs(a - b) / abs(b):.1f} %" if b else fmt.MISSING


def _format_text(value: object) -> str:
    return value if isinstance(value, str) else fmt.MISSING


def _draw_metrics(report_id: str, launch: int, other_id: str, other: int) -> None:
    search = st.text_input(
        "Search", placeholder="Part of a metric's name", width=360, **url_widgets.bind_text("metric")
    )
    mine, theirs = (
        elements.run_of_launch(report, "ncu_metrics", number)
        for report, number in ((report_id, launch), (other_id, other))
    )
    if mine.empty or theirs.empty:
        st.caption("One of the two reports has no metrics to compare.")
        return
    rows = join_differences(mine, theirs)
    shown = rows[rows["name"].str.contains(search.strip(), case=False, regex=False)]
    if shown.empty:
        st.info("No metric name of either launch contains this text.")
        return
    tables.draw_table(shown, COLUMNS, key="compared", download=f"ncu_compare_{launch}_{other}.csv")


def join_differences(mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Join two ``ncu_metrics`` results, largest relative difference first; NaN if only one side has the metric."""
    both = [frame[frame["value"].notna()][["name", "unit", "value"]] for frame in (mine, theirs)]
    rows = both[0].merge(both[1].rename(columns={"value": "other"}), on=["name", "unit"], how="outer")
    rows["difference"] = rows["value"] - rows["other"]
    rows["relative_pct"] = 100 * rows["difference"] / rows["other"].abs().where(rows["other"] != 0)
    order = rows["relative_pct"].abs().sort_values(ascending=False, na_position="last", kind="stable").index
    return rows.loc[order].reset_index(drop=True)
