"""Remarks of a conversion about a report, beside the profiler's own: the table ``diagnostic``."""

import duckdb

from profiledb.report.schema import quote


def note(db: duckdb.DuckDBPyConnection, severity: str, text: str) -> None:
    """Add a remark to the report; severity is info, warning or error."""
    db.execute(f"INSERT INTO diagnostic (severity, source, text) VALUES ({quote(severity)}, 'warpdeck', {quote(text)})")


def note_damage(db: duckdb.DuckDBPyConnection, subject: str, damage: str, read: str) -> None:
    """Note that the subject is cut off or damaged, with counts of its readable parts; a whole one gets no note."""
    if damage:
        note(db, "warning", f"{subject} is {damage}. {read} could be read. The rest is missing in this report.")


def start(db: duckdb.DuckDBPyConnection) -> None:
    """Forget the remarks of an earlier, failed load of the same export."""
    db.execute("CREATE OR REPLACE TEMP TABLE remark (severity VARCHAR, text VARCHAR)")


def remember(db: duckdb.DuckDBPyConnection, severity: str, text: str) -> None:
    """Hold a remark back until ``finish`` writes all of them, so that a failed load leaves none in the report."""
    db.execute(f"INSERT INTO remark VALUES ({quote(severity)}, {quote(text)})")


def finish(db: duckdb.DuckDBPyConnection) -> None:
    """Write the remembered remarks."""
    for severity, text in db.execute("SELECT severity, text FROM remark").fetchall():
        note(db, severity, text)
