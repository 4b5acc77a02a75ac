"""What a conversion has to say about a report, beside what the profiler says: the table ``diagnostic``."""

import duckdb

from profiledb.report.schema import quote


def note(db: duckdb.DuckDBPyConnection, severity: str, text: str) -> None:
    """Adds a remark of the conversion to the report: severity is info, warning or error."""
    db.execute(f"INSERT INTO diagnostic (severity, source, text) VALUES ({quote(severity)}, 'warpdeck', {quote(text)})")


def start(db: duckdb.DuckDBPyConnection) -> None:
    """Forgets what an earlier, failed load of the same export had to say."""
    db.execute("CREATE OR REPLACE TEMP TABLE remark (severity VARCHAR, text VARCHAR)")


def remember(db: duckdb.DuckDBPyConnection, severity: str, text: str) -> None:
    """Keeps a remark until ``finish`` writes all of them: nothing is in the report before everything is."""
    db.execute(f"INSERT INTO remark VALUES ({quote(severity)}, {quote(text)})")


def finish(db: duckdb.DuckDBPyConnection) -> None:
    """Writes what was remembered."""
    for severity, text in db.execute("SELECT severity, text FROM remark").fetchall():
        note(db, severity, text)
