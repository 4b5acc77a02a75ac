"""Duration of the instances of a range or of the steps of a loop: key figures, a sentence and a chart."""

from functools import partial

import pandas as pd
import streamlit as st

from app import session
from app.selection import chart_drag, kernel_links
from app.ui import format as fmt
from app.ui import page_elements, theme
from app.views.ranges import charts

RULE = (
    "Leading instances count as warm-up if they exceed the median of the later two thirds by more than a tenth"
    " and by more than three median absolute deviations. At most the first third can."
)


def draw_pace(report_id: str, path: str) -> None:
    """Draw the durations of the instances of one path."""
    spread = session.run(report_id, "range_spread", path=path)
    rows = session.run(report_id, "range_instances", path=path)
    if len(rows) < 2 or spread.empty:
        return
    st.markdown("**Time per instance**")
    page_elements.draw_facts(list_facts(spread))
    if words := _sum_up_instances(spread, rows):
        st.caption(words, help=RULE)
    draw_chart(rows, _read_steady_median(spread), key="pace")
    times = (rows["gpu_ns"] if _choose_measure(spread) == "gpu" else rows["cpu_ns"]).astype(float).fillna(-1)
    slow = rows.iloc[int(times.to_numpy().argmax())]
    kernel_links.to_timeline(
        report_id, "Slowest instance on the timeline", slow["start_ns"], slow["start_ns"] + slow["cpu_ns"]
    )


def draw_chart(rows: pd.DataFrame, median_ns: float | None, *, key: str, title: str = charts.IN_ORDER) -> None:
    """Draw the instances by ``nth`` (``title`` names that axis), and say if only some of them are drawn.

    Dragging over instances selects their time window.
    """
    figure = charts.plot_pace(rows, median_ns, theme.get_theme(), title)
    chart_drag.draw_chart(figure, key, partial(find_window, rows))
    total = int(rows["instances"].iloc[0])
    if total > len(rows):
        st.caption(
            f"{fmt.count(len(rows))} of {fmt.count(total)} instances are drawn: the shortest and the longest in"
            " each interval."
        )


def find_window(rows: pd.DataFrame, first: float, last: float) -> tuple[float, float] | None:
    """Return the time window (ns of the capture) of the instances between two axis positions; None without any."""
    inside = rows[rows["nth"].astype(float).between(first, last)]
    if inside.empty:
        return None
    return float(inside["start_ns"].min()), float((inside["start_ns"] + inside["cpu_ns"]).max())


def list_facts(spread: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the key figures of the GPU durations if there are any, else of the CPU durations."""
    row = spread[spread["measure"] == _choose_measure(spread)].iloc[0]
    side = "GPU time" if row["measure"] == "gpu" else "CPU time"
    return [
        ("Median", fmt.duration(row["median_ns"]), f"Half of the instances take at most this long: {side}."),
        ("Min", fmt.duration(row["min_ns"]), f"Shortest {side}."),
        ("P95", fmt.duration(row["p95_ns"]), "95 % of the instances take at most this long."),
        ("Max", fmt.duration(row["max_ns"]), f"Longest {side}."),
        ("Variation", fmt.percent(row["cv_pct"]), "Coefficient of variation: standard deviation over mean."),
    ]


def _choose_measure(spread: pd.DataFrame) -> str:
    return "gpu" if "gpu" in set(spread["measure"]) else "cpu"


def _read_steady_median(spread: pd.DataFrame) -> float | None:
    return fmt.number(spread.loc[spread["measure"] == _choose_measure(spread), "steady_median_ns"].iloc[0])


def _sum_up_instances(spread: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Say how many instances look like warm-up, ran GPU work, and were never closed."""
    row = spread[spread["measure"] == _choose_measure(spread)].iloc[0]
    total, warmup = int(rows["instances"].iloc[0]), int(spread["warmup"].max())
    sentences = []
    if warmup:
        verb = "looks" if warmup == 1 else "look"
        sentences.append(
            f"{fmt.count(warmup)} of {fmt.count(total)} instances {verb} like warm-up. Without"
            f" {'it' if warmup == 1 else 'them'} the median is {fmt.duration(row['steady_median_ns'])} and the"
            f" variation {fmt.percent(row['steady_cv_pct'])}."
        )
    if row["measure"] == "gpu" and int(row["instances"]) < total:
        sentences.append(f"{fmt.count(row['instances'])} of {fmt.count(total)} instances ran GPU work.")
    if unclosed := int(row["unclosed"]):
        sentences.append(f"{fmt.count(unclosed)} never closed and {'does' if unclosed == 1 else 'do'} not count here.")
    return " ".join(sentences)
