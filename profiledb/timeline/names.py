"""Names of events by their numbers."""

from collections.abc import Sequence

import duckdb

MOST = 512
"""Largest number of names in an answer."""

TEXTS = """
SELECT 4 * name_id::BIGINT AS code, coalesce(readable_name(short, demangled), '') AS text,
    coalesce(demangled, '') AS whole FROM kernel_name
UNION ALL SELECT 4 * string_id + 1, function_name(value), value FROM string
UNION ALL SELECT 4 * name_id::BIGINT + 2, name, name FROM range_name
UNION ALL SELECT 4 * id + 3, text, text FROM own_name
"""
"""A query for all names: number, text, and the full text if it is longer."""


def read_texts(cursor: duckdb.DuckDBPyConnection, codes: Sequence[int]) -> dict[int, str]:
    """Return the text of each known number; kernels without templates and arguments."""
    wanted = ", ".join(str(int(code)) for code in codes[:MOST])
    if not wanted:
        return {}
    rows = cursor.execute(f"SELECT code, text FROM ({TEXTS}) WHERE code IN ({wanted})").fetchall()
    return {code: text for code, text in rows if text is not None}
