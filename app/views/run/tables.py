"""Tables of the Run page."""

import pandas as pd
import streamlit as st

from app.ui import share_bar, table_columns, tables
from profiledb.studies.runs.run_rows import COMMUNICATORS, KERNELS, RANKS

RANK_COLUMNS = table_columns.of(
    RANKS,
    table_columns.use("rank", width=60),
    table_columns.use("host", width=140),
    "step_ns", "compute_ns", "exposed_ns", "wait_ns", "copy_ns", "idle_ns", "last",
)  # fmt: skip
KERNEL_COLUMNS = table_columns.of(
    KERNELS,
    table_columns.use("name", width=320),
    table_columns.use("class", width=184),
    "median_ns", "min_ns", "max_ns", "spread_pct", "slowest", "calls", "ranks",
)  # fmt: skip
COMMUNICATOR_COLUMNS = table_columns.of(
    COMMUNICATORS,
    table_columns.use("operation", width=130),
    table_columns.use("communicator", width=200),
    "ranks", "count", "transfer_ns", "wait_ns",
)  # fmt: skip


def draw_ranks(rows: pd.DataFrame) -> None:
    _draw_table("Ranks", rows, RANK_COLUMNS, "run-ranks", ("report",))


def draw_communicators(rows: pd.DataFrame) -> None:
    if len(rows):
        _draw_table("Waits by communicator", rows, COMMUNICATOR_COLUMNS, "run-communicators")


def draw_kernels(rows: pd.DataFrame) -> None:
    if len(rows):
        _draw_table("Kernels over the ranks", rows, KERNEL_COLUMNS, "run-kernels")


def _draw_table(
    title: str, rows: pd.DataFrame, columns: tuple[table_columns.Col, ...], key: str, hidden: tuple[str, ...] = ()
) -> None:
    st.subheader(title, anchor=False)
    tables.table(
        rows, table_columns.filled(rows, columns), key=key, download=f"{key.replace('-', '_')}.csv", hidden=hidden,
        height=share_bar.height(min(len(rows), 12)),
    )  # fmt: skip
