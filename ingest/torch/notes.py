"""Note remarkable facts about a trace: cut and excluded data, and figures that differ in meaning from nsys."""

import duckdb

from ingest import diagnostics
from ingest.torch.cutter import LOST_MOST, Cutter
from ingest.torch.events import Events
from ingest.torch.json_text import Text
from ingest.torch.source import Source
from profiledb.words import counted

_CUT = "The rest is missing in this report."
_PHASES = {"ph B": "begin", "ph E": "end", "ph C": "counter", "ph b": "asynchronous", "ph e": "asynchronous"}


def note_damage(db: duckdb.DuckDBPyConnection, source: Source, text: Text, cutter: Cutter, events: Events) -> None:
    """Note how much of a damaged trace could be read."""
    if cutter.lost > LOST_MOST:
        _note_warning(db, f"The trace is damaged in more than {LOST_MOST:,} places. {_note_after_end(events)} {_CUT}")
    elif source.damage or not cutter.closed:
        _note_warning(db, f"The trace is {source.damage or 'cut off'}. {_note_after_end(events)} {_CUT}")
    if spoiled := events.unreadable + (cutter.lost if cutter.closed else 0):
        _note_warning(db, f"{_format_count(spoiled, 'event')} damaged and excluded.")
    if text.repaired:
        _note_warning(db, "The trace has bytes that are no UTF-8; names show a mark in their place.")


def note_unread_head(db: duckdb.DuckDBPyConnection) -> None:
    """Note that the text before and after the events is damaged."""
    text = "What the trace says of its capture, its GPUs and the distributed run could not be read in full: it is"
    _note_warning(db, f"{text} damaged, and missing in this report.")


def note_kinds(db: duckdb.DuckDBPyConnection) -> None:
    """Note which events were excluded, and the meaning of a trace's figures."""
    counts = dict(db.execute("SELECT kind, sum(n)::BIGINT FROM trace_other GROUP BY kind").fetchall())
    for phase, title in _PHASES.items():
        if count := counts.get(phase):
            _note_info(db, f"{_format_count(count, f'{title} event')} not read (ph {phase[3:]}).")
    if count := sum(n for kind, n in counts.items() if kind.startswith("ph ") and kind not in _PHASES):
        _note_info(db, f"{_format_count(count, 'event')} of other kinds and not read.")
    if count := counts.get("gpu_user_annotation"):
        text = f"{_format_count(count, 'GPU annotation')} not read: the ranges on the host say what they ran."
        _note_info(db, text)
    (whole_us,) = db.execute("SELECT whole_us FROM session").fetchone() or (None,)
    if whole_us:
        _note_info(db, "Times in this trace are whole microseconds: short kernels and calls last 0 or 1 µs.")
    if counts.keys() & {"kernel", "operator"}:
        text = "CPU times include the PyTorch profiler's own work, more of it with stacks and shapes."
        _note_info(db, f"{text} Compare them with another trace, not with a report of Nsight Systems.")
    _note_unlaunched(db)


def _note_unlaunched(db: duckdb.DuckDBPyConnection) -> None:
    kernels, without = db.execute("SELECT count(*), count(*) FILTER (call_id IS NULL) FROM kernel").fetchone() or (0, 0)
    if without:
        text = f"The trace has no launch of {without:,} of {counted(kernels, 'kernel')}: no range counts them."
        _note_info(db, text)


def _note_after_end(events: Events) -> str:
    return f"{counted(events.count, 'event')} could be read."


def _format_count(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {'is' if count == 1 else 'are'}"


def _note_warning(db: duckdb.DuckDBPyConnection, text: str) -> None:
    diagnostics.note(db, "warning", text)


def _note_info(db: duckdb.DuckDBPyConnection, text: str) -> None:
    diagnostics.note(db, "info", text)
