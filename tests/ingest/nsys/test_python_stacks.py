"""Python stacks of an export, from made-up bytes and from an export written for the test."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.nsys import python_stacks
from ingest.nsys.python_stacks import Schema, read_stack, read_stacks
from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import Ingest
from tests.ingest.nsys.test_payload import COLUMNS, blob
from tests.support import exports
from tests.support.every_report import slow_but
from tests.support.exports import MAIN

SAMPLES, FRAME, STATE, TRACES, ITS_FRAME = 2**32 + 2, 2**32, 2**32 + 1, 2**32 + 5, 2**32 + 3
INNER, OUTER = (11, 12, 41), (13, 14, 7)


def stack(*frames: tuple[int, int, int], state: int = 1, count: int | None = None) -> bytes:
    """A payload: the bytes after a line are leftovers of memory."""
    head = struct.pack("<QiI", 1, state, len(frames) if count is None else count)
    return head + b"".join(struct.pack("<QQiI", *frame, 0xDEADBEEF) for frame in frames)


def test_a_stack_of_two_frames() -> None:
    assert read_stack(stack(INNER, OUTER, state=3)) == (3, (INNER, OUTER))
    assert read_stack(stack()) == (1, ())


@pytest.mark.parametrize("length", [0, 1, 15, 16, 39, 63])
def test_what_is_cut_short_is_nothing(length: int) -> None:
    assert read_stack(stack(INNER, OUTER)[:length]) is None


@pytest.mark.parametrize("count", [3, 2**31, 2**32 - 1])
def test_more_frames_than_there_are_is_nothing(count: int) -> None:
    assert read_stack(stack(INNER, OUTER, count=count)) is None


def test_equal_stacks_are_one_and_a_flood_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {(1, SAMPLES): Schema("sample", {1: "Running"})}
    marks = [(n, 1, blob((SAMPLES, stack(*frames)))) for n, frames in enumerate([[INNER], [OUTER], [INNER]])]
    events, stacks, left = read_stacks(marks, known)
    assert events == [(0, "sample", "Running", 1), (1, "sample", "Running", 2), (2, "sample", "Running", 1)]
    assert (stacks, left) == ({(INNER,): 1, (OUTER,): 2}, 0)
    monkeypatch.setattr(python_stacks, "MOST_FRAMES", 1)
    assert [(event[0], event[3]) for event in read_stacks(marks, known)[0]] == [(0, 1), (2, 1)]
    assert read_stacks(marks, known)[2] == 1
    assert read_stacks([(0, 2, marks[0][2])], known)[0] == [], "a schema belongs to its domain"


def entries(*changed: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Entries as nsys 2025.3 writes them, without rows of the same schema and place."""
    rows: list[tuple[Any, ...]] = []
    for domain, number, state, frame in ((1, SAMPLES, STATE, FRAME), (2, TRACES, STATE + 3, ITS_FRAME)):
        rows += [
            (domain, number, 0, None, 18, "Thread state ID", None, None),
            (domain, number, 1, None, state, "Thread state", 8, None),
            (domain, number, 2, None, 16, "Frames count", 12, None),
            (domain, number, 3, 48, frame, "Frames", 16, 2),
            (domain, frame, 0, None, 80, "Function", None, None),
            (domain, frame, 1, None, 80, "File", 8, None),
            (domain, frame, 2, None, 15, "Line", 16, None),
        ]
    kept = {(row[0], row[1], row[2]): row for row in rows} | {(row[0], row[1], row[2]): row for row in changed}
    return list(kept.values())


def tables(*changed: tuple[Any, ...]) -> exports.Tables:
    return {
        "StringIds": (
            ("id", "value"), [(11, "&lt;lambda&gt;"), (12, "/code/a.py"), (13, "outer")]
        ),
        "NVTX_PAYLOAD_SCHEMAS": (
            ("domainId", "schemaId", "name", "type", "numEntries", "payloadSize"),
            [
                (1, SAMPLES, "Python Periodic Sampling", 2, 4, None), (1, FRAME, None, 1, 3, 24),
                (2, TRACES, "Python Backtrace on CUDA", 2, 4, None), (2, ITS_FRAME, None, 1, 3, 24),
            ],
        ),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
            ("domainId", "schemaId", "idx", "flags", "type", "name", "offset", "arrayOrUnionDetail"), entries(*changed)
        ),
        "NVTX_PAYLOAD_ENUMS": (("domainId", "schemaId", "size"), [(1, STATE, 4), (2, STATE + 3, 4)]),
        "NVTX_PAYLOAD_ENUM_ENTRIES": (
            ("domainId", "schemaId", "idx", "name", "value"),
            [(1, STATE, 0, "Running", 1), (1, STATE, 1, "Blocking Wait", 2), (2, STATE + 3, 0, "Running", 1)],
        ),
    }  # fmt: skip


EVENTS: list[tuple[Any, ...]] = [
    (1000, None, 34, None, MAIN, 1, blob((SAMPLES, stack(INNER, OUTER)))),
    (2000, None, 34, None, MAIN, 1, blob((SAMPLES, stack(OUTER, state=2)))),
    (2500, None, 34, None, MAIN, 2, blob((TRACES, stack(INNER, OUTER)))),
    (3000, None, 34, None, MAIN, 1, blob((SAMPLES, stack(INNER, count=9)))),
    (4000, 5000, 59, "work", MAIN, 0, None),
]


def written(path: Path, *changed: tuple[Any, ...]) -> None:
    exports.write(path, tables(*changed))
    with closing(sqlite3.connect(path)) as db, db:
        declared = ", ".join(f"{c!r} {'TEXT' if c in ('text', 'binaryData') else 'INTEGER'}" for c in COLUMNS)
        db.execute(f"CREATE TABLE NVTX_EVENTS ({declared})")
        db.executemany(f"INSERT INTO NVTX_EVENTS VALUES ({', '.join('?' * len(COLUMNS))})", EVENTS)


def samples(library: Library) -> list[tuple[Any, ...]]:
    with library.cursor(library.find("made.sqlite").id, views=views.list_all()) as db:
        return db.execute("""
            SELECT kind, time_ns, thread_state, list([f."function", file, line::VARCHAR] ORDER BY depth)
            FROM python_sample JOIN python_frame AS f USING (stack_id) GROUP BY ALL ORDER BY time_ns
        """).fetchall()


def test_samples_and_back_traces_of_an_export(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    written(inbox / "made.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    both = [["<lambda>", "/code/a.py", "41"], ["outer", None, "7"]]
    assert samples(empty_library) == [
        ("sample", 1000, "Running", both), ("sample", 2000, "Blocking Wait", both[1:]), ("cuda", 2500, "Running", both)
    ]  # fmt: skip


CHANGED = [
    (1, SAMPLES, 3, 48, FRAME + 90, "Frames", 16, 2),
    (1, SAMPLES, 2, None, 16, "Something else", 12, None),
    (1, FRAME, 2, None, 15, "Column", 16, None),
    (1, FRAME, 3, None, 15, "Column", 20, None),
]


@pytest.mark.parametrize("changed", slow_but(CHANGED[-1:], CHANGED, "takes one more export in"))
def test_a_layout_that_nobody_knows_is_not_guessed(
    changed: tuple[Any, ...], ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    written(inbox / "made.sqlite", changed)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert {row[0] for row in samples(empty_library)} == {"cuda"}
