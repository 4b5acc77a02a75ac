"""Sidecars: files that a program wrote about its own run, kept beside its report.

Beside ``reports/<id>.v*.duckdb`` a report may have files of the same id: ``.meta.json`` (one object, texts by name),
``.timings.csv`` (label, step, seconds; the step of a warm-up is ``WARMUP``), ``.nvml.csv`` (power and clock readings)
and ``.tasks.csv`` (times of the same work on CPU and GPU). A cursor shows them as ``meta``, ``timing``, ``power_log``
and ``task_time`` (sidecar.sql); the report itself never changes. ``ingest.sidecars.files`` makes them from dropped
files.
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
"""Suffix of each kind, after the id of a report."""

DROPPED = (*SUFFIX.values(), ".timings.json")
"""Endings of dropped files that tell their own kind; a plain .csv or .json needs a report beside it."""

TRACES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json", ".json.gz", ".pt.trace.zip")
"""Endings of traces, which are reports: their stems end before these."""

UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
"""Units of a column of times, in seconds."""

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
"""Columns and types of the tables. A file of tasks may lack the columns from time_ns on, which are then NULL."""

TASK_COLUMNS = 5
"""Number of columns that every file of tasks has: task to seconds."""

WARMUP = "warmup"
"""Step of measurements in a warm-up; other steps are whole numbers, or empty."""

NAMES: dict[Kind, str] = {"meta": "meta", "timings": "timing", "power": "power_log", "tasks": "task_time"}


def select_rows(kind: Kind, file: Path) -> str:
    """Return SQL for the rows of a sidecar."""
    if kind == "meta":
        return f"SELECT key, value ->> '$' AS value FROM read_text({quote(str(file))}), json_each(content)"
    columns = dict(list(TABLES[kind].items())[: _count_columns(kind, file)])
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


def _count_columns(kind: Kind, file: Path) -> int:
    """Count the columns of a file; at least ``TASK_COLUMNS`` for tasks."""
    if kind != "tasks":
        return len(TABLES[kind])
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            names = text.readline(10_000).strip().split(",")
    except OSError:
        names = []  # the reader of the rows gets the error
    most = list(TABLES[kind])[: len(names)]
    return max(len(most) if names == most else 0, TASK_COLUMNS)


@dataclass(frozen=True)
class Columns:
    """Columns of a CSV as a user named them.

    Args:
        label: column of the labels; empty if ``text`` is the label of every row.
        step: column of the step numbers; empty if the rows of a label count from 0.
        time: column of the times.
        unit: one of ``UNITS``.
        text: label of every row, if no column has one.
    """

    label: str
    step: str
    time: str
    unit: str = "seconds"
    text: str = ""


PLAIN = Columns("label", "step", "seconds")
"""Columns of a file that nobody has to describe."""


def get_path(reports: Path, report_id: str, kind: Kind) -> Path:
    """Return the path of a report's sidecar, whether it exists or not."""
    return reports / f"{report_id}{SUFFIX[kind]}"


def get_stem(name: str) -> str:
    """Return the name that a dropped sidecar shares with its report, without the endings of either."""
    lower = name.lower()
    for ending in (*DROPPED, *TRACES):
        if lower.endswith(ending):
            return name[: -len(ending)]
    return name.rpartition(".")[0] or name  # called for thousands of names at every look: faster than a Path


def join(cursor: "duckdb.DuckDBPyConnection", reports: Path, report_id: str) -> None:
    """Make the views of this cursor answer from the sidecars of a report."""
    for kind in SUFFIX:
        file = get_path(reports, report_id, kind)
        if file.exists():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {NAMES[kind]} AS {select_rows(kind, file)}")
