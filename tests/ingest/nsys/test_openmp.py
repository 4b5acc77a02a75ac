"""OpenMP events of made-up exports, through the real worker: their tables, and damaged ones."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiledb.library.library import Library
from profiledb.query import analysis, views
from tests.conftest import Ingest
from tests.support import exports
from tests.support.every_report import slow_but
from tests.support.exports import MAIN, OTHER

BASE = ("start", "end", "eventClass", "globalTid", "nameId", "eventKind")
TABLES: exports.Tables = {
    "OPENMP_EVENT_KIND_PARALLEL": ((*BASE, "parallelId", "parentTaskId"), [(10, 90, 78, MAIN, 1, 28, 2, 1)]),
    "OPENMP_EVENT_KIND_TASK": (
        (*BASE, "parallelId", "taskId", "kind"),
        [(10, 90, 78, MAIN, 2, 31, 2, 5, 2), (20, 80, 78, OTHER, 2, 31, 2, 6, 1 << 31)],
    ),
    "OPENMP_EVENT_KIND_TASK_CREATE": ((*BASE, "parentTaskId", "newTaskId"), [(30, 30, 78, MAIN, 3, 15, 5, 7)]),
    "OPENMP_EVENT_KIND_MUTEX_WAIT": ((*BASE, "kind", "waitId", "taskId"), [(40, 50, 78, OTHER, 3, 999, 5, 64, 6)]),
    "OPENMP_EVENT_KIND_WORKSHARE": ((*BASE, "kind", "parallelId", "taskId", "count"),
                                    [(11, 60, 78, MAIN, 3, 36, 1, 2, 5, 64), (60, 11, 78, MAIN, 3, 36, 1, 2, 5, 64)]),
    "OPENMP_EVENT_KIND_THREAD": ((*BASE, "threadId", "threadType"), [(1, 99, 78, MAIN, 1, 27, 9, 1)]),
    "OPENMP_EVENT_KIND_FUTURE": (BASE, [(1, 99, 78, MAIN, 1, 50)]),
}  # fmt: skip
COLUMNS = "kind, start_ns, end_ns, global_tid, detail, parallel_id, task_id, parent_task_id, wait_id, amount"
ROWS = [
    ("mutex_wait", 40, 50, OTHER, 5, None, 6, None, 64, None),
    ("parallel", 10, 90, MAIN, None, 2, None, 1, None, None),
    ("task", 10, 90, MAIN, 2, 2, 5, None, None, None),
    ("task", 20, 80, OTHER, 1 << 31, 2, 6, None, None, None),
    ("task_create", 30, 30, MAIN, None, None, 7, 5, None, None),
    ("thread", 1, 99, MAIN, 1, None, None, None, None, None),
    ("workshare", 11, 60, MAIN, 1, 2, 5, None, None, 64),
]


def as_parquet(folder: Path) -> Path:
    """The same tables as a folder of Parquet files."""
    folder.mkdir()
    facts: exports.Tables = {
        "StringIds": (("id", "value"), [(1, "one"), (2, "two"), (3, "three")]),
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("OsDescription", "Linux")]),
    }
    for name, (columns, rows) in {**facts, **TABLES}.items():
        cells = {column: [row[at] for row in rows] for at, column in enumerate(columns)}
        pq.write_table(pa.table(cells), folder / f"{name}.parquet")
    return folder


def ask(library: Library, sql: str) -> list[tuple[Any, ...]]:
    (report,) = library.list()
    with library.cursor(report.id, views=views.list_all()) as cursor:
        return cursor.execute(sql).fetchall()


@pytest.mark.parametrize("road", ["sqlite", "parquet"])
def test_events_of_all_kinds_are_in_one_table(ingest: Ingest, inbox: Path, empty_library: Library, road: str) -> None:
    exports.write(inbox / "made.sqlite", TABLES) if road == "sqlite" else as_parquet(inbox / "made")
    assert ingest(inbox, empty_library.folder).status == 0
    assert ask(empty_library, f"SELECT {COLUMNS} FROM openmp_event ORDER BY event_id") == ROWS
    (report,) = empty_library.list()
    assert report.rows["openmp_event"] == len(ROWS)
    assert ask(empty_library, "SELECT source, row_json::JSON->>'start_ns' FROM rejected_row") == [
        ("openmp_event", "60")
    ]
    assert ask(empty_library, "SELECT global_tid FROM thread ORDER BY 1") == [(MAIN,), (OTHER,)]
    assert ask(empty_library, 'SELECT "threadId" FROM raw."OPENMP_EVENT_KIND_THREAD"') == [(9,)]
    assert not ask(empty_library, "FROM duckdb_tables() WHERE table_name LIKE '%FUTURE'"), "a kind that no list names"
    (row,) = analysis.run(empty_library, report.id, "openmp_regions").to_dict("records")
    assert (row["region"], row["wall_ns"], row["threads"], row["work_ns"], row["lock_ns"]) == ("one", 80, 2, 130, 10)


@pytest.mark.parametrize(
    "kind", slow_but(["TASK"], ["PARALLEL", "TASK", "WORKSHARE"], "takes one more damaged export in")
)
def test_a_damaged_table(ingest: Ingest, inbox: Path, empty_library: Library, kind: str) -> None:
    """Texts and bytes replace numbers: rows without valid times are dropped, the others stay."""
    path = exports.write(inbox / "made.sqlite", TABLES)
    with closing(sqlite3.connect(path)) as db, db:
        db.text_factory = bytes
        count = len(BASE)
        places = ", ".join("?" * count)
        named = ", ".join(f'"{column}"' for column in BASE)
        sql = f'INSERT INTO "OPENMP_EVENT_KIND_{kind}" ({named}) VALUES ({places})'
        db.execute(sql, (b"\xff\xfe", "later", "x", "thread", b"\x00", "y"))
        db.execute(sql, (70, 71, 1 << 62, MAIN, b"\xc3\x28", "y"))
        db.execute(sql, (1 << 62, 1 << 62, 78, MAIN, 1, 28))
    assert ingest(inbox, empty_library.folder).status == 0
    found = ask(empty_library, f"SELECT {COLUMNS} FROM openmp_event ORDER BY event_id")
    kept = (kind.lower(), 70, 71, MAIN, *[None] * 6)
    assert kept in found
    assert [row for row in found if row != kept] == ROWS
    assert ask(empty_library, "SELECT name_id FROM openmp_event WHERE start_ns = 70") == [(None,)]
    assert ask(empty_library, "SELECT count(*) FROM rejected_row WHERE source = 'openmp_event'") == [(3,)]
    (report,) = empty_library.list()
    assert analysis.run(empty_library, report.id, "openmp_sum")["Count"].sum() == len(ROWS) + 1
    assert len(analysis.run(empty_library, report.id, "openmp_regions")) == 1


def test_a_table_that_is_none(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Without any expected column, its rows have no times, and none of them counts."""
    exports.write(
        inbox / "made.sqlite", {**TABLES, "OPENMP_EVENT_KIND_TASK": (("other", "thing"), [(1, "a"), (2, "b")])}
    )
    assert ingest(inbox, empty_library.folder).status == 0
    kept = [row for row in ROWS if row[0] != "task"]
    assert ask(empty_library, f"SELECT {COLUMNS} FROM openmp_event ORDER BY event_id") == kept
    (report,) = empty_library.list()
    (region,) = analysis.run(empty_library, report.id, "openmp_regions").to_dict("records")
    assert region["wall_ns"] == 80
    assert pd.isna([region[name] for name in ("threads", "work_ns", "imbalance", "lost_ns")]).all()
