"""The process of one question: it sees one report, writes nothing, reaches nothing else, and ends.

It reads a question as JSON from standard input and writes a line of JSON to standard output: ``error``, or ``cut``
(whether rows are missing) followed by the rows as an Arrow stream. Its parent (question_process.py) holds the time
limit and gives it no environment but what opens libraries and a team's database. The order counts: everything is
imported, the system's limits and Landlock hold, then DuckDB starts its threads, and it is sealed before it sees a word
of the question.
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
from profiledb.report import sidecar
from profiledb.report.schema import quote

_BATCH = 2048
_FILES = 64
"""Open files that suffice for a report."""
_MB = 1 << 20
_OVERHEAD_MB = 512
"""Address space of the interpreter's own growth and of the result on its way out."""
_SEALS = (
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_MACROS = """
    SELECT function_name FROM duckdb_functions()
    WHERE function_type = 'table_macro' AND NOT internal AND NOT contains(macro_definition, 'query_table')
"""
"""Our own, but those which, like some of DuckDB's, read any table that they are told the name of."""


def main() -> None:
    """Answers the question of standard input, and ends this process.

    It ends at once, with what DuckDB's threads may still be at: where memory is short, taking them down can fail.
    """
    asked = json.load(sys.stdin)
    macros = views.sql(views.files())
    try:
        others = library_tables.tables(asked["summaries"], asked["seen"]) if asked["summaries"] else {}
    except AnalysisError as error:
        _say({"error": error.message, "hint": error.hint})
        return
    _limit(asked)
    files = [Path(asked["database"]), *(Path(path) for path in asked["sidecars"].values())]
    db = _connected(asked)
    for name, table in others.items():
        db.from_arrow(table).create(name)
    rights = confinement.READ | confinement.writes()
    confinement.confine(rights, confinement.network(), files)
    try:
        reader = _answer(db, asked, macros)
        rows, cut = _bounded(reader, asked["rows"], asked["bytes"])
    except AnalysisError as error:
        _say({"error": error.message, "hint": error.hint})
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError, RuntimeError, ValueError) as error:
        _say(_words(error, files, asked["memory_mb"]))  # what fails between two batches comes as an OSError
    else:
        _say({"cut": cut})
        with pa.ipc.new_stream(sys.stdout.buffer, rows.schema) as stream:
            stream.write_table(rows)
    sys.stdout.flush()
    os._exit(0)


def _limit(asked: dict[str, Any]) -> None:
    """Binds this process by the system: memory, processor time, no file written, no core dumped."""
    taken = _taken_bytes()
    room = (2 * asked["memory_mb"] + _OVERHEAD_MB + 64 * asked["threads"]) * _MB
    seconds = int(asked["seconds"] * asked["threads"]) + 2
    for kind, value in (
        (resource.RLIMIT_AS, taken + room),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
    ):
        _, most = resource.getrlimit(kind)
        bound = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (bound, bound))


def _taken_bytes() -> int:
    """Address space that this process has by now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 1 << 30  # no such file outside Linux; about what imports take
    return pages * resource.getpagesize()


def _connected(asked: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """A database in memory. It reads of the machine as it starts, and has no thread beside this one yet."""
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


def _answer(db: duckdb.DuckDBPyConnection, asked: dict[str, Any], macros: str) -> pa.RecordBatchReader:
    """The rows of the question as they come."""
    db.execute(f"SET threads = {int(asked['threads'])}")
    db.execute(f"ATTACH {quote(asked['database'])} AS report (READ_ONLY)")
    db.execute("SET search_path = 'memory,report'")
    db.execute(macros)
    db.execute("SET search_path = 'report,memory'")
    for kind, path in asked["sidecars"].items():
        db.execute(f"CREATE TEMP TABLE {sidecar.NAMES[kind]} AS {sidecar.select(kind, Path(path))}")
    known = db.execute(_MACROS).fetchall()
    for seal in _SEALS:
        db.execute(seal)
    question_rules.check(db, asked["sql"], frozenset(str(name).lower() for (name,) in known))
    # Nothing handles the alarm: it ends the process, wherever DuckDB is. An interrupt would wait for long functions.
    signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
    return db.execute(asked["sql"]).to_arrow_reader(_BATCH)


def _bounded(reader: pa.RecordBatchReader, most_rows: int, most_bytes: int) -> tuple[pa.Table, bool]:
    """At most so many rows, of at most so many bytes, and whether there are more."""
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    cut = False
    for batch in reader:
        fitting = _fitting(batch, most_rows - rows, most_bytes - size)
        batches.append(fitting)
        rows, size = rows + fitting.num_rows, size + fitting.nbytes
        if cut := fitting.num_rows < batch.num_rows:
            break
    return pa.Table.from_batches(batches, reader.schema), cut


def _fitting(batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> pa.RecordBatch:
    """As many of the first rows as there is room for, or about half as many where they are large."""
    fitting = batch.slice(0, most_rows)
    while fitting.num_rows and fitting.nbytes > most_bytes:
        fitting = fitting.slice(0, fitting.num_rows // 2)
    return fitting


def _words(error: Exception, files: list[Path], memory_mb: int) -> dict[str, Any]:
    """What DuckDB says of a question, without where files lie."""
    text = str(error).split("\nStack Trace")[0]
    if isinstance(error, MemoryError) or text.startswith("Out of Memory Error"):
        return {"error": f"The question needs more than {memory_mb:,} MB of memory.", "hint": "Narrow it."}
    for file in files:
        text = text.replace(str(file), "the report").replace(str(file.parent), "")
    return {"error": text[:2_000]}


def _say(said: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main()
