"""The phases of one report: key figures, a sentence, bars by phase, and tables by phase and by class."""

import streamlit as st

from app.ui import format as fmt
from app.ui import page_elements, table_columns, tables
from app.ui.analysis_table import AnalysisTable
from app.views.phases import phase_bars
from app.views.phases.report_side import Side
from profiledb.rules.phases import ALL
from profiledb.studies.summary.matmul_share import describe_matmul

PHASES = AnalysisTable("matmul_split", changes={"phase": {"name": "title"}}, filled=True, hidden=("phase",))


def draw_report(side: Side) -> None:
    titles, rows = phase_bars.get_titles(), side.phases
    whole = rows.loc[ALL]
    facts = [
        ("Kernel time", fmt.duration(whole["total_ns"]), "Sum of all kernel durations in the selection."),
        ("Matmul", fmt.percent(whole["matmul_pct"]), "Share of matrix products. Fused attention counts as rest."),
        ("Rest", fmt.percent(whole["rest_pct"]), "Share of everything else."),
    ]
    if side.passes:
        facts += [
            ("Steps", fmt.count(side.passes), "Steps of the loop, without warm-up."),
            ("Kernel time per step", fmt.duration(whole["pass_ns"]), "Mean kernel time inside a step."),
        ]
    page_elements.draw_facts(facts)
    st.markdown(describe_matmul(rows, titles))
    phase_bars.draw_bars([side], key="bars")
    st.caption(f"{phase_bars.describe_mode(side)} {phase_bars.describe_steps([side])}")
    if len(rows) > 2:
        PHASES.table(rows.assign(title=[titles.get(name, name) for name in rows["phase"]]))
    _draw_classes(side, titles)


def _draw_classes(side: Side, titles: dict[str, str]) -> None:
    """Draw one row per class: its share of all kernel time and of each phase."""
    present = [name for name in phase_bars.choose_phases([side]) if name != ALL]
    rows = side.classes.reset_index(drop=True)
    for name in present:
        part = side.by_phase[side.by_phase["phase"] == name].set_index("class")["phase_pct"]
        rows[f"in_{name}"] = rows["class"].map(part).fillna(0.0)
    of_phases = [
        table_columns.Col(
            f"in_{name}", titles.get(name, name), kind="percent", help=f"Share of kernel time in {titles[name]}"
        )
        for name in present
    ]
    columns = table_columns.choose_columns(
        "phase_split",
        table_columns.use("class", width=184),
        table_columns.make_bar("share_pct", width=110),
        *(of_phases if len(present) > 1 else []),
        "total_ns",
        "calls",
        "pass_ns",
        "pass_calls",
    )
    tables.draw_table(rows, table_columns.select_filled(rows, columns), key="classes", download="phase_split.csv")
