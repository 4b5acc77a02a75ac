"""NVTX ranges of a report: the tree, where its time is, one range in detail, and the steps of its loop."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import settled
from app.ui import format as fmt
from app.ui import page as ui
from app.views.ranges import details, icicle, steps, tree
from profiledb.errors import NotCapturedError


def page() -> None:
    """Draws the page; raises NotCapturedError where the report has no ranges."""
    manifest = session.report()
    facts = session.run(manifest.id, "range_facts").iloc[0]
    if not int(facts["ranges"]):
        st.info("No NVTX range lies in this selection.")
        settled.clear_button("nvtx-clear")
        return
    top = session.run(manifest.id, "nvtx_tree", limit=icicle.MOST)
    _facts(manifest.id, facts)
    icicle.show(top, facts)
    clicked = tree.show(manifest.id, top, facts)
    path = tree.choose(manifest.id, top, clicked)
    details.show(manifest.id, path)
    steps.show(manifest.id, path)


def _facts(report_id: str, facts: "pd.Series[Any]") -> None:
    """How many ranges there are, and why there is nothing of the GPU where there is not."""
    shown = [
        ("Ranges", fmt.count(facts["ranges"]), "Instances of this selection."),
        ("Paths", fmt.count(facts["paths"]), "Different stacks of names: a row of the tree each."),
        ("Threads", fmt.count(facts["threads"]), "Threads that opened them."),
        ("Host", fmt.duration(facts["cpu_ns"]), "Durations of the outermost ranges on the host, summed."),
    ]
    ui.facts(shown)
    if notes := " ".join(_notes(report_id, facts)):
        st.caption(notes)


def _notes(report_id: str, facts: "pd.Series[Any]") -> list[str]:
    notes = []
    if unclosed := int(facts["unclosed"]):
        was = "range was" if unclosed == 1 else "ranges were"
        notes.append(f"{fmt.count(unclosed)} {was} never closed: the end is that of the NVTX data.")
    try:
        work = session.run(report_id, "attribution").set_index("category")["operations"]
    except NotCapturedError as error:
        return [*notes, f"Only times on the host: {fmt.plain(error.message)} {fmt.sentence(error.hint)}"]
    if fmt.number(facts["operations"]) is None:
        return [*notes, "No range launched anything on a GPU, so there are only times on the host."]
    chosen = session.selected(report_id)
    if chosen.get("mode") != "thread" and int(facts["operations"]) > int(work["attributed"] + work["inferred"]):
        notes.append("Ranges of two threads hold some operations both: those count in each.")
    if {"device", "stream"} & set(chosen):
        notes.append("What ranges ran on the GPU is told for all GPUs and streams together.")
    return notes


page()
