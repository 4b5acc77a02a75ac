"""The parts of the page Crossover: advice by task, charts, tables, and the feature table to download."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from app import pages, session
from app.selection import settled
from app.ui import charts, spreadsheet, tables
from app.ui import format as fmt
from app.views.crossover import charts as charts_crossover
from app.views.crossover.charts import Colors, Panel
from profiledb.report.catalog import Manifest
from profiledb.studies.crossover import crossing, features, words
from profiledb.studies.crossover.crossing import Crossover

RANGES = pages.script("nvtx")
_LIKE = "gpu_median_ns"
_BASIS = {"total": "With transfers", "compute": "Computing only"}
TIMES = (
    tables.Col("task", "Task", width=120, pinned=True),
    tables.Col("size", "Size", kind="count", width=70, pinned=True),
    tables.Col(
        "cpu_median_ns", "CPU", kind="duration", help="Median of all parts on the CPU together", like=_LIKE, width=96
    ),
    tables.Col("gpu_median_ns", "GPU", kind="duration", help="Median of all parts on the GPU together", width=96),
    tables.Col("speedup_total", "Speed-up", unit="×", kind="number", help="Median of the CPU over that of the GPU"),
    tables.Col(
        "cpu_compute_median_ns", "CPU compute", kind="duration", help="Median of computing on the CPU", like=_LIKE
    ),
    tables.Col(
        "gpu_compute_median_ns", "GPU compute", kind="duration", help="Median of computing on the GPU", like=_LIKE
    ),
    tables.Col(
        "speedup_compute", "Speed-up computing", unit="×", kind="number", help="As if the data were on the GPU already"
    ),
    tables.Col("transfer_share_pct", "Transfers", kind="bar", help="to_device and to_host, of the time on the GPU"),
    tables.Col("gpu_allocate_ns", "Allocate", kind="duration", help="Median of allocating on the GPU", like=_LIKE),
    tables.Col("gpu_to_device_ns", "To the GPU", kind="duration", help="Median of the copies there", like=_LIKE),
    tables.Col("gpu_to_host_ns", "To the host", kind="duration", help="Median of the copy back", like=_LIKE),
    tables.Col("gpu_other_ns", "Other", kind="duration", help="Median of parts with other names", like=_LIKE),
    tables.Col("cpu_gflops", "CPU", unit="GFLOP/s", kind="number", help="While computing, by flops_by_task"),
    tables.Col("gpu_gflops", "GPU", unit="GFLOP/s", kind="number", help="While computing, by flops_by_task"),
    *(
        tables.Col(f"{side}_{name}_ns", f"{side.upper()} {title}", kind="duration", like=_LIKE, help=about)
        for name, title, about in (
            ("mean", "mean", "Mean of all parts together"),
            ("std", "std", "Sample deviation of all parts together"),
            ("min", "min", "Least of all parts together"),
        )
        for side in ("cpu", "gpu")
    ),
    tables.Col("cpu_repetitions", "CPU reps", kind="count", help="Whole repetitions on the CPU", width=84),
    tables.Col("gpu_repetitions", "GPU reps", kind="count", help="Whole repetitions on the GPU", width=84),
)
HIDDEN = (
    "partial_repetitions", "cpu_max_ns", "gpu_max_ns", "cpu_allocate_ns", "flops", "cpu_flops_per_s", "gpu_flops_per_s",
    *(f"{side}_compute_{name}_ns" for side in ("cpu", "gpu") for name in ("mean", "std", "min", "max")),
)  # fmt: skip
CROSSINGS = (
    tables.Col("task", "Task", width=160, pinned=True),
    tables.Col("basis_title", "Basis", width=130),
    tables.Col("at", "Crossing", width=110, help="Size from which on the GPU is faster, by the medians"),
    tables.Col("interval", "95 % interval", width=170),
    tables.Col("threshold", "Use the GPU from", kind="count", help="The upper end of the interval, rounded up"),
    tables.Col("words", "In words", width=620),
)
_DOWNLOADED = (
    "basis", "state", "sizes", "smallest", "largest", "repetitions", "crossings", "crossing", "low_place", "low",
    "high_place", "high",
)  # fmt: skip


def cards(panels: Sequence[Panel]) -> None:
    """What to do, task by task, on both bases."""
    for panel, column in zip(panels, st.columns(len(panels), gap="medium"), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{fmt.plain(fmt.shortened(panel.task, 60))}**")
            for one in panel.crossovers:
                st.markdown(f"{_BASIS[one.basis]}: **{words.advice(one)}**")
                if one.state not in ("one device", "nothing in common"):
                    st.caption(words.why(one))


def charts_of(panels: Sequence[Panel], colors: Colors, theme: charts.Theme) -> None:
    """Times by size with their crossings, and what the time on the GPU goes to."""
    st.subheader("Time by size", anchor=False)
    figure = charts_crossover.times(panels, colors, theme)
    if figure is None:
        st.info("No time is above 0, so there is nothing to draw on logarithmic scales.")
        return
    st.plotly_chart(figure, config=charts.CONFIG, width="stretch", key="crossover-times")
    st.caption(
        "Solid: all parts, with transfers and allocation; dotted: computing only, as if the data were on the GPU"
        " already. Shaded beside the lines: least to most of the repetitions. Red: where the GPU overtakes the CPU for"
        f" good, with the {crossing.LEVEL_PCT} % interval as a band. The"
        " program took these times itself."
    )
    parts = charts_crossover.shares(panels, colors, theme)
    if parts is not None:
        st.subheader("What the time on the GPU goes to", anchor=False)
        st.plotly_chart(parts, config=charts.CONFIG, width="stretch", key="crossover-shares")


def crossings(found: Sequence[Crossover], *, more: int) -> None:
    """The crossovers of all tasks as a table."""
    st.subheader("Crossings", anchor=False)
    rows = crossing.as_frame(found).assign(
        basis_title=[_BASIS[one.basis] for one in found],
        at=[words.crossing(one) for one in found],
        interval=[words.interval(one) for one in found],
        words=[words.sentence(one) for one in found],
    )
    tables.table(rows, CROSSINGS, key="crossover-crossings", download="crossover.csv", hidden=_DOWNLOADED)
    if more > 0:
        st.caption(f"{fmt.count(more)} more tasks: python \\-m profiledb crossover lists all.")


def times(report_id: str, rows: pd.DataFrame) -> None:
    """The table of all tasks and sizes; a click on a row offers its ranges."""
    st.subheader("Times", anchor=False)
    shown = rows.assign(
        cpu_gflops=rows["cpu_flops_per_s"].astype("Float64") / 1e9,
        gpu_gflops=rows["gpu_flops_per_s"].astype("Float64") / 1e9,
    )
    empty = {column.name for column in TIMES if shown[column.name].isna().all()}
    columns = [column for column in TIMES if column.name not in empty]
    picked = tables.table(
        shown, columns, key="crossover-rows", download="task_times.csv", select=True, hidden=(*HIDDEN, *sorted(empty))
    )
    paths = settled.optional(report_id, "range_paths", ["name"])
    if picked is None:
        if paths["name"].astype(str).str.endswith("/gpu").any():
            st.caption("A click on a row offers its NVTX ranges.")
        return
    name = f"{rows['task'].iloc[picked]}_{int(rows['size'].iloc[picked])}/gpu"
    if (paths["name"] == name).any():
        st.page_link(
            RANGES, label=f"Ranges: {fmt.plain(fmt.shortened(name, 60))}", icon=":material/account_tree:",
            query_params=settled.link(report_id, path=name), width="content",
        )  # fmt: skip
    else:
        st.caption(f"The report has no NVTX range {fmt.plain(fmt.shortened(name, 60))}.")


def downloads(manifest: Manifest) -> None:
    """The feature table of this report as CSV and Parquet."""
    st.subheader("Features for machine learning", anchor=False)
    library = session.library()
    st.caption(
        f"A row a task and size with {len(features.columns())} columns: these times, the GPU, and"
        " what the profile says of the ranges TASK\\_SIZE/gpu without warm\\-up (kernels, launch shapes, copies, busy"
        " time). Several reports in one table: python \\-m profiledb features REPORT... \\-o FILE"
    )
    name = Path(fmt.visible(manifest.name)).stem
    made: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
        ("CSV", "text/csv", lambda: spreadsheet.csv_text(features.frame(library, manifest)).encode()),
        (
            "Parquet",
            "application/vnd.apache.parquet",
            lambda: features.content(features.table(library, [manifest]), "parquet"),
        ),
    )
    with st.container(horizontal=True):
        for title, mime, data in made:
            file = f"{name}.features.{title.lower()}".replace("/", "_")
            st.download_button(
                title, data, file, mime, key=f"crossover-features-{title.lower()}", on_click="ignore",
                icon=":material/download:",
            )  # fmt: skip
