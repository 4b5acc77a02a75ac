"""Plans of statements: joins that try all pairs of rows."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb


def find_outer_joins_of_pairs(
    cursor: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the conditions of the outer joins of a query for which DuckDB compares each row with each other one."""
    plans = cursor.execute(f"EXPLAIN (FORMAT json) {sql}", dict(values or {})).fetchall()
    steps = [step for _, plan in plans for step in _walk(*json.loads(plan))]
    joins = [step["extra_info"] for step in steps if step["name"].strip() == "BLOCKWISE_NL_JOIN"]
    return [one["Condition"] for one in joins if one["Join Type"] != "INNER"]


def _walk(*steps: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in steps:
        yield step
        yield from _walk(*step["children"])
