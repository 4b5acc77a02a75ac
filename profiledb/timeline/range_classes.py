"""Classify ranges as phases, modules or operators; all others get a class by name."""

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.rules import phases
from profiledb.timeline.classes import RANGES

_CLASS = """
    CASE WHEN starts_with(name, 'nn.Module: ') THEN 'module' WHEN domain = 'operator' THEN 'operator'
        WHEN nullif(phase_of(name), 'none') IS NOT NULL THEN 'phase' ELSE 'name' END
"""
_SHADE = """
    CASE kind WHEN 'phase' THEN phase_place(phase_of(name)) - 1
        ELSE md5_number_lower(regexp_replace(name, '[0-9]+', '', 'g')) END
"""
"""Numbers do not count: step_1 and step_2 look alike."""


def read_range_classes(cursor: duckdb.DuckDBPyConnection) -> tuple[NDArray[np.int64], list[str]]:
    """Return the codes of the names of ranges, ascending, and the class of each."""
    phases.apply(cursor)
    counts = " ".join(f"WHEN '{kind}' THEN {len(colors)}" for kind, (_, colors) in RANGES.items())
    rows = cursor.execute(f"""
        SELECT code, concat(kind, '-', shade % CASE kind {counts} END) AS class FROM (
            SELECT *, {_SHADE} AS shade FROM (
                SELECT 4 * name_id::BIGINT + 2 AS code, coalesce(name, '') AS name, {_CLASS} AS kind FROM range_name
            )
        ) ORDER BY code
    """).fetchnumpy()
    return np.asarray(rows["code"]), list(rows["class"])
