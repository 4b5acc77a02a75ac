"""Memcpy and memset: bandwidth relative to the link, which of them blocked the CPU, and the effect of size."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, theme
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable
from app.ui.charts import NEUTRAL
from app.views.memory import charts

COPIES = AnalysisTable("copies", filled=True, hidden=("contradiction",))
KINDS = AnalysisTable("copy_kinds", filled=True, few=True, download="copies_by_kind.csv")
HELD = {"synchronous": "Synchronous", "pageable": "Pageable memory"}
ADVICE = {
    "pageable": (
        "async {noun} from or to pageable memory blocked the CPU for {time}. Use pinned memory (cudaMallocHost;"
        " PyTorch: pin_memory=True, non_blocking=True)."
    ),
    "synchronous": (
        "synchronous {noun} blocked the CPU for {time}. Use cudaMemcpyAsync with pinned memory on a separate stream."
    ),
}
SET = "GPU memory, written"
DRAWN = 12
"""Fewest operations for which a chart says more than the table."""
_COLORS = {
    "Host-to-Device": 3, "Device-to-Host": 2, "Device-to-Device": 4, "Peer-to-Peer": 7, "memset": 0,
    "Unified Host-to-Device": 6, "Unified Device-to-Host": 1, "Unified Device-to-Device": 5,
}  # fmt: skip
"""Index of each direction in the category colors, near its color on the timeline; others are gray."""


def draw_copies(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if the report has no copies."""
    rows = session.run(report_id, "copies")
    st.subheader("Memcpy and memset", anchor=False)
    if rows.empty:
        st.caption("No memcpy or memset in this selection.")
        return
    COPIES.table(rows)
    for _, row in rows.dropna(subset=["contradiction"]).iterrows():
        st.warning(fmt.plain(f"{row['direction']}: {row['contradiction']}"), icon=":material/warning:")
    known = rows["peak_bytes_per_s"].notna()
    if known.any() and not known.all():
        st.caption("Peak is empty where neither the report nor the GPU's data sheet states the link.")
    if int(rows["count"].sum()) >= DRAWN:
        _draw_sizes(report_id, rows)
    _draw_kinds(session.run(report_id, "copy_kinds"))


def _draw_sizes(report_id: str, rows: pd.DataFrame) -> None:
    cells = session.run(report_id, "copy_sizes")
    if cells.empty:
        return
    colors = {direction: _get_color(direction) for direction in rows["direction"]}
    order = {direction: number for number, direction in enumerate(rows["direction"])}
    cells = cells.sort_values("direction", key=lambda names: names.map(order), kind="stable")
    figure = charts.copy_sizes(cells, _list_peaks(rows), colors, theme.get_theme())
    st.markdown("**Bandwidth by size**")
    chart_element.draw_chart(figure, "copy-sizes")


def _get_color(direction: str) -> str:
    place = _COLORS.get(direction)
    return NEUTRAL[theme.get_theme()] if place is None else theme.get_category_colors()[place]


def _list_peaks(rows: pd.DataFrame) -> list[tuple[str, float]]:
    """Return the limit lines of the chart: the highest bandwidth a copy can reach, counted in bytes copied."""
    peaks = {}
    for _, row in rows.dropna(subset=["peak_bytes_per_s", "bytes_per_s"]).iterrows():
        twice = float(row["traffic_bytes_per_s"]) > 1.5 * float(row["bytes_per_s"])
        title = "GPU memory, read and written" if twice else SET if row["direction"] == "memset" else "Host link"
        peaks[title] = float(row["peak_bytes_per_s"]) / (2 if twice else 1)
    if len(peaks) > 1:
        peaks.pop(SET, None)  # too close to the line of copies to read both
    return list(peaks.items())


def _draw_kinds(rows: pd.DataFrame) -> None:
    st.markdown("**By memory kind and function**")
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
        st.caption("No copy blocked the CPU: none was synchronous, and none used pageable memory.")
    KINDS.table(rows.assign(held=rows["held"].map(HELD)))
