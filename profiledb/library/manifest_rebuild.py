"""Make the manifest of a report from its database, for a new report and for one whose manifest is lost."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from profiledb.library.catalog import Manifest
from profiledb.library.spaces import UNKNOWN
from profiledb.report import damage, preview, schema

_COLUMNS = "name, kind, source_sha256, source_bytes, tool, tool_version, converter, duration_ns, command"
_CAPTURED = "strftime(captured_at, '%Y-%m-%dT%H:%M:%S+00:00')"
_USED = "SELECT device_id FROM busy UNION SELECT device_id FROM ncu_launch"
_USED_IN_PREVIEW = "SELECT device_id FROM busy"
_GPUS = """
    WITH used AS (
        SELECT name FROM gpu WHERE gpu_id IN ($used)
    ), shown AS (SELECT name FROM used UNION ALL SELECT name FROM gpu WHERE NOT EXISTS (SELECT 1 FROM used))
    SELECT string_agg(CASE n WHEN 1 THEN name ELSE n || ' x ' || name END, ', ' ORDER BY name)
    FROM (SELECT name, count(*) AS n FROM shown WHERE name IS NOT NULL GROUP BY name)
"""


def rebuild_manifest(path: Path, report_id: str) -> Manifest | None:
    """Rebuild the manifest of a report's file; None if it cannot be read or belongs to another report.

    The time of import is that of the file. Its duration, whether the report is a sample and its space are unknown:
    unless the catalog knows the space, admins alone see the report.
    """
    try:
        with damage.attach(path) as db:
            db.execute(f"USE {damage.CATALOG}")
            made = read_manifest(db)
    except duckdb.Error:
        return None
    if made is None or made.id != report_id:
        return None
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return replace(made, ingested_at=written, space=UNKNOWN)


def read_manifest(db: duckdb.DuckDBPyConnection) -> Manifest | None:
    """Read the manifest of the report that is the current database of ``db``; None if it has none."""
    return _read_manifest(db, _USED, schema.read_tables().keys())


def read_preview(db: duckdb.DuckDBPyConnection) -> Manifest | None:
    """Read the manifest of the preview that is the current database of ``db``."""
    manifest = _read_manifest(db, _USED_IN_PREVIEW, preview.FILLED)
    return manifest and replace(manifest, preparing=True)


def _read_manifest(db: duckdb.DuckDBPyConnection, used_gpus: str, tables: Collection[str]) -> Manifest | None:
    gpus = _GPUS.replace("$used", used_gpus)
    row = db.execute(f"SELECT {_COLUMNS}, {_CAPTURED}, ({gpus}) FROM report").fetchone()
    if row is None:
        return None
    facts = dict(zip([*_COLUMNS.split(", "), "captured_at", "gpu"], row, strict=True))
    lacks = {name for name in schema.ADDED.intersection(tables) if not _has_table(db, name)}
    counts = schema.count_all_rows(db, [name for name in tables if name not in lacks])
    rows = {name: count for name, count in counts.items() if count}
    return Manifest(id=facts["source_sha256"][:16], schema_version=schema.SCHEMA_VERSION, rows=rows, **facts)


def _has_table(db: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return True if a report has a table. Lists of tables would read the attached export, which may be damaged."""
    try:
        db.execute(f"SELECT 1 FROM {schema.quote_identifier(name)} LIMIT 0")
    except duckdb.CatalogException:
        return False
    return True
