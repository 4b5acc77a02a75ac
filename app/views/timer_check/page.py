"""The Timings page: the program's timer measurements beside the ranges of the same name."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, size_charts, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui.analysis_table import AnalysisTable
from profiledb.library.catalog import Manifest
from profiledb.report.sidecar import get_stem

EXAMPLE = "label,step,seconds\nforward,0,0.01234\nforward,1,0.01198"
TIMINGS = AnalysisTable("timing_compare", hidden=("gpu_pairs",), download="timings.csv")


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if the report has no ranges."""
    manifest = session.report()
    if not session.has_sidecar(manifest.id, "timings"):
        _explain_timings(manifest)
        return
    rows = session.run(manifest.id, "timing_compare")
    _draw_facts(rows)
    st.caption(_list_unmatched(rows))
    _draw_chart(manifest.id, rows)
    TIMINGS.table(rows)


def _explain_timings(manifest: Manifest) -> None:
    """Explain how to add timings and which questions they answer."""
    name = f"{get_stem(fmt.visible(manifest.name))}.timings.csv"
    with st.container(border=True):
        st.markdown("**This report has no timings from the program.**")
        st.markdown(
            "Labels and steps of such timings are compared with the ranges of the same name: mean, spread,"
            " and the difference between timer and range."
        )
        st.markdown(f"Drop {fmt.plain(name)} into the Library:")
        st.code(EXAMPLE, language=None)


def _draw_facts(rows: pd.DataFrame) -> None:
    paired = int((rows["pairs"] > 0).sum())
    timings, pairs = int(rows["timings"].sum()), int(rows["pairs"].sum())
    ui.draw_facts(
        [
            ("Measurements", fmt.count(timings), "Rows in the timings beside this report."),
            ("Matched", f"{pairs:,} of {timings:,}", "Measurements paired with a range by label and step."),
            ("Labels matched", f"{paired} of {len(rows)}", "Labels with at least one matched measurement."),
        ]
    )


def _list_unmatched(rows: pd.DataFrame) -> str:
    """List the labels whose measurements did not all match a range."""
    lone = rows.loc[rows["ranges"] == 0, "label"]
    left = [words for _, row in rows[rows["ranges"] > 0].iterrows() if (words := _describe_lacks(row))]
    if not left and lone.empty:
        return f"All {fmt.count(rows['timings'].sum())} measurements matched a range."
    more = f"And {len(left) - 4} more labels." if len(left) > 4 else ""
    return " ".join(words for words in (_list_lone_labels(list(lone)), *left[:4], more) if words)


def _list_lone_labels(labels: list[str]) -> str:
    """List the labels without a range; "" if every label has one."""
    if not labels:
        return ""
    named = ", ".join(fmt.plain(fmt.shortened(label, 60)) for label in labels[:4])
    more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
    return f"No range in the selection is called {named}{more}."


def _describe_lacks(row: "pd.Series[Any]") -> str:
    """Say how many measurements of a label could be paired; "" if all were."""
    label = fmt.plain(fmt.shortened(row["label"], 60))
    timings, ranges, pairs = int(row["timings"]), int(row["ranges"]), int(row["pairs"])
    if timings == ranges == pairs:
        return ""
    if not pairs:
        return (
            f"{label}: {fmt.counted(timings, 'measurement')} and {fmt.counted(ranges, 'range')} that cannot be paired;"
            " figures cover all of both."
        )
    of = f"{fmt.counted(timings, 'measurement')} and {fmt.counted(ranges, 'range')}"
    return f"{label}: {fmt.counted(pairs, 'pair')} from {of}."


def _draw_chart(report_id: str, rows: pd.DataFrame) -> None:
    labels = list(rows.loc[rows["pairs"] > 1, "label"])  # a single pair would be a point without a line
    if not labels:
        return
    label = labels[0]
    if len(labels) > 1:
        label = st.selectbox(
            "Label", labels, key="timings-label", format_func=lambda text: fmt.shortened(text, 80), width=320
        )
    drawn = session.run(report_id, "timing_pairs", label=label)
    pairs = drawn[drawn["is_pair"]]
    figure = size_charts.plot_timers(pairs, theme.get_theme())
    chart_element.draw_chart(figure, "timings-chart")
    if int(drawn["total"].iloc[0]) > len(drawn):
        st.caption(f"{fmt.count(len(drawn))} of {fmt.count(drawn['total'].iloc[0])} measurements are drawn.")


draw_page()
