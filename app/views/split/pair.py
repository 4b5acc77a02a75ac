"""The split of two reports beside each other, and the difference by phase, by class and by kernel."""

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import tables, theme
from app.views.split import changes, parts, words
from app.views.split.side import Side
from profiledb.rules.phases import ALL


def show(first: Side, second: Side) -> None:
    """Draws the section."""
    titles, names = parts.titles(), (first.label, second.label)
    one_gpu = first.report.gpu == second.report.gpu
    if not one_gpu:
        gpus = " and ".join(fmt.plain(side.report.gpu or "an unknown GPU") for side in (first, second))
        st.warning(f"The reports are of different GPUs, {gpus}: compare shares, not times.")
    classes, class_titles = (first.classes["share_pct"], second.classes["share_pct"]), theme.class_titles()
    st.markdown(
        words.between(first.phases, second.phases, names, titles, classes, class_titles)
        + " "
        + words.class_changes(*classes, class_titles)
    )
    parts.bars([first, second], key="bars")
    said = [parts.mode_words(first), parts.pass_words([first, second]), *second.notes]
    st.caption(" ".join(said))
    _phases(first, second, titles)
    _classes(first, second)
    _kernels(first, second, in_shares=not one_gpu)


def _phases(first: Side, second: Side, titles: dict[str, str]) -> None:
    columns = ["share_pct", "matmul_pct", "rest_pct", "pass_ns", "pass_matmul_ns", "pass_rest_ns", "total_ns"]
    names = [name for name in parts.shown([first, second]) if name != ALL or len(first.phases) > 0]
    rows = pd.DataFrame({"title": [titles.get(name, name) for name in names]})
    for letter, side in (("a", first), ("b", second)):
        for column in columns:
            rows[f"{letter}_{column}"] = side.phases[column].reindex(names).to_numpy()
    a, b = first.label, second.label
    tables.table(
        rows,
        [
            tables.Col("title", "Phase", width=110),
            tables.Col("a_share_pct", f"Share, {a}", kind="percent", help="Share of all kernel time of the report"),
            tables.Col("b_share_pct", f"Share, {b}", kind="percent", help="Share of all kernel time of the report"),
            tables.Col("a_matmul_pct", f"Matmul, {a}", kind="percent", help="Share of matmul in the phase"),
            tables.Col("b_matmul_pct", f"Matmul, {b}", kind="percent", help="Share of matmul in the phase"),
            *_times(first, second, "pass_ns", "A pass"),
        ],
        key="pair-phases", download="matmul_split.csv",
        hidden=("a_rest_pct", "b_rest_pct", "a_pass_matmul_ns", "b_pass_matmul_ns", "a_total_ns", "b_total_ns"),
    )  # fmt: skip


def _classes(first: Side, second: Side) -> None:
    st.subheader("By class", anchor=False)
    rows = changes.classes(first.classes.reset_index(drop=True), second.classes.reset_index(drop=True))
    tables.table(
        rows,
        [
            tables.Col("class", "Class", kind="class", width=180),
            tables.Col("a_share_pct", f"Share, {first.label}", kind="percent"),
            tables.Col("b_share_pct", f"Share, {second.label}", kind="percent"),
            tables.Col("points", "Change", "points", help="The second share less the first", kind="percent"),
            *_times(first, second, "pass_ns", "A pass"),
            *_change(first, second),
        ],
        key="pair-classes", download="class_changes.csv", hidden=("a_pass_calls", "b_pass_calls"),
    )  # fmt: skip


def _kernels(first: Side, second: Side, *, in_shares: bool) -> None:
    """Which kernels are new or gone, which take longer, which are called more often."""
    st.subheader("By kernel", anchor=False)
    tops = [side.run("top_kernels") for side in (first, second)]
    rows = changes.kernels(*(top[top["phase"] == ALL] for top in tops))
    if in_shares:
        rows = rows.sort_values("points", key=abs, ascending=False, kind="stable").reset_index(drop=True)
    counts = rows["why"].value_counts()
    st.caption(
        "  ·  ".join(f"{word} {fmt.count(counts[word])}" for word in _ORDER if word in counts)
        + f".  New is only in {fmt.plain(second.label)}, gone only in {fmt.plain(first.label)}; kernels are the same"
        " by their full name."
    )
    a, b = first.label, second.label
    calls = [
        tables.Col("a_pass_calls", f"Calls a pass, {a}", kind="number"),
        tables.Col("b_pass_calls", f"Calls a pass, {b}", kind="number"),
    ]
    shares = [
        tables.Col("a_share_pct", f"Share, {a}", kind="percent"),
        tables.Col("b_share_pct", f"Share, {b}", kind="percent"),
        tables.Col("points", "Change", "points", kind="percent"),
    ]
    by_pass = bool(first.passes and second.passes)
    tables.table(
        rows,
        [
            tables.Col("name", "Kernel", width=260),
            tables.Col("why", "Why", help="What changes its time more: the number of calls, or their length", width=90),
            *([] if in_shares else _change(first, second)),
            *(shares if in_shares or not by_pass else []),
            *([] if in_shares else _times(first, second, "pass_ns", "A pass")),
            *(calls if by_pass else []),
            tables.Col("a_avg_ns", f"Average, {a}", kind="duration"),
            tables.Col("b_avg_ns", f"Average, {b}", kind="duration", like="a_avg_ns"),
            tables.Col("class", "Class", kind="class", width=150),
        ],
        key="pair-kernels", download="kernel_changes.csv", hidden=("demangled", "a_share_pct", "b_share_pct"),
    )  # fmt: skip


_ORDER = ("new", "gone", "more calls", "fewer calls", "slower", "faster", "same")


def _times(first: Side, second: Side, column: str, title: str) -> list[tables.Col]:
    """A time of a pass of both sides in one unit; nothing where one of them has no passes."""
    if not (first.passes and second.passes):
        return []
    return [
        tables.Col(f"a_{column}", f"{title}, {first.label}", kind="duration", like=f"b_{column}"),
        tables.Col(f"b_{column}", f"{title}, {second.label}", kind="duration"),
    ]


def _change(first: Side, second: Side) -> list[tables.Col]:
    if not (first.passes and second.passes):
        return []
    about = "Kernel time in a pass of the second report less that of the first"
    return [tables.Col("change_ns", "Change", kind="duration", help=about)]
