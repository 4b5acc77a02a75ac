"""Loads an nsys export into the tables of a report and completes them."""

import duckdb

from ingest.nsys import attribute, payload, projection, ranges, redact, source
from ingest.nsys.source import ENUM, Source
from profiledb.schema import count_rows, identifier, quote, read_sql
from profiledb.selected import busy

INTERVALS = (
    *("kernel", "memop", "api_call", "range", "sync", "osrt_call", "mpi_call", "graph_launch"),
    *("openacc_event", "um_gpu_page_fault"),
)
"""Tables of things that last: none may end before it begins."""

ENDLESS = ("mpi_call",)
"""Those of which the export may know no end: what hung when the capture ended is worth seeing."""


def load(db: duckdb.DuckDBPyConnection, *sources: Source) -> None:
    """Fills the tables of the report that ``db`` has open as catalog ``report``.

    Args:
        db: connection with the empty schema in catalog ``report``.
        sources: the export; a later source adds the tables that the earlier ones lack.
    """
    db.execute("SET preserve_insertion_order = false")  # row_id keeps the order; insisting on it takes one core only
    db.execute("SET asof_loop_join_threshold = 0")  # tables of a transaction look so small that loops would be chosen
    source.attach(db, *sources)
    try:
        # Before the transaction: DuckDB does not know how large the tables of an open one are, and plans badly.
        ranges.number(db)
        attribute.calls(db)
        payload.decode(db, *sources)
        _forget(db, "event", "numbered", "thing", "around", "call", "by_thread", "loose", "covered", "by_process")
        _write(db, sources)
    finally:
        db.execute("DETACH src")


def _write(db: duckdb.DuckDBPyConnection, sources: tuple[Source, ...]) -> None:
    db.execute("BEGIN")  # one commit for all: the file is worthless until it is complete
    try:
        _fill(db, sources)
    except BaseException:
        db.execute("ROLLBACK")  # leaves the tables empty, for another way to read the same export
        raise
    db.execute("COMMIT")


def _fill(db: duckdb.DuckDBPyConnection, sources: tuple[Source, ...]) -> None:
    _load_enums(db, sources)
    secrets = redact.take_strings(db)
    ranges.write(db)
    _forget(db, "nvtx", "named", "opened", "parent", "path_of", "member", "found", "number", "further_range")
    db.execute(read_sql("load.sql", "ingest.nsys"))
    _forget(db, "call_at")
    attribute.others(db)
    _link_once(db)
    _pivot_gpu_metrics(db)
    _reject_impossible(db)
    _keep_the_rest(db, sources)
    redact.blank(db, secrets)
    db.execute(f"INSERT INTO busy {busy()} ORDER BY device_id, start_ns")
    projection.project(db)
    _tell_of_whole_graphs(db)


def _forget(db: duckdb.DuckDBPyConnection, *tables: str) -> None:
    """Gives the memory of temporary tables back."""
    for table in tables:
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")


def _link_once(db: duckdb.DuckDBPyConnection) -> None:
    """Where two calls of a process share a correlation id, their operations came out twice: the first call counts."""
    for table, key in (("kernel", "kernel_id"), ("memop", "memop_id"), ("graph_launch", "launch_id")):
        (rows, different) = db.execute(f"SELECT count(*), count(DISTINCT {key}) FROM {table}").fetchone() or (0, 0)
        if rows > different:
            db.execute(f"""
                DELETE FROM {table} WHERE rowid IN (
                    SELECT rowid FROM {table} QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY call_id) > 1
                )
            """)


def _load_enums(db: duckdb.DuckDBPyConnection, sources: tuple[Source, ...]) -> None:
    """One table for all enumerations; the first source decides."""
    reads = {name: read for s in reversed(sources) for name, read in s.tables.items() if name.startswith(ENUM)}
    if not reads:
        return
    union = " UNION ALL BY NAME ".join(
        f"SELECT {quote(name.removeprefix(ENUM))} AS enum, * EXCLUDE (row_id) FROM ({read})"
        for name, read in sorted(reads.items())
    )
    db.execute(f"INSERT INTO enum_value BY NAME SELECT enum, id, name, label FROM ({union})")


def _pivot_gpu_metrics(db: duckdb.DuckDBPyConnection) -> None:
    """A column a metric: the export has a row a metric and moment, ten times the space and the time to read."""
    rows = db.execute("SELECT DISTINCT name FROM gpu_metric_name WHERE name IS NOT NULL ORDER BY name").fetchall()
    names = [name for (name,) in rows]
    if not names:
        return
    for name in names:
        db.execute(f"ALTER TABLE gpu_metric ADD COLUMN {identifier(name)} DOUBLE")
    values = ", ".join(f"max(value) FILTER (name = {quote(name)}) AS {identifier(name)}" for name in names)
    db.execute(f"""
        INSERT INTO gpu_metric BY NAME
        SELECT gpu_id, timestamp AS time_ns, {values}
        FROM src.GPU_METRICS
        JOIN gpu_metric_name ON type_id = TRY_CAST("typeId" AS BIGINT) AND metric_id = "metricId"
        GROUP BY gpu_id, timestamp ORDER BY gpu_id, timestamp
    """)


def _reject_impossible(db: duckdb.DuckDBPyConnection) -> None:
    """Takes out rows that end before they begin, and says how many: their durations would spoil every sum."""
    for table in INTERVALS:
        missing = "start_ns IS NULL" if table in ENDLESS else "start_ns IS NULL OR end_ns IS NULL"
        impossible = f"{missing} OR end_ns < start_ns"
        (count,) = db.execute(f"SELECT count(*) FROM {table} WHERE {impossible}").fetchone() or (0,)
        if not count:
            continue
        db.execute(f"""
            INSERT INTO rejected_row
            SELECT '{table}', 'no time, or an end before the start', to_json(t) FROM {table} AS t WHERE {impossible}
        """)
        db.execute(f"DELETE FROM {table} WHERE {impossible}")
        note(db, "warning", f"{count:,} rows of {table} have impossible times and are left out of every figure.")


def _keep_the_rest(db: duckdb.DuckDBPyConnection, sources: tuple[Source, ...]) -> None:
    """Stores what no table of the report took in the schema ``raw``, so that every cell stays in reach of SQL."""
    db.execute("CREATE SCHEMA raw")
    seen: set[str] = set()
    for one in sources:
        for name in sorted(set(one.tables) - seen):
            seen.add(name)
            if name.startswith(ENUM):
                continue
            if name in source.wanted():
                _keep_columns(db, one, name)
            else:
                db.execute(
                    f"CREATE TABLE raw.{identifier(name)} AS SELECT * EXCLUDE (row_id) FROM ({one.tables[name]})"
                )
    types = "(34, 59, 60, 70, 71)"
    db.execute(f'CREATE TABLE raw."NVTX_OTHER" AS FROM src.NVTX_EVENTS WHERE "eventType" NOT IN {types}')
    _drop_empty(db, "NVTX_OTHER")


def _keep_columns(db: duckdb.DuckDBPyConnection, one: Source, name: str) -> None:
    columns = ", ".join(map(identifier, source.unknown_columns(db, one, name)))
    if columns:
        db.execute(f'CREATE TABLE raw."{name}" AS SELECT row_id, {columns} FROM ({one.tables[name]})')


def _drop_empty(db: duckdb.DuckDBPyConnection, name: str) -> None:
    if db.execute(f'SELECT count(*) FROM raw."{name}"').fetchone() == (0,):
        db.execute(f'DROP TABLE raw."{name}"')


def _tell_of_whole_graphs(db: duckdb.DuckDBPyConnection) -> None:
    """Says that kernels are missing where CUDA graphs were traced as a whole, and how to capture them."""
    if count := count_rows(db, "graph_launch"):
        launches = "1 launch of a CUDA graph was" if count == 1 else f"{count:,} launches of CUDA graphs were"
        text = f"{launches} traced as a whole: the kernels inside are in no table of this report."
        note(db, "warning", f"{text} Capture with: nsys profile --cuda-graph-trace=node")


def note(db: duckdb.DuckDBPyConnection, severity: str, text: str) -> None:
    """Adds a remark of the conversion to the report: severity is info, warning or error."""
    db.execute(f"INSERT INTO diagnostic (severity, source, text) VALUES ({quote(severity)}, 'warpdeck', {quote(text)})")
