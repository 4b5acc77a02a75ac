"""The split of two reports side by side, and the differences by phase, class and kernel."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import table_columns, tables, theme
from app.views.phases import changes, phase_bars, sentences
from app.views.phases.report_side import Side
from profiledb.rules.phases import ALL
from profiledb.studies.compare import matching
from profiledb.studies.compare import rows as compare_rows


def draw_reports(first: Side, second: Side) -> None:
    titles, names = phase_bars.get_titles(), (first.label, second.label)
    one_gpu = first.report.gpu == second.report.gpu
    if not one_gpu:
        gpus = " and ".join(fmt.plain(side.report.gpu or "an unknown GPU") for side in (first, second))
        st.warning(f"The reports are from different GPUs, {gpus}. Compare shares, not times.")
    classes, class_titles = (first.classes["share_pct"], second.classes["share_pct"]), theme.get_class_titles()
    st.markdown(
        sentences.describe_change(first.phases, second.phases, names, titles, classes, class_titles)
        + " "
        + sentences.list_class_changes(*classes, class_titles)
    )
    phase_bars.draw_bars([first, second], key="bars")
    notes = [phase_bars.describe_mode(first), phase_bars.describe_steps([first, second]), *second.notes]
    st.caption(" ".join(notes))
    _draw_phases(first, second, titles)
    _draw_classes(first, second)
    _draw_kernels(first, second, in_shares=not one_gpu)


def _draw_phases(first: Side, second: Side, titles: dict[str, str]) -> None:
    columns = ["share_pct", "matmul_pct", "rest_pct", "pass_ns", "pass_matmul_ns", "pass_rest_ns", "total_ns"]
    names = [name for name in phase_bars.choose_phases([first, second]) if name != ALL or len(first.phases) > 0]
    rows = pd.DataFrame({"title": [titles.get(name, name) for name in names]})
    for letter, side in (("a", first), ("b", second)):
        for column in columns:
            rows[f"{letter}_{column}"] = side.phases[column].reindex(names).to_numpy()
    tables.draw_table(
        rows,
        [
            *table_columns.choose_columns("matmul_split", table_columns.use("phase", name="title", width=110)),
            *_make_side_columns(first, second, "matmul_split", "share_pct"),
            *_make_side_columns(first, second, "matmul_split", "matmul_pct"),
            *_make_time_columns(first, second, "matmul_split"),
        ],
        key="pair-phases", download="matmul_split.csv",
        hidden=("a_rest_pct", "b_rest_pct", "a_pass_matmul_ns", "b_pass_matmul_ns", "a_total_ns", "b_total_ns"),
    )  # fmt: skip


def _draw_classes(first: Side, second: Side) -> None:
    st.subheader("By class", anchor=False)
    rows = changes.join_classes(first.classes.reset_index(drop=True), second.classes.reset_index(drop=True))
    tables.draw_table(
        rows,
        [
            *table_columns.choose_columns("phase_split", table_columns.use("class", width=184)),
            *_make_side_columns(first, second, "phase_split", "share_pct"),
            table_columns.Col("points", "Change", "points", help="Second share minus first", kind="percent",
            signed=True),
            *_make_time_columns(first, second, "phase_split"),
            *_make_change_column(first, second),
        ],
        key="pair-classes", download="class_changes.csv", hidden=("a_pass_calls", "b_pass_calls"),
    )  # fmt: skip


def _draw_kernels(first: Side, second: Side, *, in_shares: bool) -> None:
    """Draw the kernels that are new, gone, slower, faster, or launched more or less often."""
    st.subheader("By kernel", anchor=False)
    by_pass = bool(first.passes and second.passes) and not in_shares
    a, b = matching.gather(first.run), matching.gather(second.run)
    rows = changes.add_reasons(compare_rows.compare_kernels(a, b, "step" if by_pass else "share"), by_pass=by_pass)
    counts = rows["why"].value_counts()
    st.caption(
        "  ·  ".join(f"{word} {fmt.count(counts[word])}" for word in _ORDER if word in counts)
        + (
            f".  New: only in {fmt.plain(second.label)}. Gone: only in {fmt.plain(first.label)}. Kernels are matched"
            " as on the page Compare."
        )
        + (" Times and launches are those inside steps, per step." if by_pass else "")
    )
    source = "top_kernels"
    shares = [
        *_make_side_columns(first, second, source, "share_pct"),
        table_columns.Col("points", "Change", "points", kind="percent", signed=True),
    ]
    why = table_columns.Col(
        "why", "Why", help="What changes the time more: the number of launches, or their length", width=116
    )
    tables.draw_table(
        rows,
        [
            *table_columns.choose_columns(source, table_columns.use("name", width=260), why),
            *([] if in_shares else _make_change_column(first, second)),
            *(shares if in_shares or not by_pass else []),
            *([] if in_shares else _make_time_columns(first, second, source)),
            *(_make_side_columns(first, second, source, "pass_calls") if by_pass else []),
            *_make_side_columns(first, second, source, "avg_ns"),
            *table_columns.choose_columns(source, table_columns.use("class", width=184)),
        ],
        key="pair-kernels", download="kernel_changes.csv", hidden=("demangled", "a_share_pct", "b_share_pct"),
    )  # fmt: skip


_ORDER = ("new", "gone", "more launches", "fewer launches", "slower", "faster", "same")


def _make_side_columns(first: Side, second: Side, source: str, column: str) -> list[table_columns.Col]:
    """Return a column for each report, with the report's label in the heading."""
    (one,) = table_columns.choose_columns(source, column)
    return [
        replace(one, name=f"{letter}_{column}", label=f"{one.label}, {side.label}")
        for letter, side in (("a", first), ("b", second))
    ]


def _make_time_columns(first: Side, second: Side, source: str) -> list[table_columns.Col]:
    """Return the columns of time per step of both reports; none if either has no steps."""
    return _make_side_columns(first, second, source, "pass_ns") if first.passes and second.passes else []


def _make_change_column(first: Side, second: Side) -> list[table_columns.Col]:
    if not (first.passes and second.passes):
        return []
    about = "Kernel time per step, second report minus first"
    return [table_columns.Col("change_ns", "Change", kind="duration", help=about, signed=True)]
