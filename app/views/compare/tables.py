"""Tables of the Compare page: kernels, phases, memory operations and totals."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from app.selection import compared_report
from app.ui import chart_element, page_elements, table_columns, tables, theme
from app.ui import format as fmt
from app.views.compare import charts, sentences
from profiledb.studies.compare import matching, totals
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.compare.columns import COPIES, KERNELS, PHASES, list_names
from profiledb.studies.compare.verdict import format_percent_change

KERNEL_COLUMNS = table_columns.choose_columns(
    KERNELS,
    table_columns.use("name", click="shows the spread of its durations", width=230),
    table_columns.use("change_ns", signed=True),
    table_columns.use("share_change_points", signed=True),
    "a_total_ns",
    "b_total_ns",
    "a_calls",
    "b_calls",
    "a_avg_ns",
    "b_avg_ns",
    table_columns.use("avg_change_pct", signed=True),
    table_columns.Col(
        "told",
        "Verdict",
        help="Not significant if the interval includes 0. One in twenty unchanged kernels looks changed. Two"
        " captures cannot show how much runs vary.",
        width=124,
    ),
    table_columns.Col(
        "interval",
        "95 % interval",
        unit="%",
        help="Interval for the change of the mean, from a bootstrap over at most 2,000 sampled launches per side",
        width=136,
    ),
    table_columns.Col(
        "size", "Launch size", help="Threads per launch, B relative to A. Another number means other work.", width=95
    ),
    table_columns.use("class", width=184),
)
SHARE_COLUMNS = table_columns.choose_columns(
    KERNELS,
    "a_share_pct",
    "b_share_pct",
)
PHASE_COLUMNS = table_columns.choose_columns(
    PHASES,
    table_columns.use("pattern", width=260),
    table_columns.use("status", width=70),
    "a_instances",
    "b_instances",
    "a_kernel_ns",
    "b_kernel_ns",
    table_columns.use("change_kernel_pct", signed=True),
    "a_busy_ns",
    "b_busy_ns",
    "a_cpu_ns",
    "b_cpu_ns",
    table_columns.use("change_cpu_pct", signed=True),
)
COPY_COLUMNS = table_columns.choose_columns(
    COPIES,
    table_columns.use("direction", width=180),
    "a_total_ns",
    "b_total_ns",
    table_columns.use("change_total_pct", signed=True),
    "a_count",
    "b_count",
    "a_bytes",
    "b_bytes",
    "a_bytes_per_s",
    "b_bytes_per_s",
)
IN = {"same": "both", "new": "only B", "gone": "only A"}
FORMS: dict[str, Callable[[Any], str]] = {
    "ns": fmt.duration,
    "%": fmt.percent,
    "bytes": fmt.bytes_,
    "count": lambda n: f"{n:,.1f}".removesuffix(".0"),
}
TITLES = {
    "wall_ns": "Wall time",
    "busy_ns": "GPU busy",
    "idle_ns": "GPU idle",
    "kernel_ns": "Kernel time",
    "launches": "Kernel launches",
    "copy_ns": "Memcpy time",
    "copies": "Memcpy operations",
    "copy_bytes": "Memcpy size",
    "memset_ns": "Memset time",
    "memsets": "Memset operations",
    "memset_bytes": "Memset size",
    "steps": "Steps",
    "step_median_ns": "CPU time per step, median",
    "between_steps_ns": "Time between steps",
    "busy_pct": "GPU busy (%)",
    "kernels": "Different kernels",
}
FACTS = ("wall_ns", "busy_ns", "kernel_ns", "launches", "copy_ns", "memset_ns", "idle_ns")


def get_title(measure: str) -> str:
    """Return the display title of a measure (``totals.MEASURES``)."""
    for ending, words_of in ((totals.PER_STEP, " per step"), (totals.OUTSIDE, " outside steps")):
        if measure.endswith(ending):
            return TITLES[measure.removesuffix(ending)] + words_of
    return TITLES[measure]


def draw_facts(comparison: compared_report.Compared) -> None:
    """Draw the key figures of B, per step if both reports have steps, each with its change from A."""
    ending = totals.PER_STEP if matching.find_units(comparison.a, comparison.b) else ""
    rows = {str(row["measure"]): row for _, row in comparison.summary.iterrows()}
    with st.container(horizontal=True, gap="large"):
        for row in (rows[name + ending] for name in FACTS if name + ending in rows):
            form = FORMS[row["unit"]]
            a, b = fmt.number(row["a"]), fmt.number(row["b"])
            shown, before = (fmt.MISSING if value is None else form(value) for value in (b, a))
            page_elements.draw_fact(get_title(row["measure"]), shown, f"A: {before}", _format_change(row))


def _format_change(row: "pd.Series[Any]") -> str:
    if row["unit"] == "%":
        return sentences.format_points(row["change"]) if pd.notna(row["change"]) else ""
    return format_percent_change(row["change_pct"]) if pd.notna(row["change_pct"]) else ""


def draw_kernels(comparison: compared_report.Compared) -> None:
    """Draw the kernels of both reports; a click on one shows the spread of its durations."""
    rows = comparison.kernels
    st.subheader("Kernels", anchor=False)
    shown = rows.assign(
        interval=pd.Series(
            [sentences.format_interval(row) or None for _, row in rows.iterrows()], rows.index, dtype=object
        ),
        size=[sentences.compute_size_change(row) for _, row in rows.iterrows()],
        told=rows["verdict"].where(rows["status"] == "same", rows["status"]),
    )
    columns = [c for c in KERNEL_COLUMNS if comparison.basis == "share" or c.name != "share_change_points"]
    if comparison.basis == "share":
        columns[1:3] = [columns[2], *SHARE_COLUMNS]
    if not shown["size"].any():
        columns = [c for c in columns if c.name != "size"]
    hidden = [name for name in list_names(KERNELS) if name not in {column.name for column in columns}]
    chosen = tables.draw_table(
        shown, columns, key="compare-kernels", download="compare_kernels.csv", select=True, hidden=hidden
    )
    if chosen is not None:
        _draw_spread(comparison, rows.iloc[chosen])


def _draw_spread(comparison: compared_report.Compared, row: "pd.Series[Any]") -> None:
    a, b = compare_rows.sample_durations(comparison.a, comparison.b, comparison.basis, row)
    st.markdown(f"**Durations of {fmt.plain(fmt.shortened(row['name'], 100))}**")
    figure = charts.plot_distributions(a, b, theme.get_theme())
    chart_element.draw_chart(figure, "compare-spread")
    summaries = [
        (
            f"{letter}: median {fmt.duration(row[f'{side}_median_ns'])}, P95 {fmt.duration(row[f'{side}_p95_ns'])}"
            f" ({fmt.count(len(drawn))} launches drawn)"
        )
        for letter, side, drawn in (("A", "a", a), ("B", "b", b))
        if len(drawn)
    ]
    st.caption("  ·  ".join(summaries))
    st.code(row["demangled"], language=None, wrap_lines=True)


def draw_phases(comparison: compared_report.Compared) -> None:
    """Draw the outermost ranges."""
    st.subheader("Phases", anchor=False)
    if comparison.phases.empty:
        st.caption("Neither report has ranges in its selection.")
        return
    st.caption("Ranges at the two outermost levels of each selection, by name. A star stands for a changing number.")
    shown = comparison.phases.assign(status=comparison.phases["status"].map(IN))
    tables.draw_table(
        shown, table_columns.select_filled(shown, PHASE_COLUMNS), key="compare-phases", download="compare_phases.csv"
    )


def draw_copies(comparison: compared_report.Compared) -> None:
    """Draw memcpy operations by direction, and memsets."""
    st.subheader("Memcpy and memset", anchor=False)
    if comparison.copies.empty:
        st.caption("Neither selection has memcpy or memset operations.")
        return
    tables.draw_table(
        comparison.copies,
        table_columns.select_filled(comparison.copies, COPY_COLUMNS),
        key="compare-copies",
        download="compare_copies.csv",
    )


def draw_totals(comparison: compared_report.Compared) -> None:
    """Draw every measure that has one value per report."""
    with st.expander("All totals", icon=":material/functions:"):
        cells = [
            [
                get_title(row["measure"]),
                *(fmt.MISSING if pd.isna(row[side]) else FORMS[row["unit"]](row[side]) for side in "ab"),
                _format_change(row),
            ]
            for _, row in comparison.summary.iterrows()
        ]
        frame = pd.DataFrame(
            [[fmt.plain(cell) for cell in row] for row in cells], columns=["Figure", "A", "B", "Change"]
        )
        st.table(frame.set_index("Figure"), border="horizontal")
