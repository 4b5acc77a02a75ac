"""Answers that are computed when a report is imported, because computing them on demand would take too long.

They cover analyses whose header says ``stored``, for the default parameters and the whole report. An answer is valid
only for the SQL that computed it, so changing an analysis never requires a new conversion.
"""

import re

import duckdb

from profiledb.errors import NotCapturedError
from profiledb.query import header, needs, views
from profiledb.query.header import Analysis
from profiledb.query.request import Request, fingerprint
from profiledb.report.schema import identifier, quote
from profiledb.report.store import CATALOG
from profiledb.selection import apply

DEEP = 30
"""Mean depth of ranges around a kernel above which an answer is too expensive to store if the report has many
kernels."""
PAIRS = 3_000_000
"""Number of (kernel, enclosing range) pairs up to which the depth does not matter."""


def write(db: duckdb.DuckDBPyConnection) -> None:
    """Store the answers that the report's data allows in the report that ``db`` is writing (store.create)."""
    wanted = [analysis for analysis in header.analyses().values() if analysis.stored]
    if not wanted:
        return
    db.execute(f"SET preserve_insertion_order = true; SET search_path = 'memory,{CATALOG}'")
    db.execute(views.sql((*needs.INCLUDES, *(name for analysis in wanted for name in analysis.includes))))
    db.execute(f"SET search_path = '{CATALOG},memory'; CREATE SCHEMA {CATALOG}.result")
    for analysis in wanted:
        try:
            needs.check(db, analysis)
        except NotCapturedError:
            continue
        if ("range",) in analysis.needs and _is_nested_too_deep(db):
            continue
        apply.set_mode(db, analysis.mode)
        db.execute(f"CREATE TABLE {CATALOG}.{_quote_table(analysis.name)} AS {_fill_in_defaults(analysis)}")
        db.execute(f"INSERT INTO stored_result VALUES ({quote(analysis.name)}, {quote(fingerprint(analysis))})")
    db.execute(f"USE {CATALOG}")


def _is_nested_too_deep(db: duckdb.DuckDBPyConnection) -> bool:
    """Return True if ranges nest so deeply that counting each kernel in every enclosing range would take minutes."""
    (pairs, kernels) = db.execute(
        """
        SELECT coalesce(sum(range.level + 1), 0), count(*) FROM kernel JOIN range ON range.pre = kernel.thread_range
        WHERE (SELECT max(level) FROM range) >= $deep
    """.replace("$deep", str(DEEP))
    ).fetchone() or (0, 0)
    return bool(pairs > max(PAIRS, DEEP * kernels))


def query(cursor: duckdb.DuckDBPyConnection, asked: Request) -> str | None:
    """Return SQL that reads the stored answer to a request, or None if there is none."""
    analysis = asked.analysis
    if not analysis.stored or not asked.plain:
        return None
    row = cursor.execute(f"SELECT fingerprint FROM stored_result WHERE name = {quote(analysis.name)}").fetchone()
    return f"FROM {_quote_table(analysis.name)}" if row == (fingerprint(analysis),) else None


def _quote_table(name: str) -> str:
    return f"result.{identifier(name)}"


def _fill_in_defaults(analysis: Analysis) -> str:
    """Return the query with its parameters as literals: a table cannot be created from a prepared statement."""
    defaults = header.bind(analysis, {})
    sql = re.sub(r"\$(\w+)", lambda match: quote(defaults[match[1]]), analysis.sql)
    return sql.rstrip().removesuffix(";")
