"""Answers that are worked out when a report is taken in, because every look at them would take too long.

They are those of analyses whose header says ``stored``, for the default parameters and the whole report. An answer
counts as long as its SQL is the one that made it, so that a changed analysis never needs a new conversion.
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
"""Ranges around a kernel, on average, that make an answer too expensive to store where there are many kernels."""
PAIRS = 3_000_000
"""Pairs of a kernel and a range around it up to which their depth does not matter."""


def write(db: duckdb.DuckDBPyConnection) -> None:
    """Stores the answers in the report that ``db`` writes (store.create), where it has the data for them."""
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
        if ("range",) in analysis.needs and _nested_too_deep(db):
            continue
        apply.set_mode(db, analysis.mode)
        db.execute(f"CREATE TABLE {CATALOG}.{_table(analysis.name)} AS {_with_defaults(analysis)}")
        db.execute(f"INSERT INTO stored_result VALUES ({quote(analysis.name)}, {quote(fingerprint(analysis))})")
    db.execute(f"USE {CATALOG}")


def _nested_too_deep(db: duckdb.DuckDBPyConnection) -> bool:
    """Whether kernels lie in so many ranges at once that an answer which counts them in each would take minutes."""
    (pairs, kernels) = db.execute(
        """
        SELECT coalesce(sum(range.level + 1), 0), count(*) FROM kernel JOIN range ON range.pre = kernel.thread_range
        WHERE (SELECT max(level) FROM range) >= $deep
    """.replace("$deep", str(DEEP))
    ).fetchone() or (0, 0)
    return bool(pairs > max(PAIRS, DEEP * kernels))


def query(cursor: duckdb.DuckDBPyConnection, asked: Request) -> str | None:
    """SQL that reads the stored answer of a request; None where there is none."""
    analysis = asked.analysis
    if not analysis.stored or not asked.plain:
        return None
    row = cursor.execute(f"SELECT fingerprint FROM stored_result WHERE name = {quote(analysis.name)}").fetchone()
    return f"FROM {_table(analysis.name)}" if row == (fingerprint(analysis),) else None


def _table(name: str) -> str:
    return f"result.{identifier(name)}"


def _with_defaults(analysis: Analysis) -> str:
    """The query with its parameters as literals: a table cannot be made from a prepared statement."""
    defaults = header.bind(analysis, {})
    sql = re.sub(r"\$(\w+)", lambda match: quote(defaults[match[1]]), analysis.sql)
    return sql.rstrip().removesuffix(";")
