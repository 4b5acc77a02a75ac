"""Operators of a PyTorch trace in five views; the URL keeps the chosen one."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import url_widgets
from app.views.operators import modules, roofline, tables

VIEWS = {
    "operators": ("Operators", tables.draw_operators),
    "shapes": ("By shape", tables.draw_shapes),
    "modules": ("Modules", modules.draw_modules),
    "lines": ("Source lines", tables.draw_lines),
    "roofline": ("Roofline", roofline.draw_roofline),
}


def draw_page() -> None:
    """Draw the page. Raises NotCapturedError if the report has no operators."""
    manifest = session.report()
    facts = session.run(manifest.id, "operator_facts").iloc[0]
    if not int(facts["names"]):
        st.info("No operators run in this selection.")
        page_selection.clear_button("operators-clear")
        return
    _draw_facts(facts)
    chosen = st.segmented_control(
        "View", list(VIEWS), format_func=_title_view, required=True, label_visibility="collapsed",
        **url_widgets.bind_option("view", list(VIEWS), "operators", title=_title_view),
    )  # fmt: skip
    VIEWS[chosen or "operators"][1](manifest.id)


def _title_view(view: str) -> str:
    return VIEWS[view][0]


def _draw_facts(facts: "pd.Series[Any]") -> None:
    """Draw the totals over all operators, and say how much GPU time was launched outside of them."""
    ui.draw_facts(
        [
            ("Operators", fmt.count(facts["operators"]), "Operators that began in this selection."),
            ("CPU time", fmt.duration(facts["host_ns"]), "Of operators that lie in no other."),
            ("GPU time", fmt.duration(facts["device_ns"]), "Kernels, memcpy and memset that operators launched."),
            ("FLOPs", fmt.work(facts["flops"]), "Of the trace, else by formulas of the shapes: a model."),
        ]
    )  # fmt: skip
    if int(facts["outside_ns"]):
        st.caption(f"Another {fmt.duration(facts['outside_ns'])} of GPU time was launched outside of operators.")


draw_page()
