"""Steps of a loop recognized from ranges: time per step, the first step against the rest, and variation."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from app import page_list, session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import page_elements
from app.ui.analysis_table import AnalysisTable
from app.views.ranges import charts, pace
from profiledb.studies.summary import headline

NONE = (
    "No steps were recognized. A range counts as a step if its name says step, iter, batch or epoch, with or"
    " without a number, or if it repeats at least three times and fills most of the range around it."
)
_NUMBER = re.compile(r"(?<!\d)(\d{1,9})(?: ?(?:/|of) ?\d+)?\D*$", re.ASCII)
STEPS = AnalysisTable("iterations", filled=True, hidden=("path", "thread", "is_warmup", "closed"), download="steps.csv")


def draw_steps(report_id: str, path: str) -> None:
    """Draw the section; steps that are the instances of ``path`` have their chart already."""
    host = session.run(report_id, "iteration_summary")
    st.subheader("Steps", anchor=False)
    if host.empty:
        st.caption(NONE)
        return
    rank = _choose_loop(host)
    side = session.run(report_id, "iteration_summary", by="gpu") if host["has_gpu"].any() else host
    own, other = (frame[frame["rank"] == rank].iloc[0] for frame in (side, host))
    gpu = fmt.number(own["median_ns"]) is not None and bool(other["has_gpu"])
    main = own if gpu else other
    page_elements.draw_facts(_list_facts(main, other, gpu=gpu))
    st.caption(_sum_up_steps(main, other, gpu=gpu), help=pace.RULE)
    rows = session.run(report_id, "iterations", rank=rank)
    if set(rows["path"]) == {path}:
        st.caption("The steps are the instances of the range above; their chart is there.")
    else:
        numbers = parse_numbers(rows["name"])
        drawn = rows.assign(nth=rows["number"] if numbers is None else numbers)
        title = charts.IN_ORDER if numbers is None else "Step"
        pace.draw_chart(drawn, fmt.number(main["median_ns"]), key="steps-pace", title=title)
    if step := headline.find_slowest(rows):
        st.page_link(
            page_list.get_script("kernels"), label=f":primary[Kernels of the slowest step: {fmt.plain(step.selected)}]",
            icon=":material/table_rows:", query_params=page_selection.link(report_id, range=step.selected),
            width="content",
        )  # fmt: skip
        slow = rows[(rows["gpu_ns"] == step.longest_ns) | (rows["cpu_ns"] == step.longest_ns)].iloc[0]
        kernel_links.to_timeline(
            report_id, "Slowest step on the timeline", slow["start_ns"], slow["start_ns"] + slow["cpu_ns"]
        )
    with st.expander("All steps" if int(rows["instances"].iloc[0]) == len(rows) else "Steps in the chart"):
        # A unique name identifies the step, and a position beside it could contradict the name.
        has_unique_names = rows["name"].is_unique
        kernel_links.draw_times(
            report_id, STEPS, rows, "step", "cpu_ns", without=("number",) if has_unique_names else ()
        )


def parse_numbers(names: "pd.Series[str]") -> list[int] | None:
    """Return the program's own step numbers (step_7, "step 7/100"); None unless every step has a distinct one."""
    matches = [_NUMBER.search(name) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if len(set(numbers)) == len(matches) else None


def _choose_loop(rows: pd.DataFrame) -> int:
    """Draw the selector of the recognized loops and return the chosen rank; a single loop needs no selector."""
    labels = {int(row["rank"]): _label_loop(row, alone=rows["thread"].nunique() == 1) for _, row in rows.iterrows()}
    if len(labels) == 1:
        st.caption(f"Ranges {labels[1]}")
        return 1
    return int(
        st.selectbox(
            "Steps",
            list(labels),
            format_func=labels.__getitem__,
            key="steps-rank",
            label_visibility="collapsed",
            width=480,
        )
    )


def _label_loop(row: "pd.Series[Any]", *, alone: bool) -> str:
    thread = "" if alone else f", thread {row['thread']}"
    return f"{fmt.plain(fmt.shortened(row['steps'], 60))}{thread} ({_count_steps(row)})"


def _count_steps(row: "pd.Series[Any]") -> str:
    """Return the number of steps counted; if all are warm-up, their number."""
    return f"{fmt.count(row['count'])} steps" if row["count"] else f"{fmt.count(row['warmup'])} warm-up"


def _list_facts(row: "pd.Series[Any]", host: "pd.Series[Any]", *, gpu: bool) -> list[tuple[str, str, str]]:
    side = "on the GPU, from first to last operation" if gpu else "on the CPU"
    facts = [("Steps", fmt.count(row["count"]), "Steps that count: closed, and not warm-up.")]
    if gpu:
        facts.append(("GPU time per step", fmt.duration(row["median_ns"]), f"Median {side}, without warm-up."))
    return [
        *facts,
        ("CPU time per step", fmt.duration(host["median_ns"]), "Median time between start and end, without warm-up."),
        ("First step", fmt.duration(row["first_ns"]), f"The first one {side}."),
        ("Min", fmt.duration(row["min_ns"]), f"Shortest {side}, without warm-up."),
        ("Max", fmt.duration(row["max_ns"]), f"Longest {side}, without warm-up."),
        (
            "Variation",
            fmt.percent(row["cv_pct"]),
            "Coefficient of variation: standard deviation over mean, without warm-up.",
        ),
        (
            "Rate",
            _format_rate(row["per_second"]),
            "From the start of the first step after warm-up to the end of the last.",
        ),
    ]


def _format_rate(per_second: Any) -> str:
    value = fmt.number(per_second)
    return fmt.MISSING if value is None else f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} / s"


def _compute_first_ratio(row: "pd.Series[Any]") -> float | None:
    first, median = fmt.number(row["first_ns"]), fmt.number(row["median_ns"])
    return first / median if first and median else None


def _compare_first_step(row: "pd.Series[Any]", host: "pd.Series[Any]") -> str:
    """Compare the first step with the rest, on the CPU if only that shows its warm-up."""
    ratio, on_host = _compute_first_ratio(row), _compute_first_ratio(host)
    if ratio is None:
        return ""
    if not int(row["warmup"]) and 1 / 1.1 < ratio < 1.1:
        return "The first step is as long as the rest."
    if on_host is not None and ratio < 1.1 and on_host > ratio:
        return f"The first step takes {on_host:.2f} times the median of the rest on the CPU."
    return f"The first step takes {ratio:.2f} times the median of the rest."


def _sum_up_steps(row: "pd.Series[Any]", host: "pd.Series[Any]", *, gpu: bool) -> str:
    """Compare the first step with the rest, and say how many steps are excluded."""
    sentences = [first] if (first := _compare_first_step(row, host)) else []
    warmup = int(row["warmup"])
    recognized = warmup + int(row["count"])
    if warmup:
        be = "is" if warmup == 1 else "are"
        sentences.append(f"{fmt.count(warmup)} of {fmt.count(recognized)} steps {be} treated as warm-up and excluded.")
    else:
        sentences.append("No step looks like warm-up.")
    if cut := int(row["unclosed"]):
        be = "is" if cut == 1 else "are"
        sentences.append(
            f"{fmt.count(cut)} {be} cut off (never closed, or the last one and without GPU work) and {be} not counted."
        )
    if not gpu:
        sentences.append("Times are CPU times: no step ran anything on a GPU.")
    return " ".join(sentences)
