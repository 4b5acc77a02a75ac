"""Sections of the CPU vs GPU page: advice per task, charts, tables, and the feature table to download."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from app import page_list, session
from app.selection import page_selection
from app.ui import chart_element, charts, table_columns, tables
from app.ui import format as fmt
from app.views.cpu_vs_gpu import charts as charts_crossover
from app.views.cpu_vs_gpu.charts import Colors, Panel
from profiledb import spreadsheet
from profiledb.library.catalog import Manifest
from profiledb.studies.cpu_vs_gpu import crossing, features, sentences
from profiledb.studies.cpu_vs_gpu.crossing import Crossover

RANGES = page_list.get_script("ranges")
_BASIS = {"total": "With transfers", "compute": "Computing only"}
TIMES = table_columns.choose_columns(
    "task_times",
    table_columns.use("task", width=120),
    table_columns.use("size", width=70),
    table_columns.use("cpu_median_ns", width=96),
    table_columns.use("gpu_median_ns", width=96),
    "speedup_total",
    "cpu_compute_median_ns",
    "gpu_compute_median_ns",
    "speedup_compute",
    table_columns.make_bar("transfer_share_pct"),
    *(f"gpu_{part}_ns" for part in ("allocate", "to_device", "to_host", "other")),
    table_columns.use("cpu_flops_per_s", label="CPU FLOP rate"),
    table_columns.use("gpu_flops_per_s", label="GPU FLOP rate"),
    *(f"{side}_{name}_ns" for name in ("mean", "std", "min") for side in ("cpu", "gpu")),
    table_columns.use("cpu_repetitions", width=84),
    table_columns.use("gpu_repetitions", width=84),
)
HIDDEN = (
    "partial_repetitions", "cpu_max_ns", "gpu_max_ns", "cpu_allocate_ns", "flops", "cpu_flops_per_s", "gpu_flops_per_s",
    *(f"{side}_compute_{name}_ns" for side in ("cpu", "gpu") for name in ("mean", "std", "min", "max")),
)  # fmt: skip
CROSSINGS = table_columns.choose_columns(
    crossing.COLUMNS,
    table_columns.use("task", width=160),
    table_columns.Col("basis_title", "Basis", width=130),
    table_columns.Col("at", "Crossing", help="Size above which the GPU is faster, by medians", width=110),
    table_columns.Col("interval", "95 % interval", width=170),
    "threshold",
    table_columns.Col("words", "Advice", width=620),
)
_DOWNLOADED = (
    "basis", "state", "sizes", "smallest", "largest", "repetitions", "crossings", "crossing", "low_place", "low",
    "high_place", "high",
)  # fmt: skip


def draw_advice(panels: Sequence[Panel]) -> None:
    """Draw the advice for each task, with transfers and for computing only."""
    with st.container(key="crossover-cards"):
        for panel in panels:
            with st.container(border=True):
                _draw_card(panel)


def _draw_card(panel: Panel) -> None:
    st.markdown(f"**{fmt.plain(fmt.shortened(panel.task, 60))}**")
    for crossover in panel.crossovers:
        st.markdown(f"{_BASIS[crossover.basis]}: **{sentences.recommend(crossover)}**")
        if crossover.state not in ("one device", "nothing in common"):
            st.caption(sentences.describe_measurement(crossover))


def draw_charts(panels: Sequence[Panel], colors: Colors, theme: charts.Theme) -> None:
    """Draw the times by size with their crossovers, and the parts of the GPU time."""
    st.subheader("Time by size", anchor=False)
    figure = charts_crossover.plot_times(panels, colors, theme)
    if figure is None:
        st.info("No time is above 0, so nothing can be drawn on logarithmic scales.")
        return
    chart_element.draw_chart(figure, "crossover-times")
    st.caption(
        "Solid: all parts, with transfers and allocation. Dotted: computing only, as if the data were already"
        " on the GPU. Shaded: minimum to maximum over the repetitions. Red: size from which the GPU stays faster,"
        f" with the {crossing.LEVEL_PCT} % interval as a band. The program measured these times itself."
    )
    parts = charts_crossover.plot_shares(panels, colors, theme)
    if parts is not None:
        st.subheader("Where GPU time goes", anchor=False)
        chart_element.draw_chart(parts, "crossover-shares")


def draw_crossovers(crossovers: Sequence[Crossover], *, more: int) -> None:
    """Draw the crossovers of all tasks as a table."""
    st.subheader("Crossings", anchor=False)
    rows = crossing.build_frame(crossovers).assign(
        basis_title=[_BASIS[crossover.basis] for crossover in crossovers],
        at=[sentences.format_crossing(crossover) for crossover in crossovers],
        interval=[sentences.format_interval(crossover) for crossover in crossovers],
        words=[sentences.describe_crossover(crossover) for crossover in crossovers],
    )
    tables.draw_table(rows, CROSSINGS, key="crossover-crossings", download="crossover.csv", hidden=_DOWNLOADED)
    if more > 0:
        st.caption(f"{fmt.count(more)} more tasks. To list all, run:")
        st.code("warpdeck crossover REPORT", language=None)


def draw_times(report_id: str, rows: pd.DataFrame) -> None:
    """Draw the table of all tasks and sizes; a click on a row shows a link to its ranges."""
    st.subheader("Times", anchor=False)
    columns = table_columns.select_filled(rows, TIMES)
    empty = {column.name for column in TIMES} - {column.name for column in columns}
    picked = tables.draw_table(
        rows, columns, key="crossover-rows", download="task_times.csv", select=True, hidden=(*HIDDEN, *sorted(empty))
    )
    paths = page_selection.run_or_none(report_id, "range_paths", ["name"])
    if picked is None:
        if paths["name"].astype(str).str.endswith("/gpu").any():
            st.caption("Click a row to see its ranges.")
        return
    name = f"{rows['task'].iloc[picked]}_{int(rows['size'].iloc[picked])}/gpu"
    if (paths["name"] == name).any():
        st.page_link(
            RANGES, label=f"Ranges: {fmt.plain(fmt.shortened(name, 60))}", icon=":material/account_tree:",
            query_params=page_selection.link(report_id, path=name), width="content",
        )  # fmt: skip
    else:
        st.caption(f"This report has no range {fmt.plain(fmt.shortened(name, 60))}.")


def draw_downloads(manifest: Manifest) -> None:
    """Draw the buttons that download this report's feature table as CSV or Parquet."""
    st.subheader("Features for machine learning", anchor=False)
    library = session.library()
    st.caption(
        f"One row per task and size, {len(features.list_columns())} columns: these times, the GPU, and what the"
        " profile says about the ranges TASK\\_SIZE/gpu without warm\\-up (kernels, launch shapes, memcpy, busy"
        " time). For one table of several reports, run:"
    )
    st.code("warpdeck features REPORT... -o FILE", language=None)
    name = Path(fmt.visible(manifest.name)).stem
    made: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
        ("CSV", "text/csv", lambda: spreadsheet.format_csv(features.read_rows(library, manifest)).encode()),
        (
            "Parquet",
            "application/vnd.apache.parquet",
            lambda: features.encode_table(features.build_table(library, [manifest]), "parquet"),
        ),
    )
    with st.container(horizontal=True):
        for title, mime, data in made:
            file = f"{name}.features.{title.lower()}".replace("/", "_")
            st.download_button(
                title, data, file, mime, key=f"crossover-features-{title.lower()}", on_click="ignore",
                icon=":material/download:",
            )  # fmt: skip
