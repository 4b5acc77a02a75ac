"""The tables of the page "Scaling"."""

from collections.abc import Sequence

import pandas as pd

from app.ui import tables

RUN_COLUMNS = (
    tables.Col("run", "Run", width=150, pinned=True),
    tables.Col("scaling", "Scaling", width=80),
    tables.Col("ranks", "Ranks", kind="count", width=60),
    tables.Col("efficiency_pct", "Efficiency", kind="percent", help="Strong: N₀ T(N₀) ÷ (N T(N)); weak: T(N₀) ÷ T(N)"),
    tables.Col("speedup", "Speed-up", kind="number", help="Against its base"),
    tables.Col("step_ns", "Step", kind="duration", help="Mean over steps and ranks"),
    tables.Col("slowest_ns", "Slowest rank", kind="duration", like="step_ns", help="Mean of the slowest rank"),
    tables.Col("compute_ns", "Compute", kind="duration", like="step_ns", help="Kernels that are no communication"),
    tables.Col("exposed_ns", "Exposed", kind="duration", like="step_ns", help="Communication, and no compute"),
    tables.Col("hidden_ns", "Hidden", kind="duration", like="step_ns", help="Communication beside compute"),
    tables.Col("copy_ns", "Copies", kind="duration", like="step_ns", help="Copies, and no kernel"),
    tables.Col("idle_ns", "Idle", kind="duration", like="step_ns", help="Nothing ran"),
    tables.Col("lost_ns", "Lost", kind="duration", like="step_ns", help="Step less the ideal one"),
    tables.Col("items_per_s", "Items/s", kind="count", help="Of all ranks, as the program counts them"),
    tables.Col("base", "Base", help="The run that it is measured against"),
)
RUN_HIDDEN = (
    "seen", "steps", "items", "ideal", "lost_compute_ns", "lost_exposed_ns", "lost_copy_ns", "lost_idle_ns"
)  # fmt: skip
OPERATION_COLUMNS = (
    tables.Col("operation", "Operation", width=130),
    tables.Col("count", "Count", kind="count", help="Of a rank, in its steps"),
    tables.Col("mean_ns", "Mean", kind="duration", help="Mean duration over all ranks, with the waits"),
    tables.Col("bytes", "Bytes", kind="bytes", help="Of a rank, as nccl-tests counts sizes"),
    tables.Col("transfer_ns", "Transfer", kind="duration", help="Sum of the shortest durations over the ranks"),
    tables.Col("wait_ns", "Wait", kind="duration", like="transfer_ns", help="What durations are longer, a rank"),
    tables.Col("algbw_gb_per_s", "Algorithm", unit="GB/s", kind="number", help="Bytes ÷ transfer time"),
    tables.Col("busbw_gb_per_s", "Bus", unit="GB/s", kind="number", help="That times the factor of nccl-tests"),
)
ONE_RANK_COLUMNS = (
    tables.Col("operation", "Operation", width=130),
    tables.Col("count", "Count", kind="count"),
    tables.Col("total_ns", "Total", kind="duration", help="With the waits for other ranks"),
    tables.Col("mean_ns", "Mean", kind="duration"),
    tables.Col("min_ns", "Shortest", kind="duration", like="mean_ns"),
    tables.Col("max_ns", "Longest", kind="duration", like="mean_ns"),
    tables.Col("bytes", "Bytes", kind="bytes", help="As nccl-tests counts sizes"),
    tables.Col("algbw_gb_per_s", "Algorithm", unit="GB/s", kind="number", help="Bytes ÷ durations, waits included"),
)


def runs(rows: pd.DataFrame) -> None:
    """A row a run."""
    tables.table(rows, known(rows, RUN_COLUMNS), key="runs", download="scaling.csv", hidden=RUN_HIDDEN)


def known(rows: pd.DataFrame, columns: Sequence[tables.Col]) -> list[tables.Col]:
    """The columns without those that have no value at all."""
    return [column for column in columns if bool(rows[column.name].notna().any())]
