"""Parts shared by the rooflines of Compute and Systems reports: controls, points, roofs, table."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, table_columns, theme, url_widgets, verdicts
from app.ui import format as fmt
from app.ui.charts import NEUTRAL
from app.ui.roofline import charts
from app.ui.roofline.charts import Roof
from app.ui.roofline.points import Point
from app.ui.verdicts import LEVELS

PRECISIONS = {
    "main": "Each kernel's own",
    "fp64": "FP64",
    "fp32": "FP32",
    "fp16": "FP16",
    "tensor": "Tensor cores",
}
CLASS, LIMIT = "Class", "Limit"
_HOVER_CHARS = 72
FLAGS = "ncu --set roofline"
ABOVE = 3
"""Maximum number of kernels above their roof that are listed by name."""
GAP = (table_columns.use("roof_gap_ns", width=136), table_columns.make_bar("pct_of_roof", width=140))
"""Columns that both rooflines show first: the possible gain."""
MEASURES = (
    table_columns.use("verdict", width=120),
    table_columns.Col("roof_title", "Roof", help="The roof above it: memory left of the ridge point", width=130),
    "intensity",
    "flops_per_s",
    "bytes_per_s",
    table_columns.use("precision", name="precision_title", width=150),
    table_columns.Col("reading", "Why", help="The verdict, with what roofline and warps say beside it", width=420),
    table_columns.use("note", width=220),
)
"""Columns of ``figures`` that both rooflines show."""


@dataclass(frozen=True)
class Choice:
    """The settings of the controls above the chart."""

    level: str
    precision: str
    color: str
    search: str
    classes: tuple[str, ...]

    def keeps(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that match the search and the classes."""
        matches = rows
        if self.search:
            text = matches["name"].fillna("") + " " + matches["full_name"].fillna("")
            matches = matches[text.str.contains(self.search, case=False, regex=False)]
        return matches[matches["class"].isin(self.classes)] if self.classes else matches


def choose(classes: Sequence[str]) -> Choice:
    """Draw the controls, whose values live in the URL."""
    titles = theme.get_class_titles()
    with st.container(horizontal=True, vertical_alignment="bottom", key="roofline-choice"):
        level = st.segmented_control(
            "Memory level", list(LEVELS), format_func=LEVELS.__getitem__, required=True,
            help="The traffic that the work is divided by: intensity is work per byte",
            **url_widgets.bind_option("level", list(LEVELS), "dram", title=LEVELS.__getitem__),
        )  # fmt: skip
        precision = st.selectbox(
            "Precision", list(PRECISIONS), format_func=PRECISIONS.__getitem__,
            **url_widgets.bind_option(
                "precision", list(PRECISIONS), next(iter(PRECISIONS)), title=PRECISIONS.__getitem__
            ), width=180, help="A kernel's own precision is the one in which it comes nearest to a peak of the GPU",
        )  # fmt: skip
        color = st.segmented_control(
            "Color by", [CLASS, LIMIT], required=True, **url_widgets.bind_option("color", [CLASS, LIMIT], CLASS)
        )
        search = st.text_input(
            "Search", placeholder="Part of a kernel's name", width=200, **url_widgets.bind_text("search")
        )
        chosen = st.multiselect(
            "Classes", list(classes), format_func=lambda name: titles.get(name, name),
            **url_widgets.bind_options("classes", list(classes)), placeholder="All classes", width=240,
        )  # fmt: skip
    return Choice(level or "dram", precision or "main", color or CLASS, search.strip(), tuple(chosen))


def select_drawable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a place on the chart, by their work and traffic or by their traffic alone."""
    works = (rows["intensity"] > 0) & (rows["flops_per_s"] > 0)
    return rows[(works | ((rows["flops_per_s"] == 0) & (rows["bytes_per_s"] > 0))).fillna(False)]


def select_working(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that do floating-point work, and so are compared with a compute roof."""
    return rows[rows["flops_per_s"] > 0]


def sort_by_gap(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by the time that each would save at its roof, largest first."""
    return rows.sort_values("roof_gap_ns", ascending=False, na_position="last", kind="stable")


def sum_gap(rows: pd.DataFrame) -> str:
    """Return the total time that the rows would save at their roofs."""
    known = rows["roof_gap_ns"].dropna()
    return fmt.duration(known.sum() if len(known) else None)


def make_point(row: Mapping[Any, Any], choice: Choice, weight: float, more: Sequence[str] = (), **look: Any) -> Point:
    """Convert a row of ``ncu_roofline`` or ``time_weighted_roofline`` to a point; ``more`` are escaped hover lines."""
    group, color = choose_color(row, choice.color)
    works = row["flops_per_s"] > 0
    rate = f"{fmt.rate(row['bytes_per_s'])} {LEVELS[row['level']]}"
    lines = [
        f"<b>{fmt.escape_plotly(fmt.shortened(row['name'], 60))}</b>",
        *more,
        f"{fmt.flops(row['flops_per_s'])} {fmt.escape_plotly(get_precision_title(row))}"
        if works
        else _say_nothing_drawn(choice),
        f"{rate}, {fmt.significant(row['intensity'])} FLOP/byte" if works else rate,
        _format_roof_share(row),
        "<br>".join(fmt.escape_plotly(line) for line in textwrap.wrap(row["reading"] or "Not measured", _HOVER_CHARS)),
        fmt.escape_plotly(row["note"]) if isinstance(row.get("note"), str) else "",
    ]
    return Point(
        key=str(row["launch_id"]), name=row["name"], group=group, color=color,
        x=float(row["intensity"]) if works else 0.0, y=float(row["flops_per_s"]),
        bytes_per_s=0.0 if works else float(row["bytes_per_s"]), weight=weight,
        hover="<br>".join(line for line in lines if line),
        estimated=bool(row["estimated"]), impossible=isinstance(row["above_roof"], str), **look,
    )  # fmt: skip


def _say_nothing_drawn(choice: Choice) -> str:
    return f"No {'floating-point' if choice.precision == 'main' else PRECISIONS[choice.precision]} arithmetic"


def _format_roof_share(row: Mapping[Any, Any]) -> str:
    """Return the share of the roof for hovering, or "" where it is unknown or impossible."""
    share = fmt.number(row["pct_of_roof"])
    return "" if share is None else f"<b>{fmt.percent(share)}</b> of {verdicts.get_roof_title(row['roof'])}"


def add_readings(rows: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict sentence of each launch as column ``reading``; ``limits`` is the result of ``ncu_limits``."""
    readings = {row["launch_id"]: verdicts.describe_verdict(row) for row in limits.to_dict("records")}
    return rows.assign(reading=[readings.get(launch, "") for launch in rows["launch_id"]])


def choose_color(row: Mapping[Any, Any], by: str) -> tuple[str, str]:
    """Return the legend group and the color of a row."""
    if by == LIMIT:
        return row["verdict"], verdicts.get_color(row["verdict"])
    name = row["class"] if isinstance(row["class"], str) else "other"
    return theme.get_class_titles().get(name, name), theme.get_class_colors().get(name, NEUTRAL[theme.get_theme()])


def get_precision_title(row: Mapping[Any, Any]) -> str:
    """Return the title of a precision, with the data types of tensor work: ``Tensor cores (bf16)``."""
    title = PRECISIONS[row["precision"]]
    return f"{title} ({row['types']})" if isinstance(row.get("types"), str) else title


def find_roofs(everything: pd.DataFrame, shown: pd.DataFrame, level: str) -> tuple[list[Roof], list[Roof]]:
    """Return the memory and compute roofs: medians over the launches, whose clocks differ slightly.

    Args:
        everything: rows of all levels and precisions.
        shown: the rows on the chart; their roofs count as used.
        level: the selected memory level.
    """
    known = everything.dropna(subset=["peak_flops_per_s", "peak_bytes_per_s"])
    measured = known.groupby(_title_rows(known), observed=True)["sm_clock_hz"].median()
    clocks = {str(name): fmt.number(clock) for name, clock in measured.items()}
    memory = known.groupby("level", observed=True)["peak_bytes_per_s"].median()
    # Tensor core peaks depend on the input type, so each type in use gets its own roof.
    busy = known[known["types"].notna() | ((known["precision"] == "tensor") & (known["flops_per_s"] > 0))]
    rest = known[known["precision"] != "tensor"]
    peaks = pd.concat([rest, busy if len(busy) else known[known["precision"] == "tensor"]])
    compute = peaks.groupby(_title_rows(peaks), observed=True)["peak_flops_per_s"].median()
    used = set(_title_rows(shown))
    return (
        [Roof(LEVELS[str(name)], float(peak), name == level) for name, peak in memory.items()],
        [Roof(str(name), float(peak), name in used, clocks[str(name)]) for name, peak in compute.items()],
    )


def _title_rows(rows: pd.DataFrame) -> "pd.Series[Any]":
    """Return ``precision_title`` for all rows at once: a large report has tens of thousands."""
    titles = rows["precision"].map(PRECISIONS)
    return titles.where(rows["types"].isna(), titles + " (" + rows["types"].astype("string") + ")")


def show_chart(chart: charts.Roofline, key: str) -> str | None:
    """Draw the chart; return the key of the clicked point, if any."""
    clicked = chart_element.draw_clickable(charts.plot_roofline(chart, theme.get_theme()), key)
    _explain_signs(chart.points)
    if any(roof.clock_hz is not None for roof in chart.compute):
        st.caption("Compute peaks are those at the SM clock that ncu measured, which can differ from the data sheet's.")
    return clicked


def _explain_signs(points: Sequence[Point]) -> None:
    """Explain the marker shapes that are on the chart."""
    signs = ["Point area: time; a click opens the kernel"]
    signs += ["a diamond is an estimate"] * any(point.estimated and not point.impossible for point in points)
    signs += ["a cross lies above its roof, which is impossible"] * any(point.impossible for point in points)
    signs += ["kernels without arithmetic sit at 0 FLOP/byte; their height is their bandwidth"] * any(
        point.bytes_per_s for point in points
    )
    signs += ["hollow is the baseline"] * any(point.hollow for point in points)
    st.caption("; ".join(signs) + ".")


def draw_above(rows: pd.DataFrame) -> None:
    """Warn about kernels above their roof, with the numbers behind that and the likely cause."""
    wrong = rows.dropna(subset=["above_roof"])
    if wrong.empty:
        return
    lines = [f"- {fmt.plain(row['name'])}: {fmt.plain(row['above_roof'])}" for _, row in wrong.head(ABOVE).iterrows()]
    if len(wrong) > ABOVE:
        lines.append(f"- and {fmt.count(len(wrong) - ABOVE)} more")
    st.warning("Above the roof, which is impossible:\n" + "\n".join(lines), icon=":material/warning:")


def add_titles(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the display titles of roof and precision, for a table."""
    return rows.assign(
        precision_title=_title_rows(rows).where(rows["flops_per_s"] > 0),
        roof_title=rows["roof"].map(verdicts.get_roof_title, na_action="ignore"),
    )
