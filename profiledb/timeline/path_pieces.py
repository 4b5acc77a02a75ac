"""The critical path as a lane: its stretches with the kernels, copies and calls of the report that they are about."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from profiledb import words
from profiledb.errors import WarpdeckError
from profiledb.library.library import Library

if TYPE_CHECKING:
    from profiledb.replay.critical_path import Segment
    from profiledb.replay.recording import Recording

TABLE = "path_piece (start_ns BIGINT, end_ns BIGINT, source VARCHAR, id BIGINT, text VARCHAR)"
SOURCES = ("kernel", "memop", "graph_launch", "api")
"""Tables of the events that the path is about; the number of an event in the lane tells which (``sources.sql``)."""
_FROM_KIND = ("kernel", "memop", "memop", "graph_launch")
_TEXTS = {"host code": "non-CUDA code"}


@dataclass(frozen=True)
class Path:
    """The critical path: rows of the table ``path_piece``, and the part of the capture that it covers."""

    rows: list[tuple[int, int, str, int, str]]
    part: str


def read_path(library: Library, report_id: str) -> Path:
    """Return the critical path of a report alone, without other ranks of its run; no rows if it cannot be replayed."""
    from profiledb.replay.prediction import open_case

    try:
        case = open_case(library, report_id)
    except WarpdeckError:
        return Path([], "")
    part = words.counted(len(case.window.steps), "step") if case.window.steps else ""
    return Path([_make_row(case.graph.recording, one) for one in case.path()], part)


def _make_row(recording: "Recording", one: "Segment") -> tuple[int, int, str, int, str]:
    from profiledb.replay.critical_path import CALLS

    if one.operation >= 0:
        operations = recording.operations
        source, number = _FROM_KIND[int(operations.kind[one.operation])], int(operations.id[one.operation])
        return one.begin_ns, one.end_ns, source, number, ""
    if one.kind == CALLS:
        return one.begin_ns, one.end_ns, "api", int(recording.calls.id[one.call]), ""
    return one.begin_ns, one.end_ns, "", -1, _TEXTS.get(one.kind, one.kind)


def write_pieces(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Create the table ``path_piece``."""
    import pyarrow as pa

    db.execute(f"CREATE OR REPLACE TEMP TABLE {TABLE}")
    if path.rows:
        names = ("start_ns", "end_ns", "source", "id", "text")
        db.register("pieces", pa.table(dict(zip(names, zip(*path.rows, strict=True), strict=True))))
        db.execute("INSERT INTO path_piece FROM pieces")
        db.unregister("pieces")
