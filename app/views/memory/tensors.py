"""Tensor memory: usage over time, what holds it at the peak, and whether it grows from step to step."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import chart_drag
from app.ui import format as fmt
from app.ui import page_elements, share_bar, table_columns, tables, theme, url_widgets
from app.ui.analysis_table import AnalysisTable
from app.views.memory import charts, stacks
from profiledb.query.analysis import rows_or_none

TITLE = "Tensor memory"
OPERATOR, MODULE, LINE, STACK = "Operator", "Module", "Source line", "Stack"
DEVICE, BY = "device_of", "tensors_by"
"""Query parameters: the device, and the grouping of the tables."""
STEADY = {"warmup": "exclude"}
"""Step analyses cover the whole capture without warm-up: in a part of it, other loops may look like steps."""
PARTS = {"before": "Allocated before the capture", "rest": "Others"}
PEAK = ("bytes", table_columns.make_bar("share_pct", width=150), "tensors", "largest_bytes")
ALLOCATIONS = (
    "bytes", table_columns.make_bar("share_pct", width=130), "allocations", "avg_bytes", "largest_bytes", "median_ns",
    "net_bytes",
)  # fmt: skip
LIFETIMES = AnalysisTable("tensor_lifetimes", filled=True, few=True)
STEPS = AnalysisTable("tensor_steps", changes={"change_bytes": {"signed": True}}, filled=True, few=True)


def draw_tensors(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if tensor memory was not captured."""
    devices = session.run(report_id, "tensor_memory")
    st.subheader(TITLE, anchor=False)
    if devices.empty:
        st.caption("No tensor was allocated on this GPU.")
        return
    names = [str(name) for name in devices["device"]]
    device = names[0]
    if len(names) > 1:
        device = st.segmented_control(
            "Device", names, required=True, **url_widgets.bind_option(DEVICE, names, names[0]),
            label_visibility="collapsed", format_func=fmt.visible,
        ) or names[0]  # fmt: skip
    facts = next(row for row in devices.itertuples() if row.device == device)
    growth = _select_device(rows_or_none(session.run_whole, report_id, "tensor_growth", **STEADY), device)
    _draw_facts(facts)
    _draw_over_time(report_id, facts)
    if len(growth):
        st.markdown(fmt.plain(describe_trend(growth.iloc[0])))
    _draw_tables(report_id, device)
    if len(growth):
        steps = _select_device(session.run_whole(report_id, "tensor_steps", **STEADY), device)
        st.markdown("**From step to step**")
        STEPS.table(steps)


def _select_device(rows: pd.DataFrame, device: str) -> pd.DataFrame:
    return rows[rows["device"] == device].reset_index(drop=True) if len(rows) else rows


def _draw_facts(facts: Any) -> None:
    whole = f" of {fmt.bytes_(facts.gpu_bytes)}" if fmt.number(facts.gpu_bytes) else ""
    more = fmt.number(facts.capture_peak_bytes) != fmt.number(facts.peak_bytes)
    elsewhere = f" In the whole capture: {fmt.bytes_(facts.capture_peak_bytes)}." if more else ""
    items = [
        (
            "Peak",
            fmt.bytes_(facts.peak_bytes),
            f"Most memory{whole} that tensors hold at once, first at {fmt.duration(facts.peak_ns)}.{elsewhere}",
        ),
        ("Share of GPU memory", fmt.percent(facts.peak_pct), f"The peak as a share{whole}."),
        ("Reserved", fmt.bytes_(facts.reserved_bytes), "Most memory that the allocator took from the device."),
        (
            "Reserved, unused",
            fmt.bytes_(facts.unused_bytes),
            f"Most reserved memory that no tensor held, cached or fragmented: {fmt.percent(facts.unused_pct)} of it.",
        ),
        ("Before the capture", fmt.bytes_(facts.before_bytes), "Held when the capture began."),
        ("At the end", fmt.bytes_(facts.end_bytes), "Held when the capture ended."),
        (
            "Allocations",
            fmt.count(facts.allocations),
            f"They add up to {fmt.bytes_(facts.allocated_bytes)}, with {fmt.counted(facts.releases, 'release')}.",
        ),
    ]
    page_elements.draw_facts([item for item in items if item[1] != fmt.MISSING])
    if int(facts.out_of_memory):
        st.warning(
            f"Out of memory: {fmt.counted(facts.out_of_memory, 'allocation')} failed.", icon=":material/warning:"
        )


def _draw_over_time(report_id: str, facts: Any) -> None:
    rows = _select_device(session.run(report_id, "tensor_over_time"), facts.device)
    last = max(fmt.number(facts.capture_ns) or 0.0, float(rows["time_ns"].max()))
    if last:
        peak = (fmt.number(facts.peak_ns), fmt.number(facts.peak_bytes))
        figure = charts.plot_tensors(rows, peak, last, theme.get_theme())
        chart_drag.draw_chart(figure, "tensor-memory")
    if not facts.is_stated:
        st.caption(
            "The trace does not state what is allocated: it is allocations minus releases, so what lives through the"
            " whole capture is missing."
        )


def describe_trend(row: Any) -> str:
    """Say in a sentence or two whether tensor memory grows from step to step."""
    first, last = fmt.bytes_(row["first_bytes"]), fmt.bytes_(row["last_bytes"])
    if pd.isna(row["grows"]):
        return f"Tensors hold {first} when the first step begins. Growth needs three steps or more to tell."
    if row["grows"]:
        interval = f"95 % interval {fmt.bytes_(row['low_bytes'])} to {fmt.bytes_(row['high_bytes'])}"
        return (
            f"Tensor memory grows by {fmt.bytes_(row['slope_bytes'])} per step ({interval}): from {first} when the"
            f" first step begins to {last} when the last one does. Look for tensors that are kept across steps:"
            " losses added up without .item() or .detach(), lists of outputs, caches."
        )
    if first == last:
        return f"Tensor memory is steady from step to step: {first} when each of the {row['steps']} steps begins."
    return (
        f"Tensor memory does not grow steadily: {first} when the first of {row['steps']} steps begins, {last} when the"
        " last one does."
    )


def _list_choices() -> list[str]:
    """Return the available groupings: operators and any modules of a trace; lines and stacks of a snapshot."""
    rows = session.report().rows
    if rows.get("tensor_segment"):
        return [LINE, STACK] if rows.get("python_frame") else []
    return [OPERATOR, MODULE] if rows.get("module_call") else [OPERATOR]


def _draw_tables(report_id: str, device: str) -> None:
    choices = _list_choices()
    by = choices[0] if choices else LINE
    if len(choices) > 1:
        by = st.segmented_control(
            "Group by", choices, required=True, **url_widgets.bind_option(BY, choices, by),
        ) or by  # fmt: skip
    asked = {} if by in choices[:1] or not choices else {"by": by.lower()}
    outside = "No stack" if by in (LINE, STACK) else f"Outside {by.lower()}s"
    peak = _select_device(session.run(report_id, "tensor_peak", **asked), device)
    st.markdown("**At the peak**")
    st.caption("Allocations that are alive when tensors hold most, by what allocated them.")
    if by in (LINE, STACK) and choices:
        stacks.draw_stacks(_select_device(session.run(report_id, "tensor_tree"), device))
    named = peak.assign(name=peak["name"].where(peak["part"] == "named", peak["part"].map(PARTS).fillna(outside)))
    columns = table_columns.choose_columns("tensor_peak", table_columns.use("name", label=by, width=360), *PEAK)
    _draw_table(named, columns, "tensor_peak")
    made = _select_device(session.run(report_id, "tensor_allocations", **asked), device)
    made = made.assign(name=made["name"].fillna(outside))
    st.markdown("**Allocations**")
    columns = table_columns.choose_columns(
        "tensor_allocations", table_columns.use("name", label=by, width=360), *ALLOCATIONS
    )
    _draw_table(made, columns, "tensor_allocations")
    largest = _select_device(session.run(report_id, "tensor_lifetimes"), device)
    st.markdown("**Largest tensors**")
    st.caption(f"The {len(largest)} largest. No start: allocated before the capture. No end: they outlive it.")
    LIFETIMES.table(largest)


def _draw_table(rows: pd.DataFrame, columns: Sequence[table_columns.Col], name: str) -> None:
    """Draw a table tall enough to show a few rows without scrolling."""
    height = share_bar.compute_height(len(rows))
    tables.draw_table(rows, table_columns.select_filled(rows, columns), key=name, download=f"{name}.csv", height=height)
