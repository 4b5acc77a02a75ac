"""Makes the file of a timeline: lanes, levels of detail, and what the report's own tables cannot answer at once."""

import tempfile
import uuid
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np

from profiledb.query import views
from profiledb.report import durable
from profiledb.report.schema import quote, read_sql
from profiledb.timeline import binned, bins, gaps, lines, medians, power, scan, steps, sums
from profiledb.timeline.event_queries import KEYS, read_direct
from profiledb.timeline.lanes import Lane, Names, tree
from profiledb.timeline.open_timeline import Lanes, read_lanes
from profiledb.timeline.rows import ROWS, FirstFit

VERSION = 5
"""Raised when what a file holds changes; a file of another version is made anew."""

FINEST = 20
"""Bins of 2^20 ns are the finest that are kept; below, a tile is answered from the events."""
STEP = 2

DIRECT = ("stream", "api", "osrt", "range")
"""Kinds whose events the report's tables answer as fast as a copy of them would, where none overlap."""

_FORMAT = "STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 16384, ROW_GROUP_SIZE 16384"


def path(timelines: Path, report_id: str) -> Path:
    """Where the file of a report's timeline is, whether it exists or not."""
    return timelines / f"{report_id}.timeline{VERSION}.duckdb"


def sources() -> str:
    """SQL that creates the views ``raw_*``."""
    return read_sql("sources.sql", "profiledb.timeline")


def build(report: Path, target: Path, work: Path, log: Path | None = None, memory_limit: str = "1GB") -> None:
    """Makes the file of the timeline of ``report`` and moves it to ``target``.

    Args:
        report: the database of a report.
        target: where the file goes; it is whole when it has its name.
        work: an empty name on the same file system, for the file while it is made.
        log: the log of power beside the report, whether it exists or not; one that is damaged counts as none.
        memory_limit: what DuckDB may take before it writes to disk.

    Raises:
        duckdb.Error: the report is damaged, or the disk full.
    """
    work.unlink(missing_ok=True)
    made_of = (*state(report), *state(log))
    spill = str(Path(tempfile.gettempdir()) / f"warpdeck-{uuid.uuid4().hex}")  # DuckDB makes it, and takes it away
    db = duckdb.connect(config={"memory_limit": memory_limit, "temp_directory": spill})
    try:
        db.execute(f"ATTACH {quote(str(report))} AS r (READ_ONLY)")
        db.execute(f"ATTACH {quote(str(work))} AS t ({_FORMAT})")
        db.execute("SET search_path = 'r,t,memory'")
        needed = views.sql(["idle", "ranges", "power", "openmp"])
        db.execute(needed.replace("CREATE OR REPLACE ", "CREATE OR REPLACE TEMP "))
        power.read(db, log)
        _fill(db, made_of)
        db.execute("SET search_path = 'memory'")
        db.execute("DETACH t")
        db.close()
        durable.move(work, target)
    finally:
        db.close()
        work.unlink(missing_ok=True)


def state(file: Path | None) -> tuple[int, int]:
    """What changes with a file: its bytes and its time; both 0 where there is none."""
    try:
        status = file.stat() if file else None
    except FileNotFoundError:
        status = None
    return (status.st_size, status.st_mtime_ns) if status else (0, 0)


def _fill(db: duckdb.DuckDBPyConnection, made_of: Sequence[int]) -> None:
    db.execute(read_sql("tables.sql", "profiledb.timeline"))
    steps.write(db)
    db.execute(gaps.PIECES)
    db.execute(read_sql("own_names.sql", "profiledb.timeline"))
    db.execute(sources().replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMP VIEW"))
    ((origin, end),) = db.execute("SELECT start_ns, end_ns FROM capture_window").fetchall() or [(0, 0)]
    origin, end = origin or 0, end or 0
    lanes, left_out = tree([*_found(db, origin), *lines.found(db), *power.found(db)], _names(db))
    sums.settle(db, lanes)
    _write_lanes(db, lanes, origin)
    begin = min([0, *(lane.first_ns - origin for lane in lanes if lane.events)])
    end = max([end - origin, *(lane.last_ns - origin for lane in lanes if lane.events)])
    report_bytes, report_time, log_bytes, log_time = made_of
    made = (origin, begin, end, report_bytes, report_time, left_out, log_bytes, log_time, "NULL")
    db.execute(f"INSERT INTO t.made VALUES ({', '.join(map(str, made))})")
    _write_events(db, lanes, origin)
    sums.write(db, lanes)
    gaps.write(db, origin)
    _write_levels(db, lanes, origin, begin, levels(begin, end))
    lines.write(db, [lane for lane in lanes if lane.kind == "line"], origin, levels(begin, end))
    medians.write(db, Lanes(origin, begin, end, *read_lanes(db), median_ns=None))


def _found(db: duckdb.DuckDBPyConnection, origin: int) -> list[Lane]:
    """The lanes that have events, with what the tree and the levels need to know of each."""
    db.execute(sums.PARTS)
    found = []
    for kind, keys in KEYS.items():
        if kind not in DIRECT:  # these views compute; their rows are asked for several times
            db.execute(f"CREATE OR REPLACE TEMP TABLE rows_{kind} AS FROM raw_{kind}")
        found += scan.lanes(db, kind, keys, _rows(kind), origin)
    for lane in found:
        lane.direct = lane.leveled and not lane.overlaps and lane.kind in DIRECT
    return found


def _rows(kind: str) -> str:
    return f"raw_{kind}" if kind in DIRECT else f"rows_{kind}"


def _names(db: duckdb.DuckDBPyConnection) -> Names:
    gpus = dict(db.execute("SELECT gpu_id, coalesce(name, '') FROM gpu").fetchall())
    processes = dict(db.execute("SELECT global_pid, coalesce(name, '') FROM process").fetchall())
    threads = dict(db.execute("SELECT global_tid, coalesce(name, '') FROM thread").fetchall())
    return Names(gpus, processes, threads)


def _levels(lane: Lane) -> str:
    """How deep a lane is of which not all levels have a row."""
    return f"{lane.rows:,} levels" if lane.rows > ROWS else ""


def _write_lanes(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int) -> None:
    rows = [
        (
            lane.id, lane.parent, lane.kind, lane.title, lane.detail or _levels(lane), min(lane.rows, ROWS),
            lane.events, lane.busy_ns, lane.grp, lane.device, lane.pid, lane.stream, lane.tid, lane.unit, lane.max,
            lane.direct, lane.leveled, lane.sum_z, lane.first_ns - origin, lane.last_ns - origin, lane.source, None,
        )
        for lane in lanes
    ]  # fmt: skip
    for at in range(0, len(rows), 500):
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows[at : at + 500])
        db.execute(f"INSERT INTO t.lane VALUES {values}")


def _literal(value: object) -> str:
    return quote(value) if isinstance(value, str) else "NULL" if value is None else str(value)


def levels(begin: int, end: int) -> Sequence[int]:
    """The levels of a capture, each the logarithm of its bins' width in ns: as long as there are many bins."""
    return [z for z in range(FINEST, 53, STEP) if z == FINEST or (end - begin) >> z > 2048]


def _write_events(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int) -> None:
    """Copies the lanes that are not read from the report, in the order in which they are asked for."""
    db.execute("CREATE TEMP TABLE kept AS FROM t.event LIMIT 0")
    for kind in KEYS:
        mine = [lane for lane in lanes if lane.kind == kind and not lane.direct]
        if as_is := [lane.id for lane in mine if not lane.overlaps]:
            db.execute(f"INSERT INTO kept {read_direct(kind, _among(as_is), origin, table=_rows(kind))}")
        for lane in mine:
            if lane.overlaps:
                _write_overlapping(db, lane, origin)
    db.execute("INSERT INTO t.event FROM kept ORDER BY lane, row, s, e, ref; DROP TABLE kept")


def _write_overlapping(db: duckdb.DuckDBPyConnection, lane: Lane, origin: int) -> None:
    import pyarrow as pa

    source = read_direct(lane.kind, f"id = {lane.id}", origin, table=_rows(lane.kind))
    db.execute(f"CREATE OR REPLACE TEMP TABLE crowd AS {source} ORDER BY s, e DESC, ref")
    fit, top, at = FirstFit(), 0, 0
    while batch := db.execute(f"FROM crowd WHERE rowid BETWEEN {at} AND {at + _BATCH - 1}").fetchnumpy():
        if not len(batch["s"]):
            break
        row, s, e = fit.place(np.asarray(batch["s"]), np.asarray(batch["e"]))
        top, at = max(top, int(row.max())), at + len(row)
        placed = pa.table(
            {"lane": batch["lane"], "row": row, "s": s, "e": e, "name": batch["name"], "ref": batch["ref"]}
        )
        db.register("placed", placed)
        db.execute("INSERT INTO kept FROM placed")
        db.unregister("placed")
    if top + 1 == ROWS:  # events in the last row may be cut, so that no sums fit them
        lane.sum_z = None
    kept = "NULL" if lane.sum_z is None else lane.sum_z
    db.execute(f"UPDATE t.lane SET rows = {top + 1}, sum_z = {kept} WHERE id = {lane.id}")


_BATCH = 100_000


def _among(ids: Sequence[int]) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def _write_levels(
    db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int, begin: int, zooms: Sequence[int]
) -> None:
    """Writes each level from the one before, the finest from the events, with the same result (tests)."""
    leveled = [lane for lane in lanes if lane.leveled]
    if not leveled:
        return
    kinds = sorted({lane.kind for lane in leveled if lane.direct})
    events = " UNION ALL ".join(
        [
            *(read_direct(kind, "direct", origin) for kind in kinds),
            "SELECT * FROM t.event WHERE lane IN (SELECT id FROM t.lane WHERE leveled)",
        ]
    )
    _write_finest(db, events, sum(lane.events for lane in leveled))
    for finer, z in pairwise(zooms):
        width = 1 << z
        source = f"SELECT {binned.SOURCE} FROM t.level WHERE z = {finer}"
        binning = binned.sql(source, width, begin // width * width)
        db.execute(f"INSERT INTO t.level SELECT {z}, * FROM ({binning}) ORDER BY lane, row, s, e")


def _write_finest(db: duckdb.DuckDBPyConnection, events: str, count: int) -> None:
    """Writes the finest level, a window of time after the other, each with the bin before it."""
    import pyarrow as pa

    db.execute("CREATE TEMP TABLE finest AS FROM t.level LIMIT 0")
    width = 1 << FINEST
    edges = sorted({edge // width * width for edge in scan.edges(db, f"({events})", count, "s")})
    for low, high in pairwise([-scan.FAR, *edges, scan.FAR]):
        query = f"SELECT {_COLUMNS} FROM ({events}) WHERE s >= {max(-scan.FAR, low - width)} AND s < {high}"
        rows = {name: np.asarray(column) for name, column in db.execute(query).fetchnumpy().items()}
        order = np.lexsort((rows["e"], rows["s"], rows["row"], rows["lane"]))
        rows = {name: column[order] for name, column in rows.items()}
        if not len(order):
            continue
        lasted = rows["e"] - rows["s"]
        rows |= {"n": np.ones(len(order), dtype=np.int64), "busy": lasted, "d": lasted}
        items = bins.items(rows, FINEST, int(rows["s"].min()) // width * width)
        kept = (items["s"] >= low) & (items["s"] < high)
        db.register("items", pa.table({name: items[name][kept] for name in bins.NAMES}))
        db.execute(f"INSERT INTO finest SELECT {FINEST}, {binned.SOURCE} FROM items")
        db.unregister("items")
    db.execute("INSERT INTO t.level FROM finest ORDER BY lane, row, s, e; DROP TABLE finest")


_COLUMNS = "lane, row, s, e, name, ref"
