"""Kernels of a report: one dense table, with search and a filter by class that stand in the address."""

import streamlit as st

from app import session
from app.selection import links, settled
from app.ui import format as fmt
from app.ui import page as ui
from app.ui import tables, theme

ALL = "All classes"
COLUMNS = (
    tables.Col("name", "Kernel", help="Without templates and arguments; a click opens the kernel", width=300),
    tables.Col(
        "share_pct", "Share", kind="bar", help="Share of the sum of all kernel durations of the selection", width=110
    ),
    tables.Col("total_ns", "Total", kind="duration", help="Sum of durations"),
    tables.Col("class", "Class", kind="class", width=160),
    tables.Col("calls", "Calls", kind="count", help="Number of executions"),
    tables.Col("avg_ns", "Average", kind="duration", help="Mean duration", like="median_ns"),
    tables.Col("median_ns", "Median", kind="duration", help="Half of the executions take at most this long"),
    tables.Col("min_ns", "Min", kind="duration", help="Shortest execution", like="median_ns"),
    tables.Col("max_ns", "Max", kind="duration", help="Longest execution", like="median_ns"),
    tables.Col("stddev_ns", "Deviation", kind="duration", help="Sample deviation (n - 1)", like="median_ns"),
    tables.Col("grid", "Grid", help="Blocks in x, y and z, or how many different grids", width=110),
    tables.Col("block", "Block", help="Threads of a block in x, y and z, or how many different blocks", width=100),
    tables.Col("registers", "Registers", kind="count", help="Registers of a thread, the most of all launches"),
)


def page() -> None:
    """Draws the page."""
    manifest = session.report()
    ui.header(manifest, "Kernels")
    rows = session.run(manifest.id, "kernels")
    if rows.empty:
        st.info("No kernel runs in this selection.")
        settled.clear_button("kernels-clear")
        return
    search, chosen_class = _filters(sorted(rows["class"].dropna().unique()))
    filters = {"search": search, "class": chosen_class}
    kept = session.run(manifest.id, "kernels", **{name: value for name, value in filters.items() if value})
    calls = int(kept["calls"].sum())
    st.caption(
        f"{fmt.duration(kept['total_ns'].sum())} in {fmt.count(calls)} launch{'es'[: 2 * (calls != 1)]},"
        f" {fmt.percent(kept['share_pct'].sum())} of the kernel time"
        + (" of the selection" if settled.is_part(manifest.id) else "")
    )
    if kept.empty:
        st.info("No kernel fits these filters.")
        return
    chosen = tables.table(
        kept, COLUMNS, key="kernels", download="kernels.csv", select=True, hidden=("shapes", "demangled")
    )
    if chosen is not None:
        links.open_kernel(manifest.id, int(kept["kernel"].iloc[chosen]))


def _filters(present: list[str]) -> tuple[str | None, str | None]:
    """The text and the class to keep; None for all."""
    titles = theme.class_titles()
    if st.query_params.get("class") not in (None, *present):
        del st.query_params["class"]  # a link to a class that this report does not have
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input(
            "Search", key="search", placeholder="Part of a full name", bind="query-params", width=360
        )
        chosen = st.selectbox(
            "Class",
            present,
            index=None,
            key="class",
            placeholder=ALL,
            format_func=lambda name: titles.get(name, name),
            bind="query-params",
            width=240,
        )
    return search.strip() or None, chosen


page()
