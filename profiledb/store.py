"""Report files: one DuckDB database each, written once and never changed afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from profiledb import schema

CATALOG = "report"
"""Name under which a connection that writes a report has it attached."""

_FORMAT = "STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 65536"
"""Small blocks: a report has dozens of small tables, and each takes at least one block a column."""


@contextmanager
def create(path: Path, *, memory_limit: str = "1GB") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that writes the report file ``path``, with every table of the schema, empty.

    The file is complete when the block ends without an error; after an error it is worthless.

    Args:
        path: file to create; it must not exist.
        memory_limit: what DuckDB may take before it writes to disk beside ``path``, for example ``1GB``.
    """
    db = duckdb.connect(config={"memory_limit": memory_limit, "temp_directory": f"{path}.spill"})
    try:
        db.execute(f"ATTACH {schema.quote(str(path))} AS {CATALOG} ({_FORMAT})")
        db.execute(f"USE {CATALOG}")
        schema.create(db)
        yield db
        schema.comment(db)
        db.execute("USE memory")
        db.execute(f"DETACH {CATALOG}")
    finally:
        db.close()
