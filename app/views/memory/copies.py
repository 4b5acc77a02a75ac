"""Copies and memory sets: what they reached of their link, which of them held the host, and how size matters."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import charts, tables, theme
from app.ui import format as fmt
from app.views.memory import charts as charts_memory
from app.views.memory import words

COLUMNS = (
    tables.Col("direction", "Direction", width=190),
    tables.Col("total_ns", "Total", kind="duration", help="Sum of durations on the GPU"),
    tables.Col("count", "Operations", kind="count"),
    tables.Col("bytes", "Size", "B", "Sum of sizes", "count"),
    tables.Col("avg_bytes", "Average size", "B", "Mean size of an operation", "count"),
    tables.Col("gb_per_s", "Bandwidth", "GB/s", "Sum of sizes over sum of durations", "number"),
    tables.Col(
        "peak_pct",
        "Of the peak",
        kind="bar",
        help="Of the GPU's memory for copies inside it, which read and write and so move twice their size, and for"
        " memory sets; else of one direction of the link to the host",
        width=130,
    ),
    tables.Col(
        "peak_gb_per_s",
        "Peak",
        "GB/s",
        "GPU memory as the report states it; the link to the host as the GPU's data sheet states it, for no report of"
        " nsys does: a slot or a machine may be slower",
        "number",
    ),
)
KIND_COLUMNS = (
    tables.Col("direction", "Direction", width=150),
    tables.Col("source", "From", help="Kind of memory of the source"),
    tables.Col("destination", "To", help="Kind of memory of the destination, or of the memory that is set"),
    tables.Col("function", "Function", width=180),
    tables.Col("held", "Held the host", help="Why the host had to wait in the call", width=160),
    tables.Col("call_ns", "Host", kind="duration", help="Sum of durations of the calls on the host"),
    tables.Col("longest_call_ns", "Longest call", kind="duration", like="call_ns"),
    tables.Col("copy_ns", "GPU", kind="duration", help="Sum of durations on the GPU", like="call_ns"),
    tables.Col("count", "Operations", kind="count"),
    tables.Col("bytes", "Size", "B", "Sum of sizes", "count"),
    tables.Col("gb_per_s", "Bandwidth", "GB/s", "Sum of sizes over sum of durations on the GPU", "number"),
)
HELD = {"synchronous": "Synchronous", "pageable": "Pageable memory"}
ADVICE = {
    "pageable": "asynchronous {noun} with pageable memory held the host for {time}: pinned memory lets it go on"
    " (cudaMallocHost; in PyTorch pin_memory and non_blocking).",
    "synchronous": "synchronous {noun} held the host for {time}: cudaMemcpyAsync with pinned memory on a stream of"
    " its own lets host and kernels go on.",
}
SET = "GPU memory, written"
DRAWN = 12
"""Operations from which on a chart says more than the table."""


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where there are no copies."""
    rows = session.run(report_id, "copies")
    st.subheader("Copies", anchor=False)
    if rows.empty:
        st.caption("No copy or memory set here.")
        return
    rates = rows.assign(gb_per_s=rows["bytes_per_s"] / 1e9, peak_gb_per_s=rows["peak_bytes_per_s"] / 1e9)
    tables.table(rates, words.present(rates, COLUMNS), key="copies", download="copies.csv")
    if rows["peak_bytes_per_s"].isna().any():
        st.caption(
            "No peak is given where it is not known: neither the report nor this GPU's data sheet tells the link."
        )
    if int(rows["count"].sum()) >= DRAWN:
        _sizes(report_id, rows)
    _kinds(session.run(report_id, "copy_kinds"))


def _sizes(report_id: str, rows: pd.DataFrame) -> None:
    cells = session.run(report_id, "copy_sizes")
    if cells.empty:
        return
    colors = dict(zip(rows["direction"], _repeated(words.palette(), len(rows)), strict=True))
    order = {direction: number for number, direction in enumerate(rows["direction"])}
    cells = cells.sort_values("direction", key=lambda names: names.map(order), kind="stable")
    figure = charts_memory.copy_sizes(cells, _peaks(rows), colors, theme.theme())
    st.markdown("**Bandwidth by size**")
    st.plotly_chart(figure, config=charts.CONFIG, width="stretch", key="copy-sizes")


def _repeated(colors: list[str], times: int) -> list[str]:
    return [colors[number % len(colors)] for number in range(times)]


def _peaks(rows: pd.DataFrame) -> list[tuple[str, float]]:
    """The lines of the chart: what copies may reach at most, in terms of their own size."""
    found = {}
    for _, row in rows.dropna(subset=["peak_bytes_per_s", "bytes_per_s"]).iterrows():
        twice = float(row["traffic_bytes_per_s"]) > 1.5 * float(row["bytes_per_s"])
        title = "GPU memory, read and written" if twice else SET if row["direction"] == "memset" else "Host link"
        found[title] = float(row["peak_bytes_per_s"]) / (2 if twice else 1)
    if len(found) > 1:
        found.pop(SET, None)  # so near the line of copies that both could not be read
    return list(found.items())


def _kinds(rows: pd.DataFrame) -> None:
    st.markdown("**By kind of memory and call**")
    for kind, sentence in ADVICE.items():
        held = rows[rows["held"] == kind]
        if len(held):
            st.markdown(
                f":material/hourglass_top: {fmt.count(held['count'].sum())} "
                + sentence.format(
                    noun="operation" if int(held["count"].sum()) == 1 else "operations",
                    time=fmt.duration(held["call_ns"].sum()),
                )
            )
    if rows["function"].notna().any() and rows["held"].isna().all():
        st.caption("No copy held the host: none was synchronous, and none asynchronous with pageable memory.")
    shown = rows.assign(held=rows["held"].map(HELD), gb_per_s=rows["bytes_per_s"] / 1e9)
    columns = words.present(shown, KIND_COLUMNS)
    tables.table(shown, columns, key="copy-kinds", download="copies_by_kind.csv", height=words.height(len(shown)))
