"""Combine the OpenMP events of an nsys export, which has a table per kind, in one table."""

from collections.abc import Collection

import duckdb

from ingest.derive import staging
from profiledb.report.schema import quote

PREFIX = "OPENMP_EVENT_KIND_"
_KINDS = [
    "CANCEL",
    "CRITICAL_SECTION",
    "DISPATCH",
    "FLUSH",
    "LOCK_DESTROY",
    "LOCK_INIT",
    "MASTER",
    "MUTEX_RELEASED",
    "MUTEX_WAIT",
    "PARALLEL",
    "REDUCTION",
    "SYNC_REGION",
    "SYNC_REGION_WAIT",
    "TASK",
    "TASK_CREATE",
    "TASK_SCHEDULE",
    "THREAD",
    "WORKSHARE",
]
_COLUMNS = {
    "start": "BIGINT", "end": "BIGINT", "globalTid": "BIGINT", "nameId": "BIGINT", "eventKind": "INTEGER",
    "kind": "BIGINT", "threadType": "BIGINT", "parallelId": "BIGINT", "taskId": "BIGINT", "newTaskId": "BIGINT",
    "parentTaskId": "BIGINT", "waitId": "BIGINT", "count": "BIGINT",
}  # fmt: skip
TABLES = {f"{PREFIX}{kind}": dict(sorted(_COLUMNS.items())) for kind in _KINDS}
"""Tables of an export with the wanted columns; no table has all of them (attach)."""


def stage_openmp(db: duckdb.DuckDBPyConnection, present: Collection[str]) -> None:
    """Replace ``staged_openmp_event`` by a view of the events if the export has any.

    Args:
        db: connection with the export as the catalog ``src``.
        present: the tables of the export.
    """
    selects = [
        f"SELECT {number} AS part, {quote(name.removeprefix(PREFIX).lower())} AS kind_name, * FROM src.{name}"
        for number, name in enumerate(TABLES)
        if name in present
    ]
    if not selects:
        return
    staging.forget(db, "openmp_event")
    db.execute(f"""
        CREATE TEMP VIEW staged_openmp_event AS
        SELECT row_number() OVER (ORDER BY part, row_id) AS event_id, kind_name AS kind, start AS start_ns,
            "end" AS end_ns, "globalTid" AS global_tid, "nameId" AS name_id, "eventKind" AS event_kind,
            coalesce(kind, "threadType") AS detail, "parallelId" AS parallel_id,
            coalesce("taskId", "newTaskId") AS task_id, "parentTaskId" AS parent_task_id, "waitId" AS wait_id,
            "count" AS amount
        FROM ({" UNION ALL ".join(selects)})
    """)
