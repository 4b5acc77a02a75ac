"""Kernels with the most time in each phase, their launches per step, and the leading non-matmul kernels."""

from typing import Any

import pandas as pd
import streamlit as st

from app.selection import kernel_links
from app.ui import format as fmt
from app.ui import table_columns, tables, url_widgets
from app.views.phases import phase_bars
from app.views.phases.report_side import Side
from profiledb.query import header
from profiledb.rules.phases import ALL

TOP = header.get("top_kernels").limit
_ONE, _TWO = "forward", "backward"
TOGETHER = f"{_ONE},{_TWO}"
"""Value of the ``phase`` parameter of ``top_kernels`` for both phases together."""

COLUMNS = table_columns.list_shown("top_kernels", {"name": {"click": "opens the kernel"}})


def draw_kernels(side: Side, other: Side | None = None) -> None:
    """Draw the table of the page's own report, and a sentence for each report."""
    st.subheader("Top kernel", anchor=False)
    titles = phase_bars.get_titles()
    titles |= {TOGETHER: f"{titles.get(_ONE)} + {titles.get(_TWO)}".lower().capitalize()}
    rows = _read_rows(side)
    if other is None:
        st.markdown(describe_top_kernel(rows, titles))
    else:
        descriptions = [(one.label, describe_top_kernel(_read_rows(one), titles)) for one in (side, other)]
        st.markdown("\n".join(f"- {fmt.plain(label)}: {description}" for label, description in descriptions))
        st.caption(f"The table shows {fmt.plain(side.label)}.")
    _draw_table(side, rows, titles)


def _read_rows(side: Side) -> pd.DataFrame:
    """Return the top kernels of each phase, of all, and of forward and backward together if the report has both."""
    rows = side.run("top_kernels", limit=TOP)
    if not {_ONE, _TWO} <= set(rows["phase"]):
        return rows
    return pd.concat([rows, side.run("top_kernels", limit=TOP, phase=TOGETHER)], ignore_index=True)


def _draw_table(side: Side, rows: pd.DataFrame, titles: dict[str, str]) -> None:
    names = [name for name in (ALL, _ONE, TOGETHER, *titles) if name in set(rows["phase"])]
    names = list(dict.fromkeys(names)) if len(set(rows["phase"])) > 2 else [ALL]
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = names[0]
        if len(names) > 1:
            chosen = st.segmented_control(
                "Phase", names, required=True, **url_widgets.bind_option("top", names, names[0]),
                format_func=lambda name: titles.get(name, name), label_visibility="collapsed",
            )  # fmt: skip
        without = st.toggle("Without matmul", width="content", **url_widgets.bind_flag("top-rest"))
    part = rows[rows["phase"] == chosen]
    part = part[part["rest_rank"].notna()] if without else part[part["rank"] <= TOP]
    columns = table_columns.select_filled(part, COLUMNS)
    picked = tables.draw_table(
        part, columns, key=f"top-{chosen}", download="top_kernels.csv", select=True, hidden=("rest_rank", "demangled")
    )
    if picked is not None:
        kernel_links.open_kernel(side.report.id, int(part["kernel"].iloc[picked]))


def describe_top_kernel(rows: pd.DataFrame, titles: dict[str, str]) -> str:
    """Name the top kernel of the forward pass (else of everything) and of both passes together, and the runners-up."""
    phase = _ONE if _ONE in set(rows["phase"]) else ALL
    part = rows[rows["phase"] == phase]
    first = part.iloc[0]
    where = "" if phase == ALL else f"In {fmt.plain(titles[phase])}, "
    sentences = [f"{where}{_format_kernel(first)} takes the most time{_format_calls(first)}."]
    together = rows[rows["phase"] == TOGETHER]
    if len(together):
        leader = together.iloc[0]
        sentences.append(
            f"It also leads {fmt.plain(titles[TOGETHER])}, with {fmt.percent(leader['share_pct'])}."
            if leader["kernel"] == first["kernel"]
            else f"In {fmt.plain(titles[TOGETHER])}, {_format_kernel(leader)} takes the most time."
        )
    matmul = part[part["rest_rank"].isna()]
    if first["class"] != "matmul" and len(matmul):
        sentences.append(
            f"The longest matmul, {_format_kernel(matmul.iloc[0])}, is number {fmt.count(matmul['rank'].iloc[0])}."
        )
    rest = part[part["rest_rank"].notna() & (part["rank"] > 1)].head(3)
    if len(rest):
        names = ", ".join(_format_kernel(row) for _, row in rest.iterrows())
        sentences.append(f"Next non-matmul kernels: {names}.")
    return " ".join(sentences)


def _format_kernel(row: "pd.Series[Any]") -> str:
    name = row["name"] if isinstance(row["name"], str) else "a kernel without a name"
    return f"**{fmt.plain(fmt.shortened(name, 60))}** ({fmt.percent(row['share_pct'])})"


def _format_calls(row: "pd.Series[Any]") -> str:
    each = fmt.number(row["pass_calls"])
    if each is None:
        return f", in {fmt.counted(row['calls'], 'launch')}"
    times = "once" if each == 1 else f"{fmt.count(each) if each == round(each) else fmt.significant(each)} times"
    return f", launched {times} per step"
