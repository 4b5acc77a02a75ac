"""Roofline of operators from their shapes and the GPU's peaks, without Nsight Compute."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui.analysis_table import AnalysisTable
from app.ui.roofline.charts import Roof, Roofline, plot_roofline
from app.ui.roofline.points import Point
from app.views.operators.tables import MOST

_POINTS = 150
_LEAST_PCT = 0.02
"""Smallest share of GPU time in percent for an operator to appear on the chart; the table lists all."""
_ABOVE = 3
_NONE = "Moves data only"
OPERATORS = AnalysisTable(
    "operator_roofline", hidden=("peak_flops_per_s", "peak_bytes_per_s", "peak_from", "above_roof", "gpu")
)


def draw_roofline(report_id: str) -> None:
    """Draw facts, chart and table."""
    rows = session.run(report_id, "operator_roofline", limit=MOST)
    if rows.empty:
        st.info("No operator here has shapes that a formula knows, and GPU time.")
        return
    st.caption(
        "Both axes are models: FLOPs by formulas of the shapes (unless the trace has them), bytes as if each input and"
        " output moved once. Real traffic can be more, or less where a cache holds inputs; Nsight Compute measures it."
    )
    _draw_facts(rows)
    _draw_chart(rows)
    _explain_above(rows)
    OPERATORS.table(rows.sort_values("roof_gap_ns", ascending=False, na_position="last", kind="stable"))


def _draw_facts(rows: pd.DataFrame) -> None:
    known = rows.dropna(subset=["pct_of_roof"])
    time = known["work_ns"].sum()
    share = (known["pct_of_roof"] * known["work_ns"]).sum() / time if time else None
    memory = 100 * known.loc[known["bound"] == "memory", "work_ns"].sum() / time if time else None
    ui.draw_facts(
        [
            ("GPU time covered", fmt.percent(rows["share_pct"].sum()), "Share of the GPU time of all operators."),
            ("Roof efficiency", fmt.percent(share), "Mean over operators with a known roof, weighted by time."),
            ("Under the memory roof", fmt.percent(memory), "Share of that time left of the ridge point."),
            ("Saving at the roof", fmt.duration(known["roof_gap_ns"].sum() if len(known) else None),
             "Time that these operators would save at their roofs."),
        ]
    )  # fmt: skip


def _draw_chart(rows: pd.DataFrame) -> None:
    drawn = rows[(rows["intensity"].notna()) & ((rows["flops_per_s"] > 0) | (rows["least_bytes_per_s"] > 0))]
    drawn = drawn[drawn["share_pct"] >= _LEAST_PCT].head(_POINTS)
    if drawn.empty:
        return
    precisions = [str(one) for one in drawn["precision"].dropna().unique()]
    colors = dict(zip([*sorted(precisions), _NONE], theme.get_category_colors(), strict=False))
    points = [_make_point(place, row, colors) for place, (_, row) in enumerate(drawn.iterrows())]
    roofs = drawn.dropna(subset=["precision", "peak_flops_per_s"]).groupby("precision")["peak_flops_per_s"].first()
    bandwidth = fmt.number(rows["peak_bytes_per_s"].iloc[0])
    memory = [] if bandwidth is None else [Roof("Memory", bandwidth, used=True)]
    compute = [Roof(str(name).upper(), float(peak), used=True) for name, peak in roofs.items()]
    chart_element.draw_chart(plot_roofline(Roofline(points, memory, compute), theme.get_theme()), "operator-roofline")
    gpu = rows["gpu"].iloc[0]
    roof_note = (
        f"Roofs: dense peaks of {fmt.plain(gpu)}" if isinstance(gpu, str) else "Roofs: none is known of this GPU"
    )
    few = f" The {fmt.count(len(drawn))} with the most time are drawn." if len(drawn) < len(rows) else ""
    st.caption(f"{roof_note}. Point area: time; operators that only move data sit at 0 FLOP/byte.{few}")


def _make_point(place: int, row: "pd.Series[Any]", colors: dict[str, str]) -> Point:
    works = float(row["flops_per_s"]) > 0
    group = str(row["precision"]) if isinstance(row["precision"], str) else _NONE
    share = fmt.number(row["pct_of_roof"])
    lines = [
        f"<b>{fmt.escape_plotly(fmt.shortened(row['operator'], 60))}</b>",
        fmt.escape_plotly(fmt.shortened(row["shape"], 60)) if isinstance(row["shape"], str) else "",
        f"{fmt.duration(row['work_ns'])} in {fmt.counted(row['calls'], 'call')}, {fmt.percent(row['share_pct'])}",
        f"{fmt.flops(row['flops_per_s'])}, {fmt.significant(row['intensity'])} FLOP/byte (model)" if works else "",
        f"{fmt.rate(row['least_bytes_per_s'])} at least (model)" if fmt.number(row["least_bytes_per_s"]) else "",
        "" if share is None else f"<b>{fmt.percent(share)}</b> of the {row['bound']} roof",
    ]
    return Point(
        key=str(place), name=row["operator"], group=group.upper() if works else _NONE, color=colors[group],
        x=float(row["intensity"]) if works else 0.0, y=float(row["flops_per_s"]), weight=float(row["work_ns"]),
        hover="<br>".join(line for line in lines if line), impossible=isinstance(row["above_roof"], str),
        bytes_per_s=0.0 if works else float(row["least_bytes_per_s"]),
    )  # fmt: skip


def _explain_above(rows: pd.DataFrame) -> None:
    """List the operators above their roof, with the calculation and the likely cause."""
    wrong = rows.dropna(subset=["above_roof"])
    if wrong.empty:
        return
    lines = [
        f"- {fmt.plain(row['operator'])}: {fmt.plain(row['above_roof'])}" for _, row in wrong.head(_ABOVE).iterrows()
    ]
    if len(wrong) > _ABOVE:
        lines.append(f"- and {fmt.count(len(wrong) - _ABOVE)} more")
    st.caption("Above the roof of the model:\n" + "\n".join(lines))
