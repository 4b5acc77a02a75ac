"""CPU and Python samples as a flame graph, by function and by module, for the whole selection or GPU idle gaps only."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import url_widgets
from app.ui.analysis_table import AnalysisTable
from app.views.host import flame, speedscope
from profiledb import words

CPU = "cpu"
TABLES = {"python": "python_sample", CPU: "cpu_sample"}
"""The table of each source of samples, the most informative first."""
SOURCES = {"python": "Python samples", CPU: "CPU samples"}
LEAST_PCT, LEAST_SAMPLES = 20.0, 20
"""Minimum share of the samples in gaps, and minimum number of these samples, for naming a function."""
MOMENTS = {"all": "All samples", "idle": "While the GPU was idle"}
FUNCTIONS = AnalysisTable("cpu_functions", few=True)
MODULES = AnalysisTable("cpu_modules", few=True)


def draw_samples(report_id: str) -> None:
    """Draw the section; raise NotCapturedError if the report has no samples."""
    present = _list_sources(report_id)
    st.subheader("CPU samples", anchor=False)
    if not present:
        st.caption("No CPU sample lies in this selection.")
        page_selection.clear_button("host-clear")
        return
    asked = _draw_controls(present)
    if description := describe_idle_function(
        session.run(report_id, "cpu_functions", **_make_source_parameter(asked), moments="idle"), _title_source(asked)
    ):
        st.markdown(description)
    rows = session.run(report_id, "cpu_tree", **asked)
    if rows.empty:
        of = " of this thread" if "thread" in asked else ""
        st.info(f"No sample{of} was taken while the GPU was idle.")
        return
    flame.draw_flame(rows, _title_source(asked), idle=asked.get("moments") == "idle")
    speedscope.draw_button(report_id, asked)
    _draw_tables(report_id, asked)


def _list_sources(report_id: str) -> dict[str, pd.DataFrame]:
    """Return the call tree of each source that has samples in the selection, the most informative first."""
    rows = session.report().rows
    asked = [name for name, table in TABLES.items() if rows.get(table)] or [CPU]
    trees = {name: session.run(report_id, "cpu_tree", **_make_source_parameter({"source": name})) for name in asked}
    return {name: tree for name, tree in trees.items() if len(tree)}


def _make_source_parameter(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the source as an analysis parameter; empty for the default."""
    return {"source": asked["source"]} if asked.get("source", CPU) != CPU else {}


def _title_source(asked: dict[str, Any]) -> str:
    return SOURCES[asked.get("source", CPU)]


def describe_idle_function(rows: pd.DataFrame, kind: str) -> str:
    """Name the function with most samples while the GPU was idle (Markdown); "" if none stands out.

    Args:
        rows: the result of ``cpu_functions`` for GPU idle time.
        kind: the display name of the samples.
    """
    if rows.empty or rows["self_pct"].iloc[0] < LEAST_PCT:
        return ""
    top = rows.iloc[0]
    every = round(100 * float(top["self_samples"]) / float(top["self_pct"]))
    if every < LEAST_SAMPLES:
        return ""
    file = "" if pd.isna(top["module"]) else f" ({fmt.plain(fmt.shortened(str(top['module']), 60))})"
    name = words.code(fmt.shortened(str(top["function"]), 80))
    return f"While the GPU was idle, {fmt.percent(top['self_pct'])} of {fmt.count(every)} {kind} are in {name}{file}."


def _draw_controls(present: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw the controls; return the parameters of the sample analyses, without those left at their defaults."""
    first = next(iter(present))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = first
        if len(present) > 1:
            source = st.segmented_control(
                "Code",
                list(present),
                format_func=SOURCES.__getitem__,
                required=True,
                help="CPU samples find a running thread in native code; Python samples are taken in equal intervals.",
                **url_widgets.bind_option("source", list(present), first),
            )
        moments = st.segmented_control(
            "Samples",
            list(MOMENTS),
            format_func=MOMENTS.__getitem__,
            required=True,
            help="The GPU is idle where no GPU runs anything of the selection, between its first and last operation.",
            **url_widgets.bind_option("moments", list(MOMENTS), "all"),
        )
        labels = _list_threads(present[source])
        thread = st.selectbox(
            "Thread",
            list(labels),
            index=None,
            placeholder="All threads",
            format_func=lambda one: labels.get(one, one),
            width=320,
            **url_widgets.bind_option("thread", list(labels)),
        )
    chosen = {"moments": moments} if moments != "all" else {}
    return _make_source_parameter({"source": source}) | chosen | ({"thread": thread} if thread else {})


def _list_threads(tree: pd.DataFrame) -> dict[str, str]:
    """Return the threads with samples: display title by process and thread id."""
    titles = {}
    for row in tree[tree["level"] == 0].to_dict("records"):
        if match := re.match(r"\d+ / \d+", str(row["function"])):
            titles[match[0]] = f"{fmt.visible(fmt.shortened(row['function'], 50))} ({fmt.count(row['samples'])})"
    return titles


def _draw_tables(report_id: str, asked: dict[str, Any]) -> None:
    functions, modules = st.tabs(["By function", "By module"])
    with functions:
        FUNCTIONS.table(session.run(report_id, "cpu_functions", **asked))
    with modules:
        MODULES.table(session.run(report_id, "cpu_modules", **asked))
    st.caption("Self: found in it. Total: found in it, or in what it called.")
