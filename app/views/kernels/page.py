"""Kernels of a report in one dense table; the URL keeps the search text and the class filter."""

import streamlit as st

from app import session
from app.selection import kernel_links, page_selection
from app.ui import format as fmt
from app.ui import kernel_operators, kernel_verdicts, table_columns, theme, url_widgets
from app.ui.analysis_table import AnalysisTable

ALL = "All classes"
_OWN = table_columns.list_shown("kernels", {"name": {"click": "opens the kernel"}})
KERNELS = AnalysisTable(
    "kernels",
    columns=(*_OWN[:3], *kernel_verdicts.IN_LIST, _OWN[3], *kernel_operators.IN_LIST, *_OWN[4:]),
    hidden=("reason", "command", "shapes", "demangled"),
)


def draw_page() -> None:
    manifest = session.report()
    rows = session.run(manifest.id, "kernels")
    if rows.empty:
        st.info("No kernels run in this selection.")
        page_selection.clear_button("kernels-clear")
        return
    search, chosen_class = _draw_filters(sorted(rows["class"].dropna().unique()))
    filters = {"search": search, "class": chosen_class}
    matches = session.run(manifest.id, "kernels", **{name: value for name, value in filters.items() if value})
    calls = int(matches["calls"].sum())
    st.caption(
        f"{fmt.duration(matches['total_ns'].sum())} in {fmt.count(calls)} launch{'es'[: 2 * (calls != 1)]}"
        f" ({fmt.percent(matches['share_pct'].sum())} of {'selected ' * page_selection.is_part(manifest.id)}"
        "kernel time)"
    )
    if matches.empty:
        st.info("No kernels match these filters.")
        return
    shown = matches.assign(stddev_ns=matches["stddev_ns"].where(matches["calls"] > 1))  # meaningless for one launch
    chosen = KERNELS.table(
        kernel_verdicts.add_verdicts(manifest.id, kernel_operators.add_operators(manifest, shown)), select=True
    )
    if chosen is not None:
        kernel_links.open_kernel(manifest.id, int(matches["kernel"].iloc[chosen]))


def _draw_filters(present: list[str]) -> tuple[str | None, str | None]:
    """Draw the filters and return the search text and the class; None stands for no filter."""
    titles = theme.get_class_titles()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input(
            "Search", placeholder="Part of the full name", width=360, **url_widgets.bind_text("search")
        )
        chosen = st.selectbox(
            "Class",
            present,
            index=None,
            placeholder=ALL,
            format_func=lambda name: titles.get(name, name),
            **url_widgets.bind_option("class", present, title=lambda name: str(titles.get(name, name))),
            width=240,
        )
    return search.strip() or None, chosen


draw_page()
