"""The tables of the Energy page: ranges, kernel classes, GPUs."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, charts, table_columns, tables, theme, url_widgets
from app.ui import format as fmt
from app.ui.charts import Part
from app.views.energy import sentences

BY = "by"
_BY = {"loop": "Loops merged", "path": "Each path", "name": "Each name"}
_KINDS = {"memcpy": "Memcpy", "memset": "Memset", "graph": "CUDA graphs", "idle": "Idle"}
_GRAYS = {
    "light": {"memcpy": "#7A828E", "memset": "#9AA1AB", "graph": "#656D78", "idle": "#D5D9DE"},
    "dark": {"memcpy": "#8B95A3", "memset": "#6B7480", "graph": "#A9B0BB", "idle": "#3A414B"},
}
_OFF = table_columns.Col("off_j", "±", unit="J", kind="number", help="Distance to the farther end of the interval")
_NOTE = table_columns.Col("note", "Note", help="Why there is no number, or which part it covers", width=170)
RANGES = table_columns.choose_columns(
    "energy_ranges",
    table_columns.use("range", width=280),
    table_columns.use("instances", width=76),
    table_columns.use("seconds", name="time_ns", kind="duration", unit=""),
    table_columns.use("joules", name="energy_j"),
    _OFF,
    table_columns.use("joules_each", name="each_j"),
    table_columns.Col("each_off_j", "± ", unit="J", kind="number", help="The same, per instance"),
    "mean_w",
    _NOTE,
)
CLASSES = table_columns.choose_columns(
    "energy_classes",
    table_columns.use("class", width=184),
    table_columns.Col("what", "Kind", width=110),
    table_columns.use("seconds", name="time_ns", kind="duration", unit=""),
    table_columns.use("joules", name="energy_j"),
    _OFF,
    "share_pct",
    "mean_w",
    _NOTE,
)
GPUS = table_columns.choose_columns(
    "energy_summary",
    table_columns.use("gpu_id", width=56),
    table_columns.use("gpu", width=170),
    table_columns.use("joules", name="energy_j"),
    _OFF,
    "mean_w",
    "covered_pct",
    table_columns.use("source", width=80),
    _NOTE,
)


def add_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that the tables show; values that cannot be measured are blank, with a note."""
    rows = rows.copy()
    notes = pd.Series([sentences.note(row) for _, row in rows.iterrows()], index=rows.index, dtype=object)
    is_measured = ~notes.isin([sentences.SHORT, sentences.OUTSIDE])
    rows["note"] = notes.replace("", None)
    rows["energy_j"] = rows["joules"].where(is_measured)
    off = [
        sentences.compute_error(row.joules, row.low_j, row.high_j) if fine else None
        for row, fine in zip(rows.itertuples(), is_measured, strict=True)
    ]
    rows["off_j"] = pd.Series(off, index=rows.index, dtype="Float64")
    for name in {"mean_w", "share_pct"} & set(rows):
        rows[name] = rows[name].where(is_measured)
    rows["time_ns"] = rows["seconds"].astype("Float64") * 1e9
    return rows


def draw_ranges(report_id: str) -> None:
    """Draw the table of ranges; raise NotCapturedError if the report has none."""
    st.subheader("Ranges", anchor=False)
    by = st.segmented_control(
        "Rows", list(_BY), format_func=_BY.__getitem__, required=True,
        **url_widgets.bind_option(BY, list(_BY), "loop", title=_BY.__getitem__),
        label_visibility="collapsed", help="Loops in one row: step_* for all numbered steps",
    )  # fmt: skip
    rows = session.run(report_id, "energy_ranges", by=by)
    if rows.empty:
        st.caption("This selection has no ranges.")
        return
    whole = add_shown(rows)
    whole["each_j"] = rows["joules_each"].where(whole["energy_j"].notna())
    whole["each_off_j"] = (whole["off_j"] / rows["instances"]).where(whole["each_j"].notna())
    raw = ("seconds", "covered_pct", "joules", "low_j", "high_j", "measurable")
    tables.draw_table(
        whole, table_columns.select_filled(whole, RANGES), key="energy-ranges", download="energy_ranges.csv", hidden=raw
    )
    total = int(rows["total"].iloc[0])
    if total > len(rows):
        st.caption(f"The longest {fmt.count(len(rows))} of {fmt.count(total)}.")


def draw_classes(report_id: str) -> None:
    """Draw the energy by kernel class, as a bar and as a table."""
    st.subheader("Kernel classes", anchor=False)
    rows = session.run(report_id, "energy_classes")
    if rows.empty:
        st.caption("The log does not cover this selection.")
        return
    titles = theme.get_class_titles()
    _draw_share_bar(rows)
    whole = add_shown(rows)
    whole["what"] = rows["class"].map(lambda name: "" if name in titles else _KINDS.get(name, name))
    whole["class"] = rows["class"].where(rows["class"].isin(list(titles)))
    raw = ("seconds", "joules", "low_j", "high_j", "measurable")
    tables.draw_table(
        whole,
        table_columns.select_filled(whole, CLASSES),
        key="energy-classes",
        download="energy_classes.csv",
        hidden=raw,
    )
    st.caption(
        "Overlapping work shares its energy, so all rows add up to the energy of the selection. Within one"
        " interval of the log, work is told apart by its time alone: a class that draws more power is not seen"
        " there, and a class whose kernels alternate with others is too short to measure, however often it runs."
        " Idle is time in which nothing in the selection ran."
    )


def _draw_share_bar(rows: pd.DataFrame) -> None:
    """Draw the kernel classes as shares, if any can be measured."""
    if not rows["measurable"].any():
        return
    titles, colors = theme.get_class_titles(), theme.get_class_colors() | _GRAYS[theme.get_theme()]
    parts = [
        Part(
            titles.get(row["class"], _KINDS.get(row["class"], fmt.visible(row["class"]))),
            float(row["share_pct"]),
            sentences.format_energy(row["joules"], row["low_j"], row["high_j"], measurable=row["measurable"]),
            colors.get(row["class"], colors["other"]),
        )
        for _, row in rows.iterrows()
    ]
    chart_element.draw_chart(charts.share_bar(parts, theme.get_theme()), "energy-share")


def draw_gpus(rows: pd.DataFrame) -> None:
    """Draw a table with one row per GPU, if there are several."""
    if len(rows) > 1:
        raw = ("seconds", "joules", "low_j", "high_j", "measurable", "lowest_w", "highest_w", "limit_w", "period_ns")
        tables.draw_table(add_shown(rows), GPUS, key="energy-gpus", download="energy_summary.csv", hidden=raw)
