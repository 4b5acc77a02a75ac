"""Load the SQLite database of another profiler: its records as events, as far as the file can be read."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from ingest import diagnostics
from ingest.derive import stage
from ingest.nsys import sqlite
from ingest.torch.event_batches import batch_events
from ingest.torch.events import Events
from ingest.torch.load import complete_events
from profiledb.errors import ConversionError
from profiledb.words import counted

Record = dict[str, Any]


def load_database(
    db: duckdb.DuckDBPyConnection,
    path: Path,
    list_events: Callable[[sqlite3.Connection], Iterator[Record]],
    read_keys: Callable[[], Mapping[str, Any]],
    *made_by: str,
) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Args:
        db: connection that writes the report.
        path: the database.
        list_events: yields the events of its records.
        read_keys: returns the facts of the capture, after the events are read.
        made_by: tool, kind and converter, as in ``complete_events``.

    Raises:
        ConversionError: the file has no record with a time.
    """
    stage(db)
    events = Events(db)
    damage = ""
    try:
        with sqlite.connect(path) as source:
            events.take(batch_events(list_events(source)))
    except sqlite3.Error:
        damage = "damaged"
    if not damage and not sqlite.is_sound(path):
        damage = "damaged"
    if damage and not events.count:
        raise ConversionError(f"{path.name} is damaged.", hint="Copy it again from its source, or capture again.")
    complete_events(db, events, read_keys(), *made_by)
    diagnostics.note_damage(db, path.name, damage, counted(events.count, "record"))


def note_unread(db: duckdb.DuckDBPyConnection, counts: Mapping[str, int]) -> None:
    """Note how many records of each kind a report lacks."""
    for kind, count in sorted(counts.items()):
        diagnostics.note(db, "info", f"{counted(count, 'record')} of {kind[:100]} not read.")
