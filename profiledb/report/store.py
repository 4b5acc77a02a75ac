"""Write report files: one DuckDB database each, written once and never changed afterward."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from profiledb.report import schema
from profiledb.report.schema import quote

CATALOG = "report"
"""Name under which a connection that writes a report attaches it."""

_FORMAT = "STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 65536"
"""Small blocks, because a report has dozens of small tables and each takes at least one block per column."""

_HEADERS = 3 * 4096
"""Bytes before the first block of a DuckDB file: the main header and two headers, the newer of which counts."""

_CHANGEABLE = ("preserve_insertion_order", "asof_loop_join_threshold")
"""Settings that loading a report changes: they affect how a query is planned, not what it may reach."""


@dataclass(frozen=True)
class Access:
    """Files that a connection which writes a report may reach outside that report's folder.

    Args:
        reads: files, and folders with everything in them.
        extensions: files of DuckDB extensions to load.
    """

    reads: tuple[Path, ...] = ()
    extensions: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Ready:
    """Parts that are prepared once for all reports.

    Args:
        empty: bytes of a report file with every table of the schema, empty.
        extensions: descriptor of an extension's bytes by file name; DuckDB has checked the signature, and nobody can
            change the bytes since (memfd_create, sealed).
    """

    empty: bytes = b""
    extensions: Mapping[str, int] = field(default_factory=dict)


@contextmanager
def create(
    path: Path,
    memory_limit: str = "1GB",
    access: Access | None = None,
    ready: Ready | None = None,
    threads: int = 0,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection that writes the report file ``path``, with every table of the schema, empty.

    The file is complete when the block ends without an error, and worthless after one. The connection reaches only
    files in the folder of ``path`` and those of ``access``, and no statement can change that. (SQLite reads its own
    files without asking DuckDB: with its extension loaded, the process has to be confined as well.)

    Args:
        path: file to create; it must not exist.
        memory_limit: memory that DuckDB may take before it spills to disk beside ``path``, for example ``1GB``.
        access: further files that the connection needs.
        ready: prepared parts.
        threads: threads of DuckDB; 0 for as many as there are cores.
    """
    access, ready = access or Access(), ready or Ready()
    db = _open_connection(path, memory_limit, access, ready, threads)
    try:
        _seal_connection(db, [path.parent, *access.reads])
        if ready.empty:
            path.write_bytes(ready.empty)
        attach_new(db, path, CATALOG)
        db.execute(f"USE {CATALOG}")
        if not ready.empty:
            schema.create(db)
            schema.write_comments(db)
        yield db
        db.execute("USE memory")
        db.execute(f"DETACH {CATALOG}")
        complete_file(db, path, CATALOG)
    finally:
        db.close()


def attach_new(db: duckdb.DuckDBPyConnection, path: Path, catalog: str) -> None:
    """Attach a new report file, in the format of reports."""
    db.execute(f"ATTACH {quote(str(path))} AS {catalog} ({_FORMAT})")


def measure_full_length(db: duckdb.DuckDBPyConnection, catalog: str) -> int:
    """Return the size of an attached file with all of its blocks."""
    row = db.execute(
        f"SELECT block_size * total_blocks FROM pragma_database_size() WHERE database_name = {quote(catalog)}"
    ).fetchone()
    return _HEADERS + int(row[0] if row else 0)


def complete_file(db: duckdb.DuckDBPyConnection, path: Path, catalog: str) -> None:
    """Extend a detached file to its full length: DuckDB omits free blocks at the end, and a truncated file looks the
    same."""
    db.execute(f"ATTACH {quote(str(path))} AS {catalog} (READ_ONLY)")
    length = measure_full_length(db, catalog)
    db.execute(f"DETACH {catalog}")
    if path.stat().st_size < length:
        os.truncate(path, length)


def _open_connection(
    path: Path, memory_limit: str, access: Access, ready: Ready, threads: int
) -> duckdb.DuckDBPyConnection:
    """Open a connection with its extensions; signatures are checked unless they were for every extension."""
    checked = bool(access.extensions) and all(one.name in ready.extensions for one in access.extensions)
    config: dict[str, Any] = {"memory_limit": memory_limit, "temp_directory": f"{path}.spill"}
    config |= {"threads": threads} if threads else {}
    config |= {"allow_unsigned_extensions": "true"} if checked else {}
    db = duckdb.connect(config=config)
    try:
        for extension in access.extensions:
            if checked:
                with link_descriptor(path.parent, extension.name, ready.extensions[extension.name]) as link:
                    db.execute(f"LOAD {quote(str(link))}")
            else:
                db.execute(f"LOAD {quote(str(extension))}")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def link_descriptor(folder: Path, name: str, descriptor: int) -> Iterator[Path]:
    """Give a file that this process has open a name: DuckDB identifies an extension by its name."""
    link = folder / name
    link.symlink_to(f"/proc/self/fd/{descriptor}")
    try:
        yield link
    finally:
        link.unlink()


def _seal_connection(db: duckdb.DuckDBPyConnection, allowed: list[Path]) -> None:
    """Deny all files but those allowed, for good: a name from a report may end up in a statement by mistake."""
    folders = ", ".join(quote(f"{path}/") for path in allowed if path.is_dir())
    files = ", ".join(quote(str(path)) for path in allowed if not path.is_dir())
    db.execute(f"SET allowed_directories = [{folders}]")
    db.execute(f"SET allowed_paths = [{files}]::VARCHAR[]")
    db.execute(f"SET allowed_configs = [{', '.join(map(quote, _CHANGEABLE))}]")
    db.execute("SET enable_external_access = false")
    db.execute("SET lock_configuration = true")
