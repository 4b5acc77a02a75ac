"""The Attention page: softmax against the two matrix products, their rates, and their growth with the length."""

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from app.views.attention import length, reasons, sizes, tables
from profiledb.errors import NotCapturedError


def draw_page() -> None:
    """Draw the page; raise NotCapturedError if the report has neither ranges nor kernels."""
    manifest = session.report()
    ranges = page_selection.run_or_none(manifest.id, "range_paths", ["path", "name", "instances"])
    bare = session.run(manifest.id, "attention_parts", **sizes.read_patterns())
    if bare.empty:
        _explain_nothing(manifest.id, ranges)
        return
    params = sizes.choose(ranges, bare)
    rows = session.run(manifest.id, "attention_parts", **params)
    _explain_missing(rows)
    reasons.draw_reason(manifest, rows)
    tables.draw_ratios(rows)
    tables.draw_parts(rows)
    tables.draw_formulas(rows)
    length.draw_length(manifest, rows, params)


def _explain_nothing(report_id: str, ranges: pd.DataFrame) -> None:
    """Explain which range names the page looks for, and offer the report's ranges to choose from."""
    if ranges.empty:
        none = "This report has no ranges and no fused attention kernel. Put ranges around the parts of attention"
        if command := session.to_record(report_id, "range"):
            st.info(f"{none} and capture with:")
            st.code(command, language=None, wrap_lines=True)
        else:
            st.info(f"{none} and capture again with the same flags.")
        return
    looked = "; ".join(f"{title}: {fmt.plain(names)}" for title, names in sizes.list_parts())
    st.info(
        f"No range in this selection is named like a part of attention, and no kernel is a fused attention. {looked}."
    )
    if page_selection.is_part(report_id):
        page_selection.clear_button("attention-clear")
    st.markdown("Choose the ranges of these parts. One is enough.")
    sizes.draw_selectors(ranges)


def _explain_missing(rows: pd.DataFrame) -> None:
    """Explain why GPU times are missing, and name the parts without a range."""
    if rows["kernel_ns"].isna().all():
        try:
            session.run_whole(session.report().id, "kernels")
            reason = "These ranges ran no kernels."
        except NotCapturedError as error:
            reason = f"{fmt.plain(error.message)} {fmt.sentence(error.hint)}"
        st.info(f"Only CPU times of ranges. Ratios, rates and bytes need kernels. {reason}")
    present = set(rows["part"])
    lacking = [title for part, title in tables.PARTS.items() if part in sizes.KEYS and part not in present]
    if present & set(sizes.KEYS) and lacking:
        st.markdown(f"No range found for the {' and the '.join(map(str.lower, lacking))}. Choose one under Ranges.")


draw_page()
