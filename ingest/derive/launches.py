"""Find the call that launched an operation: the call of its process with its correlation id."""

import duckdb

BITS = 800_000_000
"""Most numbers that are told apart by a bit each, over all groups: 100 MB."""
BITS_A_ROW = 1000
"""Most bits per row: clearing more of them takes longer than counting in another way."""


def find_launches(db: duckdb.DuckDBPyConnection) -> None:
    """Create the view ``launch`` of calls by process and correlation id; of several calls the first one counts."""
    later = ""
    if _has_repeated_correlations(db):
        later = "ANTI JOIN later_call USING (call_id)"
        db.execute("""
            CREATE OR REPLACE TEMP TABLE later_call AS
            SELECT call_id FROM api_call WHERE correlation_id IS NOT NULL
            QUALIFY row_number() OVER (PARTITION BY global_tid >> 24, correlation_id ORDER BY call_id) > 1
        """)
    db.execute(f"""
        CREATE OR REPLACE TEMP VIEW launch AS
        SELECT call_id, correlation_id, global_tid - (global_tid & 16777215) AS global_pid,
            thread_range, process_range
        FROM api_call {later}
    """)


def _has_repeated_correlations(db: duckdb.DuckDBPyConnection) -> bool:
    """Return True if two calls of a process have the same correlation id."""
    return has_repeats(db, "api_call", "correlation_id", "global_tid >> 24")


def has_repeats(db: duckdb.DuckDBPyConnection, table: str, column: str, group: str = "true") -> bool:
    """Return True if a number occurs in two rows of a table, within a group."""
    (low, high, groups, rows) = db.execute(f"""
        SELECT min({column}), max({column}), count(DISTINCT {group}), count(*) FROM {table}
    """).fetchone() or (None, None, 0, 0)
    if low is None:
        return False
    different = f"count(DISTINCT {column})"
    if (high - low + 1) * groups <= min(BITS, BITS_A_ROW * rows):  # three times as fast
        different = f"bit_count(bitstring_agg({column}, {low}::BIGINT, {high}::BIGINT))"
    query = f"""
        SELECT 1 FROM {table} WHERE {column} IS NOT NULL
        GROUP BY {group} HAVING count(*) > {different} LIMIT 1
    """
    return db.execute(query).fetchone() is not None
