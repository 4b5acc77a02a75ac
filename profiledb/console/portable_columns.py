"""Columns of an answer in types that CSV, Parquet, JSON and a table on a page can all represent."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def make_portable(answer: pa.Table) -> pa.Table:
    """Return the rows with unique column names, and with numbers, texts, times and booleans only.

    Lists, structs and maps become JSON, bytes hexadecimal digits. Integers of 128 bits, the type of sums, become 64-bit
    integers if they fit, else floats.
    """
    names: list[str] = []
    for name in answer.column_names:
        number, unique = 2, name
        while unique in names:
            unique, number = f"{name}_{number}", number + 1
        names.append(unique)
    return pa.table([_convert_column(column) for column in answer.columns], names=names)


def _convert_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    kind = column.type
    if pa.types.is_decimal(kind):
        return _convert_number(column)
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if word := _find_formatter(kind):
        return pa.array([None if value is None else word(value) for value in column.to_pylist()], pa.string())
    return column


def _find_formatter(kind: pa.DataType) -> Callable[[Any], str] | None:
    """Return a function that formats values of a type; None for a type that stays."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes.hex
    if pa.types.is_interval(kind):
        return lambda value: "{} months {} days {} ns".format(*value)
    return _encode_json if pa.types.is_nested(kind) else None


def _convert_number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type.scale == 0:
        try:
            return pc.cast(column, pa.int64())
        except pa.ArrowInvalid:
            pass
    return pc.cast(column, pa.float64())


def _encode_json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
