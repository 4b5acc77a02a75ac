"""Check that every row of an export's tables of operations is in the report or was rejected, so that none vanishes
silently."""

from collections.abc import Sequence

import duckdb

from ingest import diagnostics
from ingest.nsys import openmp
from ingest.nsys.source import Source
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


def check_row_counts(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Note each table that has fewer or more rows than the export.

    Args:
        db: connection that has completed the report.
        sources: the export.
    """
    reads = {name: read for source in reversed(sources) for name, read in source.tables.items()}
    counted = {table: [name for name in names if name in reads] for table, names in TABLES.items()}
    counts = " UNION ALL ".join(
        f"SELECT {quote(table)}, {' + '.join(f'(SELECT count(*) FROM ({reads[name]}))' for name in names)},"
        f" (SELECT count(*) FROM {table}), (SELECT count(*) FROM rejected_row WHERE source = {quote(table)})"
        for table, names in counted.items()
        if names
    )
    for table, expected, stored, left in db.execute(counts).fetchall() if counts else ():
        if expected != stored + left:
            names = " and ".join(counted[table])
            diagnostics.note(db, "warning", _count_noted_rows(table, names, expected, stored, left))


def _count_noted_rows(table: str, sources: str, expected: int, stored: int, left: int) -> str:
    lost = expected - stored - left
    what = f"{lost:,} of them are missing" if lost > 0 else f"{-lost:,} of them are there twice"
    return (
        f"The export has {expected:,} rows in {sources}, and this report {stored:,} in {table}"
        + (f" and {left:,} that are impossible" if left else "")
        + f": {what}, so figures of them are wrong. This is a fault of Warpdeck: please report it."
    )
