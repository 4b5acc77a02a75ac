"""The content of a Nsight Compute report from any reader, and how it gets into the tables of ``schema_ncu.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any

import duckdb
import pyarrow as pa

from ingest import scrub
from ingest.ncu.columns import Metrics
from ingest.ncu.names import ATTRIBUTES, HEADLINES
from profiledb.errors import ConversionError
from profiledb.words import counted

UNNAMED = "(unnamed)"


@dataclass
class Launch:
    """The process and names of a launch; numbers that are also metrics come from the metric first."""

    launch_id: int
    pid: int | None = None
    process_name: str | None = None
    device_id: int | None = None
    context_id: int | None = None
    stream_id: int | None = None
    kernel: str = UNNAMED
    mangled: str | None = None
    workload: str | None = None
    nvtx: str | None = None
    launched_at: str | None = None
    cc: str | None = None
    grid_x: int | None = None
    grid_y: int | None = None
    grid_z: int | None = None
    block_x: int | None = None
    block_y: int | None = None
    block_z: int | None = None


@dataclass
class Detail:
    """A row of the details page, in base units."""

    launch_id: int
    position: int
    section: str
    label: str
    metric: str | None
    unit: str
    value: float | None
    text: str | None


@dataclass
class Rule:
    """A rule's result, word for word."""

    launch_id: int
    position: int
    section: str
    rule: str
    type: str
    message: str
    speedup_type: str | None
    speedup_pct: float | None


@dataclass
class Nvtx:
    """A range open at a launch."""

    launch_id: int
    domain: str
    style: str
    level: int
    name: str


@dataclass
class Capture:
    """A whole Nsight Compute report, whichever reader read it."""

    converter: str
    launches: list[Launch] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    details: list[Detail] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    nvtx: list[Nvtx] = field(default_factory=list)
    diagnostics: list[tuple[str, str, str]] = field(default_factory=list)
    tool_version: str | None = None
    captured_at: datetime | None = None
    command: str | None = None
    driver_version: str | None = None
    cuda_version: str | None = None


def store_capture(db: duckdb.DuckDBPyConnection, capture: Capture) -> None:
    """Fill the tables from a capture.

    Raises:
        ConversionError: the capture has no launch or no value (an empty report is never right), or names that are no
            text.
    """
    if not capture.launches or not (capture.details or len(capture.metrics.value)):
        raise ConversionError(
            "The report has launches, but none of their metrics can be read: it is damaged, or ncu measured nothing."
            if capture.launches
            else "The report has no kernels measured by ncu.",
            hint="Capture again and check ncu's output for ==ERROR== or ==WARNING== lines.",
            detail="\n".join(text for _, _, text in capture.diagnostics),
        )
    _note_missing_data(capture)
    try:
        _fill_columns(db, capture)
    except UnicodeError as error:
        raise ConversionError(
            "The report has names that are not text: it is damaged.",
            hint="Copy the file again, or capture again.",
            detail=str(error),
        ) from error


def _note_missing_data(capture: Capture) -> None:
    measured = {*capture.metrics.launch, *(detail.launch_id for detail in capture.details)}
    without = sum(launch.launch_id not in measured for launch in capture.launches)
    unnamed = sum(launch.kernel == UNNAMED for launch in capture.launches if launch.workload in (None, "kernel"))
    if unnamed == len(capture.launches) and capture.launches[0].workload is None:
        unnamed = 0  # the reader of a table without that column notes it
    for count, what in ((without, "metrics"), (unnamed, "name")):
        if count:
            text = f"{counted(count, 'launch')} without {what}: the file has none there, or it is damaged."
            capture.diagnostics.append(("warning", "warpdeck", text))


def _fill_columns(db: duckdb.DuckDBPyConnection, capture: Capture) -> None:
    metrics = capture.metrics
    names = {
        "metric_id": list(metrics.ids.values()),
        "name": list(metrics.ids),
        "unit": [metrics.units[name] for name in metrics.ids],
    }
    _insert_table(
        db,
        "ncu_metric_name",
        pa.table(names, pa.schema([("metric_id", "int32"), ("name", "string"), ("unit", "string")])),
    )
    _insert_table(db, "ncu_metric", metrics.table())
    _insert_table(db, "ncu_metric_instance", metrics.instances.table())
    for table, kind, rows in (
        ("ncu_detail", Detail, capture.details),
        ("ncu_rule", Rule, capture.rules),
        ("ncu_nvtx", Nvtx, capture.nvtx),
    ):
        columns = tuple(f.name for f in fields(kind))
        _insert_rows(db, table, columns, list(map(attrgetter(*columns), rows)))
    _insert_launches(db, capture.launches)
    _insert_rows(db, "diagnostic", ("severity", "source", "text"), capture.diagnostics)
    _insert_report(db, capture)
    _insert_gpus(db)


def _insert_table(db: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    db.register("staged", _scrub_texts(rows))
    try:
        columns = ", ".join(f'"{c}"' for c in rows.column_names)
        db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM staged")
    finally:
        db.unregister("staged")


def _scrub_texts(rows: pa.Table) -> pa.Table:
    """Return the rows with all texts scrubbed, each distinct text once."""
    for at, column in enumerate(rows.column_names):
        if pa.types.is_string(rows.column(at).type):
            coded = rows.column(at).combine_chunks().dictionary_encode()
            scrubbed = pa.array([scrub.scrub_text(text) for text in coded.dictionary.to_pylist()], pa.string())
            rows = rows.set_column(at, column, scrubbed.take(coded.indices))
    return rows


def _insert_rows(
    db: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    if rows:
        _insert_table(
            db,
            table,
            pa.table({c: pa.array(values) for c, values in zip(columns, zip(*rows, strict=True), strict=True)}),
        )


def _insert_launches(db: duckdb.DuckDBPyConnection, launches: Sequence[Launch]) -> None:
    identity = pa.Table.from_pylist([asdict(launch) for launch in launches])
    db.register("staged", _scrub_texts(identity))
    own = {f.name for f in fields(Launch)}
    wanted = sorted({name for names in HEADLINES.values() for name in names})
    columns = {name: f"any_value(identity.{name})" for name in (f.name for f in fields(Launch))}
    for column, names in HEADLINES.items():
        values = [f"any_value(value) FILTER (name = '{name}')" for name in names]
        values += [columns[column]] if column in own else []
        columns[column] = f"coalesce({', '.join(values)})"
    for size in ("grid", "block"):
        product = " * ".join(f"any_value(identity.{size}_{axis})" for axis in "xyz")
        columns[f"{size}_size"] = f"coalesce({columns[f'{size}_size']}, {product})"
        # Hand-picked tables often omit z, which the other numbers determine.
        x, y, z = (columns[f"{size}_{axis}"] for axis in "xyz")
        size_column = columns[f"{size}_size"]
        columns[f"{size}_z"] = (
            f"coalesce({z}, CASE WHEN {size_column} % ({x} * {y}) = 0 THEN {size_column} // ({x} * {y}) END)"
        )
    query = f"""
        INSERT INTO ncu_launch ({", ".join(columns)})
        SELECT {", ".join(columns.values())}
        FROM staged AS identity LEFT JOIN (
            SELECT launch_id, name, value FROM ncu_metric JOIN ncu_metric_name USING (metric_id)
            WHERE list_contains($1, name)
            UNION ALL SELECT launch_id, 'label:' || label, value FROM ncu_detail
            WHERE section LIKE 'GPU Speed Of Light%'
        ) AS headline USING (launch_id)
        GROUP BY launch_id ORDER BY launch_id"""
    try:
        db.execute(query, [wanted])
    finally:
        db.unregister("staged")


def _insert_report(db: duckdb.DuckDBPyConnection, capture: Capture) -> None:
    row = {
        "kind": "ncu",
        "tool": "Nsight Compute",
        "tool_version": capture.tool_version,
        "converter": capture.converter,
        "captured_at": capture.captured_at,
        "command": scrub.scrub_command_line(capture.command),
        "driver_version": capture.driver_version,
        "cuda_version": capture.cuda_version,
    }
    _insert_one(db, "report", row)
    processes = dict.fromkeys((launch.pid, launch.process_name) for launch in capture.launches)
    known = [process for process in processes if process != (None, None)]
    if known:
        shown = [(pid, name and scrub.scrub_text(name)) for pid, name in known]
        db.executemany("INSERT INTO process (pid, name) VALUES (?, ?)", shown)


def _insert_one(db: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def _insert_gpus(db: duckdb.DuckDBPyConnection) -> None:
    """Insert a row per device that ran a launch, from the attributes that ncu stores with every launch."""
    stored = db.execute("""
        SELECT coalesce(device_id, 0) AS gpu_id, substr(name, 19) AS attribute, any_value(value), any_value(text)
        FROM ncu_metric JOIN ncu_metric_name USING (metric_id) JOIN ncu_launch USING (launch_id)
        WHERE starts_with(name, 'device__attribute_') GROUP BY ALL""").fetchall()
    devices: dict[int, dict[str, Any]] = {}
    for gpu_id, attribute, value, text in stored:
        devices.setdefault(gpu_id, {})[attribute] = value if text is None else text
    for gpu_id, attributes in sorted(devices.items()):
        _insert_one(db, "gpu", _make_gpu_row(gpu_id, attributes))


def _make_gpu_row(gpu_id: int, attributes: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"gpu_id": gpu_id, "name": attributes.get("display_name")}
    major, minor = attributes.get("compute_capability_major"), attributes.get("compute_capability_minor")
    if major is not None and minor is not None:
        row["compute_capability"] = f"{major:.0f}.{minor:.0f}"
    for column, (attribute, factor) in ATTRIBUTES.items():
        value = attributes.get(attribute)
        row[column] = round(value * factor) if isinstance(value, float) else None
    clock, width = attributes.get("memory_clock_rate"), attributes.get("global_memory_bus_width")
    if isinstance(clock, float) and isinstance(width, float):
        # kHz and bits, as in cudaDeviceProp; device memory moves data on both edges of the clock.
        row["memory_bandwidth_bytes_per_s"] = round(2 * clock * 1000 * width / 8)
    return row
