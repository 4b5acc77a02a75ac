"""Read sidecars: facts, timings and logs of the profiled program.

``read_sidecar`` tells by the name and the content what a file is, and returns the text that the library stores
(profiledb.report.sidecar).
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest import scrub
from ingest.sidecars.logs import read_log
from profiledb.errors import ConversionError
from profiledb.report.sidecar import PLAIN, SUFFIX, UNITS, WARMUP, Columns, Kind

MOST_BYTES = 32 << 20
"""Largest file that is read: a step takes some 20 bytes."""

ENDINGS = (".json", ".csv")
LOGS: tuple[Kind, ...] = ("power", "tasks")
"""Tables whose columns have fixed names."""
_WANTED = (PLAIN.label, PLAIN.step, PLAIN.time)
_WARMUP = re.compile("warm[ _-]?up", re.IGNORECASE)
_EXAMPLE = "Timings need the columns label, step, seconds."


class ColumnsNeededError(ConversionError):
    """Nobody has named the columns of a table of timings; ``names`` are its columns."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__(f"{name} has no columns label, step, seconds.", hint="Name its columns on the Library page.")
        self.names = tuple(names)


@dataclass(frozen=True)
class Sidecar:
    """Kind of a file, its text as the library stores it, and a sentence if parts may be missing."""

    kind: Kind
    text: str
    note: str = ""


def read_sidecar(path: Path, columns: Columns | None = None) -> Sidecar:
    """Read a sidecar; ``columns`` gives the meaning of its columns if their names do not.

    Raises:
        ColumnsNeededError: a table with other column names.
        ConversionError: no JSON object and no table, or an invalid value.
        OSError: the file is gone or may not be read.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ConversionError(
            f"{path.name} is larger than {MOST_BYTES >> 20} MB.", hint="Files of timings or facts are small."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConversionError(f"{path.name} is not UTF-8 text.", hint="Save it as UTF-8.") from error
    if path.suffix.lower() == ".csv":
        names, rows = _read_table(path.name, text)
        note = "" if text.endswith(("\n", "\r")) else f"{path.name} ends within a line: it may be cut off."
        if kind := _find_log_kind(path.name):
            return Sidecar(kind, read_log(kind, path.name, names, rows), note)
        return Sidecar("timings", _write_timings(path.name, names, rows, columns), note)
    return _read_json(path.name, text, columns)


def _find_log_kind(name: str) -> Kind | None:
    """Return the kind of a table whose name alone tells it."""
    return next((kind for kind in LOGS if name.lower().endswith(SUFFIX[kind])), None)


def _read_json(name: str, text: str, columns: Columns | None) -> Sidecar:
    try:
        content = scrub.scrub_facts(json.loads(text, parse_int=str, parse_float=str))
        facts = dict(_flatten_value("", content)) if isinstance(content, dict) else {}
    except (ValueError, RecursionError) as error:
        raise ConversionError(f"{name} is not JSON.", hint="", detail=type(error).__name__) from error
    if name.lower().endswith(".meta.json") or isinstance(content, dict):
        if not isinstance(content, dict):
            hint = 'For example {"batch": 8, "heads": 12, "tokens": 512, "head_size": 64}.'
            raise ConversionError(f"{name} has no JSON object.", hint=hint)
        return Sidecar("meta", json.dumps(facts, indent=1, ensure_ascii=True))
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        hint = "Facts are one object; timings are a list of objects with label, step, seconds."
        raise ConversionError(f"{name} has neither facts nor timings.", hint=hint)
    names = list(dict.fromkeys(key for row in content for key in row))
    rows = [[str(row.get(key, "")) for key in names] for row in content]
    return Sidecar("timings", _write_timings(name, names, enumerate(rows, 1), columns))


def _flatten_value(before: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield texts by name; names of nested values are joined by dots, and null is omitted."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _flatten_value(f"{before}.{key}" if before else str(key), inner)
    elif value is not None:
        yield before, str(value).lower() if isinstance(value, bool) else str(value)


def _read_table(name: str, text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and each row with its line; cells are separated by commas, semicolons or
    tabs."""
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        names = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise ConversionError(f"{name} is not CSV.", hint=_EXAMPLE, detail=type(error).__name__) from error
    return names, ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))


def _write_timings(
    name: str, names: Sequence[str], rows: Iterable[tuple[int, list[str]]], columns: Columns | None
) -> str:
    """Return the table as the library stores it: label, step, seconds."""
    places, chosen = _find_columns(name, names, columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(_WANTED)
    counts: dict[str, int] = {}
    try:
        for line, row in rows:
            writer.writerow(_convert_row(f"{name}, row {line}", row, places, chosen, counts))
    except csv.Error as error:
        raise ConversionError(f"{name} is not CSV.", hint=_EXAMPLE, detail=type(error).__name__) from error
    if not counts:
        raise ConversionError(f"{name} has no rows.", hint=_EXAMPLE)
    return out.getvalue()


def _find_columns(name: str, names: Sequence[str], columns: Columns | None) -> tuple[dict[str, int], Columns]:
    """Return the position of each column; the standard names count before those that a user gave."""
    lowered = [column.lower() for column in names]
    if all(wanted in lowered for wanted in _WANTED):
        return {wanted: lowered.index(wanted) for wanted in _WANTED}, PLAIN
    if columns is None:
        raise ColumnsNeededError(name, names)
    named = {PLAIN.label: columns.label, PLAIN.step: columns.step, PLAIN.time: columns.time}
    if not columns.time or not all(not chosen or chosen in names for chosen in named.values()):
        raise ColumnsNeededError(name, names)
    return {wanted: names.index(column) for wanted, column in named.items() if column}, columns


def _convert_row(
    where: str, row: list[str], places: dict[str, int], columns: Columns, counts: dict[str, int]
) -> list[str]:
    if len(row) <= max(places.values()):
        raise ConversionError(f"{where} has too few cells.", hint=_EXAMPLE)
    label = row[places[PLAIN.label]].strip() if PLAIN.label in places else columns.text.strip()
    if not label or "\0" in label:
        raise ConversionError(f"{where} has no label.", hint="The label is the name of a range.")
    number = counts.get(label, 0)
    counts[label] = number + 1
    seconds = _parse_seconds(where, columns.time, row[places[PLAIN.time]]) * UNITS[columns.unit]
    step = _parse_step(where, row[places[PLAIN.step]]) if PLAIN.step in places else number
    return [scrub.scrub_text(label), str(step), repr(seconds)]


def _parse_seconds(where: str, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ConversionError(
            f"{where}: {column} is {cell.strip()[:40]!r}, which is not a time.", hint="Use seconds, such as 0.0123."
        )
    return value


def _parse_step(where: str, cell: str) -> int | str:
    """Return the number of a step; ``WARMUP`` in a warm-up; an empty text if a row belongs to no step."""
    if not cell.strip():
        return ""
    if _WARMUP.search(cell):
        return WARMUP
    try:
        value = float(cell)
        if value == int(value) and abs(value) < 2**53:
            return int(value)
    except (OverflowError, ValueError):
        pass  # reported below as no whole number
    raise ConversionError(f"{where}: step is {cell.strip()[:40]!r}, which is not a whole number.", hint=_EXAMPLE)
