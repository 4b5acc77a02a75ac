"""Files that a program wrote about its own run, kept beside its report: what it computed, what its timers measured.

A report of the library may have ``reports/<id>.meta.json`` (one object, texts by name) and ``reports/<id>.timings.csv``
(label, step, seconds). On a cursor they answer as ``meta`` and ``timing`` (views_sidecar.sql); the report itself never
changes. ``ingest.sidecars`` makes them from what was dropped.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from profiledb.schema import quote

Kind = Literal["meta", "timings"]
SUFFIX: dict[Kind, str] = {"meta": ".meta.json", "timings": ".timings.csv"}
"""What stands behind the id of a report in the library."""

DROPPED = (".meta.json", ".timings.csv", ".timings.json")
"""Endings of dropped files that say by themselves what they are; a plain .csv or .json needs a report beside it."""

UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
"""What a column of times may be in, in seconds."""

_VIEWS: dict[Kind, str] = {
    "meta": "meta AS SELECT key, value ->> '$' AS value FROM read_text({path}), json_each(content)",
    "timings": "timing AS FROM read_csv({path}, header = true, auto_detect = false, delim = ',', quote = '\"',"
    " escape = '\"', columns = {{'label': 'VARCHAR', 'step': 'BIGINT', 'seconds': 'DOUBLE'}})",
}


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
    """The name that a dropped sidecar shares with its report: without what says what it is."""
    for ending in DROPPED:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return Path(name).stem


def join(cursor: duckdb.DuckDBPyConnection, reports: Path, report_id: str) -> None:
    """Makes ``meta`` and ``timing`` of this cursor answer from the sidecars of a report, where it has any."""
    for kind, view in _VIEWS.items():
        file = path(reports, report_id, kind)
        if file.exists():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {view.format(path=quote(str(file)))}")
