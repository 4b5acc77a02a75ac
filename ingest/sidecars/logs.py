"""Read sidecars whose columns have fixed names: power and clock readings, times on CPU and GPU."""

import csv
import io
import math
from collections.abc import Collection, Iterable, Sequence

from ingest import scrub
from profiledb.errors import ConversionError
from profiledb.report.sidecar import TABLES, Kind

_NEEDED: dict[Kind, tuple[tuple[str, ...], ...]] = {
    "power": (("time_ns",), ("device",), ("energy_mj", "power_w")),
    "tasks": (("task",), ("size",), ("device",), ("seconds",)),
}
"""Required columns; one of each group is enough."""
_DEFAULT = {"part": "compute"}
_ONE_OF: dict[tuple[Kind, str], tuple[str, ...]] = {("tasks", "device"): ("cpu", "gpu", "none")}
_MAY_BE_EMPTY: dict[Kind, frozenset[str]] = {
    "power": frozenset(TABLES["power"]) - {"time_ns", "device"},
    "tasks": frozenset(TABLES["tasks"]) - {"task", "size", "device", "part", "seconds"},
}


def read_log(kind: Kind, name: str, names: Sequence[str], rows: Iterable[tuple[int, list[str]]]) -> str:
    """Return the table as the library stores it: the columns of ``TABLES[kind]`` in order, without others.

    Args:
        kind: power or tasks.
        name: file name for messages.
        names: names of its columns.
        rows: line number and cells of each row.

    Raises:
        ConversionError: a column is missing, or a cell has an invalid value.
    """
    lowered = [column.lower() for column in names]
    for group in _NEEDED[kind]:
        if not any(column in lowered for column in group):
            wanted = ", ".join(" or ".join(alternatives) for alternatives in _NEEDED[kind])
            raise ConversionError(f"{name} has no column {' or '.join(group)}.", hint=f"The file needs {wanted}.")
    places = {column: lowered.index(column) for column in TABLES[kind] if column in lowered}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = _list_output_columns(kind, places)
    writer.writerow(columns)
    count = 0
    try:
        for line, row in rows:
            if len(row) < len(names):
                raise ConversionError(
                    f"{name}, row {line} has too few cells.", hint="Each row needs one cell per column."
                )
            writer.writerow(_convert_cell(kind, f"{name}, row {line}", column, row, places) for column in columns)
            count += 1
    except csv.Error as error:
        raise ConversionError(f"{name} is not CSV.", hint="", detail=type(error).__name__) from error
    if not count:
        raise ConversionError(f"{name} has no rows.", hint="The file needs one row per reading or measurement.")
    return out.getvalue()


def _list_output_columns(kind: Kind, places: Collection[str]) -> list[str]:
    """Return the columns to write: for times of tasks none after the last one of the file."""
    columns = list(TABLES[kind])
    while kind == "tasks" and columns[-1] in _MAY_BE_EMPTY[kind] and columns[-1] not in places:
        columns.pop()
    return columns


def _convert_cell(kind: Kind, where: str, column: str, row: Sequence[str], places: dict[str, int]) -> str:
    if column not in places:
        return _DEFAULT.get(column, "")
    text = row[places[column]].strip()
    allowed = _ONE_OF.get((kind, column))
    if allowed:
        text = text.lower()
    if not text and (column in _MAY_BE_EMPTY[kind] or (column == "seconds" and _is_decision(row, places))):
        return ""
    if not _is_value(TABLES[kind][column], text) or (allowed and text not in allowed):
        wanted = f"Use one of {', '.join(allowed)}." if allowed else _HINTS[TABLES[kind][column]]
        raise ConversionError(f"{where}: {column} is {text[:40]!r}.", hint=wanted)
    return scrub.scrub_text(text) if TABLES[kind][column] == "VARCHAR" else text


def _is_decision(row: Sequence[str], places: dict[str, int]) -> bool:
    """Return True if a row of times of tasks is a scheduler's decision without a run."""
    return "part" in places and row[places["part"]].strip() == "decided"


_HINTS = {
    "VARCHAR": "Use text.",
    "BIGINT": "Use a whole number of 0 or more.",
    "INTEGER": "Use a whole number of 0 or more.",
    "DOUBLE": "Use a number of 0 or more.",
}
_MOST = {"BIGINT": 2**63 - 1, "INTEGER": 2**31 - 1}


def _is_value(type_: str, text: str) -> bool:
    if type_ == "VARCHAR":
        return bool(text) and "\0" not in text
    if type_ in _MOST:
        return text.isascii() and text.isdigit() and len(text) < 40 and int(text) <= _MOST[type_]
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and value >= 0
