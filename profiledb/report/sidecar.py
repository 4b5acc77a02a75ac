"""Files that a program wrote about its own run, kept beside its report: what it computed, what its timers measured.

A report of the library may have, beside ``reports/<id>.v*.duckdb``, files of the same id: ``.meta.json`` (one object,
texts by name), ``.timings.csv`` (label, step, seconds; the step of a warm-up is ``WARMUP``),
``.nvml.csv`` (readings of power and clocks) and ``.tasks.csv`` (times of the same work on CPU and GPU). On a cursor
they answer as ``meta``, ``timing``, ``power_log`` and ``task_time`` (sidecar.sql); the report itself never changes.
``ingest.sidecars.files`` makes them from what was dropped.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from profiledb.report.schema import quote

if TYPE_CHECKING:
    import duckdb

Kind = Literal["meta", "timings", "power", "tasks"]
SUFFIX: dict[Kind, str] = {
    "meta": ".meta.json",
    "timings": ".timings.csv",
    "power": ".nvml.csv",
    "tasks": ".tasks.csv",
}
"""What stands behind the id of a report in the library."""

DROPPED = (*SUFFIX.values(), ".timings.json")
"""Endings of dropped files that say by themselves what they are; a plain .csv or .json needs a report beside it."""

TRACES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json", ".json.gz", ".pt.trace.zip")
"""Endings of traces, which are reports: their names end before these."""

UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
"""What a column of times may be in, in seconds."""

TABLES: dict[Kind, dict[str, str]] = {
    "timings": {"label": "VARCHAR", "step": "VARCHAR", "seconds": "DOUBLE"},
    "power": {
        "time_ns": "BIGINT",
        "device": "INTEGER",
        "uuid": "VARCHAR",
        "power_w": "DOUBLE",
        "energy_mj": "DOUBLE",
        "sm_clock_mhz": "DOUBLE",
        "memory_clock_mhz": "DOUBLE",
        "temperature_c": "DOUBLE",
        "memory_used_bytes": "DOUBLE",
        "gpu_utilisation_pct": "DOUBLE",
        "memory_utilisation_pct": "DOUBLE",
    },
    "tasks": {
        "task": "VARCHAR",
        "size": "BIGINT",
        "device": "VARCHAR",
        "part": "VARCHAR",
        "seconds": "DOUBLE",
        "time_ns": "BIGINT",
        "repetitions": "BIGINT",
        "policy": "VARCHAR",
        "load": "VARCHAR",
        "reason": "VARCHAR",
        "gpu": "INTEGER",
        "cpu_predicted_s": "DOUBLE",
        "gpu_predicted_s": "DOUBLE",
        "decision_s": "DOUBLE",
        "waited_s": "DOUBLE",
        "gpu_utilisation_pct": "DOUBLE",
        "memory_free_bytes": "DOUBLE",
        "sm_clock_mhz": "DOUBLE",
        "power_w": "DOUBLE",
        "reading_age_s": "DOUBLE",
    },
}
"""Columns of the tables, with the type of each. Of tasks a file may lack those from time_ns on, which are then NULL."""

TASK_COLUMNS = 5
"""Columns that every file of times of tasks has: task to seconds."""

WARMUP = "warmup"
"""The step of measurements in a warm-up; other steps are whole numbers, or empty."""

NAMES: dict[Kind, str] = {"meta": "meta", "timings": "timing", "power": "power_log", "tasks": "task_time"}


def select(kind: Kind, file: Path) -> str:
    """SQL of the rows of a sidecar."""
    if kind == "meta":
        return f"SELECT key, value ->> '$' AS value FROM read_text({quote(str(file))}), json_each(content)"
    columns = dict(list(TABLES[kind].items())[: _held(kind, file)])
    types = ", ".join(f"{quote(name)}: {quote(kind)}" for name, kind in columns.items())
    rows = (
        f"FROM read_csv({quote(str(file))}, header = true, auto_detect = false, delim = ',',"
        f" quote = '\"', escape = '\"', columns = {{{types}}})"
    )
    if kind == "tasks":
        later = [f"NULL::{type_} AS {name}" for name, type_ in TABLES[kind].items() if name not in columns]
        return f"SELECT {', '.join(['*', *later])} {rows}"
    if kind != "timings":
        return rows
    number = f"CAST(nullif(nullif(step, {quote(WARMUP)}), '') AS BIGINT) AS step"
    return (
        f"SELECT label, {number}, seconds, coalesce(timing.step = {quote(WARMUP)}, false) AS is_warmup {rows} AS timing"
    )


def _held(kind: Kind, file: Path) -> int:
    """How many columns a file has, from the first on; of times of tasks those that every file has, at least."""
    if kind != "tasks":
        return len(TABLES[kind])
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            names = text.readline(10_000).strip().split(",")
    except OSError:
        names = []  # who reads the rows says it
    most = list(TABLES[kind])[: len(names)]
    return max(len(most) if names == most else 0, TASK_COLUMNS)


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV mean what, as a reader named them.

    Args:
        label: column of the labels; or empty, where ``text`` is the label of every row.
        step: column of the whole numbers of the steps; empty where the rows of a label count from 0.
        time: column of the times.
        unit: one of ``UNITS``.
        text: the label of every row, where no column has it.
    """

    label: str
    step: str
    time: str
    unit: str = "seconds"
    text: str = ""


PLAIN = Columns("label", "step", "seconds")
"""The columns of a file that needs no words about them."""


def path(reports: Path, report_id: str, kind: Kind) -> Path:
    """Where a sidecar of a report is, whether there is one or not."""
    return reports / f"{report_id}{SUFFIX[kind]}"


def stem(name: str) -> str:
    """The name that a dropped sidecar shares with its report: without what says what either is."""
    lower = name.lower()
    for ending in (*DROPPED, *TRACES):
        if lower.endswith(ending):
            return name[: -len(ending)]
    return name.rpartition(".")[0] or name  # thousands of them at every look: faster than a Path


def join(cursor: "duckdb.DuckDBPyConnection", reports: Path, report_id: str) -> None:
    """Makes the views of this cursor answer from the sidecars of a report, where it has any."""
    for kind in SUFFIX:
        file = path(reports, report_id, kind)
        if file.exists():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {NAMES[kind]} AS {select(kind, file)}")
