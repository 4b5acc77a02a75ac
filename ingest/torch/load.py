"""Load a trace into the tables of a report and complete them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from ingest import scrub
from ingest.derive import classes, complete, stage
from ingest.nsys.lookups import KNOWN
from ingest.torch import facts, head, notes
from ingest.torch.cutter import Cutter
from ingest.torch.events import Events
from ingest.torch.json_text import Text
from ingest.torch.source import Source
from profiledb.errors import ConversionError
from profiledb.report.schema import quote, read_sql
from profiledb.words import counted

TORCH, CHROME = "PyTorch profiler", "Chrome trace"
_OF_TORCH = ("operator", "kernel", "memcpy", "memset", "runtime", "driver", "python")
_MAIN_PROCESS = """
    SELECT global_pid FROM (
        SELECT global_pid, 1 AS weight FROM numbered_call JOIN thread_of USING (thread)
        UNION ALL SELECT global_pid, 0 FROM thread_of
    ) GROUP BY global_pid ORDER BY sum(weight) DESC, global_pid LIMIT 1
"""
"""Global id of the process with the most calls."""
_SYNC = ((1, "Event"), (2, "Stream Wait Event"), (3, "Stream"), (4, "Context"))


def load_trace(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no events with a time.
    """
    stage(db)
    source, text, cutter = Source(path), Text(), Cutter()
    events = Events(db)
    events.take(cutter.batches(text.blocks(source.blocks())))
    _check_hashes(db, events)
    keys, is_whole = head.read_head(cutter)
    _prepare_database(db)
    facts.write_facts(db, keys, _find_tool(db, keys))
    db.execute(read_sql("stage.sql", "ingest.torch"))
    db.execute(f"SET VARIABLE main_process = ({_MAIN_PROCESS})")
    complete(db, names=lambda: _write_names(db), rest=lambda: _write_rest(db))
    notes.note_damage(db, source, text, cutter, events)
    if not is_whole and (cutter.closed or not keys):
        notes.note_unread_head(db)
    notes.note_kinds(db)


def _check_hashes(db: duckdb.DuckDBPyConnection, events: Events) -> None:
    (timed,) = db.execute(
        "SELECT EXISTS (FROM trace_other WHERE kind NOT LIKE 'ph %' AND kind <> 'unreadable')"
    ).fetchone() or (False,)
    if not timed:
        what = f"{counted(events.count, 'event')}, but none that begins and lasts" if events.count else "no events"
        raise ConversionError(f"The trace has {what}.", hint="Capture again: the profiler recorded nothing.")
    (same,) = db.execute(
        "SELECT count(*) FROM (SELECT id FROM trace_text GROUP BY id HAVING count(DISTINCT text) > 1)"
    ).fetchone() or (0,)
    if same:
        raise ConversionError("The trace has texts that cannot be told apart by their hashes.")


def _prepare_database(db: duckdb.DuckDBPyConnection) -> None:
    """Create the SQL macros of the files in this folder, the enumerations and the numbers of all names."""
    db.execute(f"CREATE OR REPLACE TEMP MACRO clean(t) AS replace({scrub.make_scrub_expression(db)}, chr(0), ' ')")
    db.execute(f"CREATE OR REPLACE TEMP MACRO short_name(t) AS {classes.shorten_name('t')}")
    rows = [(enum, number, label) for enum, labels in KNOWN.items() for number, label in enumerate(labels)]
    rows += [("CUPTI_SYNC_TYPE", number, label) for number, label in _SYNC]
    values = ", ".join(f"({quote(enum)}, {number}, {quote(label)})" for enum, number, label in rows)
    db.execute(f"INSERT INTO enum_value (enum, id, label) VALUES {values}")
    db.execute(read_sql("session.sql", "ingest.torch"))
    db.execute("SET VARIABLE trace_begin = (SELECT coalesce(begin_ns, 0) FROM session)")


def _find_tool(db: duckdb.DuckDBPyConnection, keys: Mapping[str, Any]) -> str:
    """Return the tool that wrote the trace, by Kineto's own keys and kinds of events, else by the processes' names."""
    kinds = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM trace_other").fetchall()}
    if "deviceProperties" in keys or kinds & set(_OF_TORCH):
        return TORCH
    query = "SELECT 1 FROM trace_name WHERE kind = 'process_name' AND regexp_matches(name, '^/(host|device):') LIMIT 1"
    return "XLA profiler (JAX or TensorFlow)" if db.execute(query).fetchone() else CHROME


def _write_names(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("""
        INSERT INTO range_name BY NAME
        SELECT name_id, domain_text AS domain, text, cut(text, 4096) AS name FROM name_of
    """)


def _write_rest(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(read_sql("rest.sql", "ingest.torch"))
    db.execute(read_sql("operators.sql", "ingest.torch"))
