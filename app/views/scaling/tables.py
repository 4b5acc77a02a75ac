"""Tables of the Scaling page."""

import pandas as pd

from app.ui import table_columns, tables
from app.ui.analysis_table import AnalysisTable
from profiledb.studies.scaling.nccl import OPERATIONS, SIZES
from profiledb.studies.scaling.rows import RUNS

RUN_COLUMNS = table_columns.choose_columns(
    RUNS,
    table_columns.use("run", width=200),
    table_columns.use("scaling", width=80),
    table_columns.use("ranks", width=60),
    "efficiency_pct",
    "speedup",
    "step_ns",
    "slowest_ns",
    "compute_ns",
    "exposed_ns",
    "hidden_ns",
    "copy_ns",
    "idle_ns",
    "lost_ns",
    table_columns.use("items_per_s", kind="count", unit=""),
    "base",
)
RUN_HIDDEN = (
    "seen", "steps", "items", "ideal", "lost_compute_ns", "lost_exposed_ns", "lost_copy_ns", "lost_idle_ns"
)  # fmt: skip
OPERATION_COLUMNS = table_columns.choose_columns(
    OPERATIONS,
    table_columns.use("operation", width=130),
    "count",
    "mean_ns",
    "bytes",
    "transfer_ns",
    "wait_ns",
    "algbw_gb_per_s",
    "busbw_gb_per_s",
)
SIZE_COLUMNS = table_columns.choose_columns(
    SIZES,
    table_columns.use("operation", width=130),
    table_columns.use("ranks", width=70),
    "size_bytes",
    "matched",
    "transfer_ns",
    "wait_ns",
    "algbw_gb_per_s",
    "busbw_gb_per_s",
)
ONE_RANK = AnalysisTable("nccl_sum", filled=True)


def draw_runs(rows: pd.DataFrame) -> None:
    """Draw one row per run."""
    shown = rows.assign(scaling=rows["scaling"].replace("", None))
    tables.draw_table(
        shown, table_columns.select_filled(shown, RUN_COLUMNS), key="runs", download="scaling.csv", hidden=RUN_HIDDEN
    )
