"""Check that every row of an export's tables of operations is in the report or was rejected, so that none vanishes
silently."""

from collections.abc import Collection

import duckdb

from ingest import diagnostics
from ingest.nsys import openmp
from profiledb.report.schema import quote

TABLES = {
    "kernel": ("CUPTI_ACTIVITY_KIND_KERNEL",),
    "memop": ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
    "graph_launch": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",),
    "api_call": ("CUPTI_ACTIVITY_KIND_RUNTIME",),
    "sync": ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",),
    "osrt_call": ("OSRT_API",),
    "mpi_call": ("MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS", "MPI_COLLECTIVES_EVENTS"),
    "openacc_event": tuple(f"CUPTI_ACTIVITY_KIND_OPENACC_{kind}" for kind in ("DATA", "LAUNCH", "OTHER")),
    "openmp_event": tuple(openmp.TABLES),
    "um_gpu_page_fault": ("CUDA_UM_GPU_PAGE_FAULT_EVENTS",),
    "um_cpu_page_fault": ("CUDA_UM_CPU_PAGE_FAULT_EVENTS",),
    "memory_event": ("CUDA_GPU_MEMORY_USAGE_EVENTS",),
}
"""Tables of a report with the export's tables whose rows they take."""


def check_row_counts(db: duckdb.DuckDBPyConnection, present: Collection[str]) -> None:
    """Note each table that has fewer or more rows than the export; needs the catalog ``src``.

    Args:
        db: connection that has completed the report.
        present: the tables of the export.
    """
    counted = {table: [source for source in sources if source in present] for table, sources in TABLES.items()}
    for table, sources in counted.items():
        if not sources:
            continue
        exported = " + ".join(f"(SELECT count(*) FROM src.{source})" for source in sources)
        rejected = f"(SELECT count(*) FROM rejected_row WHERE source = {quote(table)})"
        counts = f"SELECT {exported}, (SELECT count(*) FROM {table}), {rejected}"
        (expected, stored, left) = db.execute(counts).fetchone() or (0, 0, 0)
        if expected != stored + left:
            diagnostics.note(db, "warning", _count_noted_rows(table, " and ".join(sources), expected, stored, left))


def _count_noted_rows(table: str, sources: str, expected: int, stored: int, left: int) -> str:
    lost = expected - stored - left
    what = f"{lost:,} of them are missing" if lost > 0 else f"{-lost:,} of them are there twice"
    return (
        f"The export has {expected:,} rows in {sources}, and this report {stored:,} in {table}"
        + (f" and {left:,} that are impossible" if left else "")
        + f": {what}, so figures of them are wrong. This is a fault of Warpdeck: please report it."
    )
