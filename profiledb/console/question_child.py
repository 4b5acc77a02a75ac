"""The process of one question: it reads one report and stored views, writes nothing, reaches nothing else, and ends.

It reads a question as JSON from standard input and writes a line of JSON to standard output: ``error``, or ``cut``
(True if rows are missing) followed by the rows as an Arrow stream. Its parent (question_process.py) enforces the time
limit and passes only the environment that opens libraries and a team's database. The order matters: import everything,
set the system's limits, apply Landlock, then let DuckDB start its threads, and seal it before it sees the question.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from profiledb import confinement
from profiledb.console import library_tables, question_rules
from profiledb.errors import AnalysisError
from profiledb.query import views
from profiledb.report import sidecar, stored_views
from profiledb.report.schema import quote

_BATCH = 2048
_FILES = 64
"""Open files that suffice for a report."""
_MB = 1 << 20
_OVERHEAD_MB = 512
"""Address space for growth of the interpreter and for the result on its way out, in MB."""
_SEALS = (
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_MACROS = """
    SELECT function_name FROM duckdb_functions()
    WHERE function_type = 'table_macro' AND NOT internal AND NOT contains(macro_definition, 'query_table')
"""
"""Our own macros, without those that read any table whose name they get, as some of DuckDB's do."""


def main() -> None:
    """Answer the question on standard input and end this process.

    It exits without joining DuckDB's threads: with little memory left, stopping them can fail.
    """
    asked = json.load(sys.stdin)
    macros = views.build_sql(views.list_files())
    try:
        others = library_tables.read_tables(asked["summaries"], asked["seen"]) if asked["summaries"] else {}
    except AnalysisError as error:
        _write_message({"error": error.message, "hint": error.hint})
        return
    _set_limits(asked)
    files = [Path(asked["database"]), *(Path(path) for path in asked["sidecars"].values())]
    stored = stored_views.get_path(Path(asked["views"]))
    if stored.exists():
        files.append(stored)
    db = _open_memory_database(asked)
    for name, table in others.items():
        db.from_arrow(table).create(name)
    rights = confinement.READ | confinement.list_write_rights()
    confinement.confine(rights, confinement.list_network_rights(), files)
    try:
        reader = _answer_question(db, asked, macros)
        rows, cut = _read_bounded(reader, asked["rows"], asked["bytes"])
    except AnalysisError as error:
        _write_message({"error": error.message, "hint": error.hint})
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError, RuntimeError, ValueError) as error:
        _write_message(_describe_error(error, files, asked["memory_mb"]))  # an error between two batches is an OSError
    else:
        _write_message({"cut": cut})
        with pa.ipc.new_stream(sys.stdout.buffer, rows.schema) as stream:
            stream.write_table(rows)
    sys.stdout.flush()
    os._exit(0)


def _set_limits(asked: dict[str, Any]) -> None:
    """Set the system's limits of this process: memory, processor time, no written files, no core dumps."""
    taken_bytes = _measure_taken_bytes()
    room = (2 * asked["memory_mb"] + _OVERHEAD_MB + 64 * asked["threads"]) * _MB
    seconds = int(asked["seconds"] * asked["threads"]) + 2
    for kind, value in (
        (resource.RLIMIT_AS, taken_bytes + room),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
    ):
        _, most = resource.getrlimit(kind)
        bound = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (bound, bound))


def _measure_taken_bytes() -> int:
    """Return the address space that this process has taken."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 1 << 30  # no such file outside Linux; about the size of the imports
    return pages * resource.getpagesize()


def _open_memory_database(asked: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open a database in memory. It reads facts about the machine as it starts, and has no further thread yet."""
    return duckdb.connect(
        config={
            "memory_limit": f"{asked['memory_mb']}MB",
            "threads": 1,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        }
    )


def _answer_question(db: duckdb.DuckDBPyConnection, asked: dict[str, Any], macros: str) -> pa.RecordBatchReader:
    """Yield the rows of the question as they arrive."""
    db.execute(f"SET threads = {int(asked['threads'])}")
    db.execute(f"ATTACH {quote(asked['database'])} AS report (READ_ONLY)")
    if not stored_views.attach(db, Path(asked["views"])):
        db.execute("SET search_path = 'memory,report'")
        db.execute(macros)
    db.execute(f"SET search_path = 'report,{stored_views.CATALOG},memory'")
    for kind, path in asked["sidecars"].items():
        db.execute(f"CREATE TEMP TABLE {sidecar.NAMES[kind]} AS {sidecar.select_rows(kind, Path(path))}")
    known = db.execute(_MACROS).fetchall()
    for seal in _SEALS:
        db.execute(seal)
    question_rules.check_question(db, asked["sql"], frozenset(str(name).lower() for (name,) in known))
    # Without a handler the alarm ends the process, wherever DuckDB is. An interrupt would wait for long functions.
    signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
    return db.execute(asked["sql"]).to_arrow_reader(_BATCH)


def _read_bounded(reader: pa.RecordBatchReader, most_rows: int, most_bytes: int) -> tuple[pa.Table, bool]:
    """Return at most these rows and bytes, and True if there are more."""
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    cut = False
    for batch in reader:
        fitting = _cut_batch(batch, most_rows - rows, most_bytes - size)
        batches.append(fitting)
        rows, size = rows + fitting.num_rows, size + fitting.nbytes
        if cut := fitting.num_rows < batch.num_rows:
            break
    return pa.Table.from_batches(batches, reader.schema), cut


def _cut_batch(batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> pa.RecordBatch:
    """Return as many of the first rows as fit, or about half as many if they are large."""
    fitting = batch.slice(0, most_rows)
    while fitting.num_rows and fitting.nbytes > most_bytes:
        fitting = fitting.slice(0, fitting.num_rows // 2)
    return fitting


def _describe_error(error: Exception, files: list[Path], memory_mb: int) -> dict[str, Any]:
    """Describe an error of DuckDB without paths of files."""
    text = str(error).split("\nStack Trace")[0]
    if isinstance(error, MemoryError) or text.startswith("Out of Memory Error"):
        return {"error": f"The question needs more than {memory_mb:,} MB of memory.", "hint": "Narrow it."}
    for file in files:
        text = text.replace(str(file), "the report").replace(str(file.parent), "")
    return {"error": text[:2_000]}


def _write_message(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
