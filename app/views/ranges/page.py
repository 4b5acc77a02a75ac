"""The Ranges page: the tree, where its time goes, one range in detail, and the steps of the loop."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.views.ranges import details, icicle, steps, tree
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if the report has no ranges."""
    manifest = session.report()
    facts = session.run(manifest.id, "range_facts").iloc[0]
    if not int(facts["ranges"]):
        st.info("No ranges are in this selection.")
        page_selection.clear_button("nvtx-clear")
        return
    top = session.run(manifest.id, "nvtx_tree", limit=icicle.MOST)
    _draw_facts(manifest, facts)
    icicle.draw_icicle(top, facts)
    clicked = tree.draw_tree(manifest.id, top, facts)
    path = tree.choose(manifest.id, top, clicked)
    details.draw_details(manifest.id, path)
    steps.draw_steps(manifest.id, path)


def _draw_facts(manifest: Manifest, facts: "pd.Series[Any]") -> None:
    """Draw the totals over all ranges and, if there are no GPU times, say why."""
    whose = "operators, modules and annotations" if manifest.rows.get("operator") else "parts that the program marks"
    shown = [
        ("Ranges", fmt.count(facts["ranges"]), f"Instances in this selection: {whose}."),
        ("Paths", fmt.count(facts["paths"]), "Different stacks of names; the tree has one row for each."),
        ("Threads", fmt.count(facts["threads"]), "Threads that opened these ranges."),
        ("CPU time", fmt.duration(facts["cpu_ns"]), "Sum of the CPU durations of the outermost ranges."),
    ]
    ui.draw_facts(shown)
    if notes := " ".join(_list_notes(manifest.id, facts)):
        st.caption(notes)


def _list_notes(report_id: str, facts: "pd.Series[Any]") -> list[str]:
    notes = []
    if unclosed := int(facts["unclosed"]):
        was, ends = ("range was", "it ends") if unclosed == 1 else ("ranges were", "they end")
        notes.append(f"{fmt.count(unclosed)} {was} never closed; {ends} where the data ends.")
    try:
        work = session.run(report_id, "attribution").set_index("category")["operations"]
    except NotCapturedError as error:
        return [*notes, f"Only CPU times. {fmt.plain(error.message)} {fmt.sentence(error.hint)}"]
    if fmt.number(facts["operations"]) is None:
        return [*notes, "No range launched GPU work, so there are only CPU times."]
    chosen = session.read_selected(report_id)
    if chosen.get("mode") != "thread" and int(facts["operations"]) > int(work["attributed"] + work["inferred"]):
        notes.append("Some operations fall under ranges of two threads and are counted in both.")
    if {"device", "stream"} & set(chosen):
        notes.append("GPU times of ranges cover all GPUs and streams together.")
    return notes


draw_page()
