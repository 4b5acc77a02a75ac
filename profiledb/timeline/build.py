"""Build the file of a timeline: lanes, levels of detail, and everything that the report's tables cannot answer fast."""

import tempfile
import uuid
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np

from profiledb.query import views
from profiledb.report import durable, preview, stored_views
from profiledb.report.schema import quote, read_sql
from profiledb.timeline import binning_sql, bins, gaps, lines, medians, path_pieces, power, scan, steps, sums
from profiledb.timeline.event_queries import KEYS, read_direct
from profiledb.timeline.lanes import Lane, Names, build_tree
from profiledb.timeline.open_timeline import Lanes, read_lanes
from profiledb.timeline.path_pieces import Path as CriticalPath
from profiledb.timeline.rows import ROWS, FirstFit

VERSION = 7
"""Raise when the content of a file changes; files of other versions are built again."""

FINEST = 20
"""Bins of 2^20 ns are the finest in the file; finer tiles are answered from the events."""
STEP = 2

DIRECT = ("stream", "api", "osrt", "range")
"""Kinds whose events the report's tables answer as fast as a copy would, unless some overlap."""

_OF_PREVIEW = ("stream", "nccl")
"""Kinds of lanes that a preview has (report/preview.py); others are not shown, because they would be empty."""

_FORMAT = "STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 16384, ROW_GROUP_SIZE 16384"


def get_timeline_path(timelines: Path, report_id: str) -> Path:
    """Return the path of a report's timeline, whether it exists or not."""
    return timelines / f"{report_id}.timeline{VERSION}.duckdb"


def build_raw_views() -> str:
    """Return SQL that creates the views ``raw_*``."""
    return read_sql("sources.sql", "profiledb.timeline")


def build(
    report: Path,
    target: Path,
    work: Path,
    log: Path | None = None,
    memory_limit: str = "1GB",
    path: CriticalPath | None = None,
    stored: Path | None = None,
) -> None:
    """Build the timeline of ``report`` and move it to ``target``.

    Args:
        report: the database of a report.
        target: final path; the file is complete when it appears there.
        work: an unused path on the same file system, for the unfinished file.
        log: the power log of the report, whether it exists or not; a damaged one counts as none.
        memory_limit: memory that DuckDB may take before it spills to disk.
        path: the critical path of the report; without one it has no lane.
        stored: the folder of stored views (report/stored_views.py); without them, all that it needs are created.

    Raises:
        duckdb.Error: the report is damaged, or the disk is full.
    """
    work.unlink(missing_ok=True)
    made_of = (*read_file_state(report), *read_file_state(log))
    spill = str(Path(tempfile.gettempdir()) / f"warpdeck-{uuid.uuid4().hex}")  # DuckDB creates and removes it
    db = duckdb.connect(config={"memory_limit": memory_limit, "temp_directory": spill})
    try:
        db.execute(f"ATTACH {quote(str(report))} AS r (READ_ONLY)")
        db.execute(f"ATTACH {quote(str(work))} AS t ({_FORMAT})")
        has_views = stored_views.attach(db, stored)
        db.execute(f"SET search_path = 'r,t,{stored_views.CATALOG},memory'")
        kinds = _OF_PREVIEW if preview.make_blank(db, "r") else tuple(KEYS)
        if not has_views:
            needed = views.build_sql(["idle", "ranges", "power", "openmp"])
            db.execute(needed.replace("CREATE OR REPLACE ", "CREATE OR REPLACE TEMP "))
        power.read_log(db, log)
        path = path or CriticalPath([], "")
        path_pieces.write_pieces(db, path)
        _write_tables(db, made_of, path.part, kinds)
        db.execute("SET search_path = 'memory'")
        db.execute("DETACH t")
        db.close()
        durable.move(work, target)
    finally:
        db.close()
        work.unlink(missing_ok=True)


def read_file_state(file: Path | None) -> tuple[int, int]:
    """Return size and time of a file; both 0 if there is none."""
    try:
        status = file.stat() if file else None
    except FileNotFoundError:
        status = None
    return (status.st_size, status.st_mtime_ns) if status else (0, 0)


def _write_tables(db: duckdb.DuckDBPyConnection, made_of: Sequence[int], part: str, kinds: Sequence[str]) -> None:
    db.execute(read_sql("tables.sql", "profiledb.timeline"))
    steps.write_steps(db)
    db.execute(gaps.PIECES)
    if "idle" not in kinds:
        db.execute("DELETE FROM idle_piece")
    db.execute(read_sql("own_names.sql", "profiledb.timeline"))
    db.execute(build_raw_views().replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMP VIEW"))
    ((origin, end),) = db.execute("SELECT start_ns, end_ns FROM capture_window").fetchall() or [(0, 0)]
    origin, end = origin or 0, end or 0
    lanes, left_out = build_tree(
        [*_find_lanes(db, origin, part, kinds), *lines.find_lanes(db), *power.find_lanes(db)], _read_names(db)
    )
    sums.drop_long_sums(db, lanes)
    _write_lanes(db, lanes, origin)
    begin = min([0, *(lane.first_ns - origin for lane in lanes if lane.events)])
    end = max([end - origin, *(lane.last_ns - origin for lane in lanes if lane.events)])
    report_bytes, report_time, log_bytes, log_time = made_of
    made = (origin, begin, end, report_bytes, report_time, left_out, log_bytes, log_time)
    db.execute(f"INSERT INTO t.made VALUES ({', '.join(map(str, made))})")
    _write_events(db, lanes, origin)
    sums.write_sums(db, lanes)
    gaps.write_gaps(db, origin)
    _write_levels(db, lanes, origin, begin, choose_levels(begin, end))
    lines.write_values(db, [lane for lane in lanes if lane.kind == "line"], origin, choose_levels(begin, end))
    medians.store_medians(db, Lanes(origin, begin, end, *read_lanes(db)))


def _find_lanes(db: duckdb.DuckDBPyConnection, origin: int, part: str, kinds: Sequence[str]) -> list[Lane]:
    """Return the lanes that have events, with the facts that the tree and the levels need."""
    db.execute(sums.PARTS)
    lanes = []
    for kind in kinds:
        if kind not in DIRECT:  # these views compute, and their rows are read several times
            db.execute(f"CREATE OR REPLACE TEMP TABLE rows_{kind} AS FROM raw_{kind}")
        lanes += scan.scan_lanes(db, kind, KEYS[kind], _name_rows(kind), origin)
    for lane in lanes:
        lane.detail = part if lane.kind == "path" else lane.detail
        lane.direct = lane.leveled and not lane.overlaps and lane.kind in DIRECT
    return lanes


def _name_rows(kind: str) -> str:
    return f"raw_{kind}" if kind in DIRECT else f"rows_{kind}"


def _read_names(db: duckdb.DuckDBPyConnection) -> Names:
    gpus = dict(db.execute("SELECT gpu_id, coalesce(name, '') FROM gpu").fetchall())
    processes = dict(db.execute("SELECT global_pid, coalesce(name, '') FROM process").fetchall())
    threads = dict(db.execute("SELECT global_tid, coalesce(name, '') FROM thread").fetchall())
    return Names(gpus, processes, threads)


def _describe_depth(lane: Lane) -> str:
    """Describe the depth of a lane that does not show all levels."""
    return f"{lane.rows:,} levels" if lane.rows > ROWS else ""


def _write_lanes(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int) -> None:
    rows = [
        (
            lane.id, lane.parent, lane.kind, lane.title, lane.detail or _describe_depth(lane), min(lane.rows, ROWS),
            lane.events, lane.busy_ns, lane.grp, lane.device, lane.pid, lane.stream, lane.tid, lane.unit, lane.max,
            lane.direct, lane.leveled, lane.sum_z, lane.first_ns - origin, lane.last_ns - origin, lane.source, None,
        )
        for lane in lanes
    ]  # fmt: skip
    for at in range(0, len(rows), 500):
        values = ", ".join(f"({', '.join(map(_format_literal, row))})" for row in rows[at : at + 500])
        db.execute(f"INSERT INTO t.lane VALUES {values}")


def _format_literal(value: object) -> str:
    return quote(value) if isinstance(value, str) else "NULL" if value is None else str(value)


def choose_levels(begin: int, end: int) -> Sequence[int]:
    """Return the levels of a capture, each the logarithm of its bins' width in ns, as long as there are many bins."""
    return [z for z in range(FINEST, 53, STEP) if z == FINEST or (end - begin) >> z > 2048]


def _write_events(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int) -> None:
    """Copy the lanes that are not read from the report, in the order of reading."""
    db.execute("CREATE TEMP TABLE copied AS FROM t.event LIMIT 0")
    for kind in KEYS:
        mine = [lane for lane in lanes if lane.kind == kind and not lane.direct]
        if as_is := [lane.id for lane in mine if not lane.overlaps]:
            db.execute(
                f"INSERT INTO copied {read_direct(kind, _build_id_condition(as_is), origin, table=_name_rows(kind))}"
            )
        for lane in mine:
            if lane.overlaps:
                _write_overlapping(db, lane, origin)
    db.execute("INSERT INTO t.event FROM copied ORDER BY lane, row, s, e, ref; DROP TABLE copied")


def _write_overlapping(db: duckdb.DuckDBPyConnection, lane: Lane, origin: int) -> None:
    import pyarrow as pa

    source = read_direct(lane.kind, f"id = {lane.id}", origin, table=_name_rows(lane.kind))
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
        db.execute("INSERT INTO copied FROM placed")
        db.unregister("placed")
    if top + 1 == ROWS:  # events in the last row may be cut, so that no sums would match
        lane.sum_z = None
    stored_zoom = "NULL" if lane.sum_z is None else lane.sum_z
    db.execute(f"UPDATE t.lane SET rows = {top + 1}, sum_z = {stored_zoom} WHERE id = {lane.id}")


_BATCH = 100_000


def _build_id_condition(ids: Sequence[int]) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def _write_levels(
    db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int, begin: int, zooms: Sequence[int]
) -> None:
    """Write each level from the one before, the finest from the events, with the same result (tests)."""
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
        source = f"SELECT {binning_sql.SOURCE} FROM t.level WHERE z = {finer}"
        binning = binning_sql.build_binning(source, width, begin // width * width)
        db.execute(f"INSERT INTO t.level SELECT {z}, * FROM ({binning}) ORDER BY lane, row, s, e")


def _write_finest(db: duckdb.DuckDBPyConnection, events: str, count: int) -> None:
    """Write the finest level, one window of time after another, each with the bin before it."""
    import pyarrow as pa

    db.execute("CREATE TEMP TABLE finest AS FROM t.level LIMIT 0")
    width = 1 << FINEST
    edges = sorted({edge // width * width for edge in scan.find_edges(db, f"({events})", count, "s")})
    for low, high in pairwise([-scan.FAR, *edges, scan.FAR]):
        query = f"SELECT {_COLUMNS} FROM ({events}) WHERE s >= {max(-scan.FAR, low - width)} AND s < {high}"
        rows = {name: np.asarray(column) for name, column in db.execute(query).fetchnumpy().items()}
        order = np.lexsort((rows["e"], rows["s"], rows["row"], rows["lane"]))
        rows = {name: column[order] for name, column in rows.items()}
        if not len(order):
            continue
        lasted = rows["e"] - rows["s"]
        rows |= {"n": np.ones(len(order), dtype=np.int64), "busy": lasted, "d": lasted}
        items = bins.make_items(rows, FINEST, int(rows["s"].min()) // width * width)
        is_inside = (items["s"] >= low) & (items["s"] < high)
        db.register("items", pa.table({name: items[name][is_inside] for name in bins.NAMES}))
        db.execute(f"INSERT INTO finest SELECT {FINEST}, {binning_sql.SOURCE} FROM items")
        db.unregister("items")
    db.execute("INSERT INTO t.level FROM finest ORDER BY lane, row, s, e; DROP TABLE finest")


_COLUMNS = "lane, row, s, e, name, ref"
