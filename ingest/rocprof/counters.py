"""Performance counters of dispatches. A counter has an instance for each part of the GPU that it counts in; its value
is the sum over them, as in the CSV of rocprofv3."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from ingest import scrub
from profiledb.report.schema import quote

_MOST = 1 << 12
"""Most counters of a capture that are described."""
_LONGEST = 1000
"""Most characters of a description."""


def sum_instances(values: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Return the sum of each counter's values; a counter with one that is no number is left out."""
    sums: dict[str, float] = {}
    for name, value in values:
        number = float(value) if type(value) in {int, float} and abs(value) < 1e300 else math.nan
        sums[name] = sums.get(name, 0.0) + number
    return {name: total for name, total in sums.items() if math.isfinite(total)}


def describe(db: duckdb.DuckDBPyConnection, facts: Mapping[str, tuple[Any, Any]]) -> None:
    """Add the file's unit and description to each counter that the report has."""
    rows = [
        f"({quote(scrub.scrub_text(name))}, {_quote_text(unit)}, {_quote_text(description)})"
        for name, (unit, description) in list(facts.items())[:_MOST]
    ]
    if rows:
        db.execute(f"""
            UPDATE counter SET unit = fact.unit, description = fact.description
            FROM (VALUES {", ".join(rows)}) AS fact (name, unit, description) WHERE counter.name = fact.name
        """)


def _quote_text(text: Any) -> str:
    return quote(scrub.scrub_text(text)[:_LONGEST].replace("\0", " ") if isinstance(text, str) and text else None)
