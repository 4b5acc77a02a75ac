"""Note remarkable facts about an nsys export."""

import duckdb

from ingest import diagnostics
from ingest.nsys.source import CUT, LONGEST
from profiledb.report.schema import count_rows, quote

NAMES = 3
"""Most names of ranges in the notes."""
TEXTS = {
    "string": "value",
    "range_name": "text",
    "range": "payload_json",
    "mark": "payload_json",
    "diagnostic": "text",
    "capture_setting": "value",
    "system_info": "value",
    "process": "name",
    "gpu": "name",
    "memory_event": "name",
}
"""Columns that hold texts of the export at full length."""


def note_unclosed_ranges(db: duckdb.DuckDBPyConnection) -> None:
    """Note which ranges were never closed: they hold everything that follows. nsys closes push/pop ranges with the
    session."""
    rows = db.execute("""
        WITH session AS (SELECT max(duration) AS end_ns FROM src.ANALYSIS_DETAILS)
        SELECT name, style, count(*) AS n FROM range JOIN range_name USING (name_id)
        WHERE NOT closed OR style = 'PushPop' AND end_ns = (SELECT end_ns FROM session) AND end_ns > start_ns
        GROUP BY name, style ORDER BY n DESC, name
    """).fetchall()
    for name, style, count in rows[:NAMES]:
        ranges = "1 range" if count == 1 else f"{count:,} ranges"
        was, missing = ("was" if count == 1 else "were"), ("pop" if style == "PushPop" else "end")
        last = "It lasts" if count == 1 else "They last"
        text = (
            f"{ranges} `{shorten_name(name)}` {was} never closed (no {missing}). {last} until the end of the capture."
        )
        diagnostics.remember(db, "warning", text)
    if more := len(rows) - NAMES if len(rows) > NAMES else 0:
        count = sum(n for *_, n in rows[NAMES:])
        diagnostics.remember(db, "warning", f"{count:,} more ranges of {more:,} other names were never closed.")


def note_graphs(db: duckdb.DuckDBPyConnection) -> None:
    """Note that kernels are missing if CUDA graphs were traced as a whole, and how to capture them."""
    if count := count_rows(db, "graph_launch"):
        launches = "1 launch of a CUDA graph was" if count == 1 else f"{count:,} launches of CUDA graphs were"
        text = f"{launches} traced as a whole: their kernels are not in this report."
        diagnostics.note(db, "warning", f"{text} To record them: nsys profile --cuda-graph-trace=node")


def note_settings(db: duckdb.DuckDBPyConnection) -> None:
    """Note that an export lacks the settings, as those of old versions of nsys do: no page shows the command line."""
    if not db.execute("SELECT 1 FROM capture_setting WHERE NOT starts_with(name, 'EXPORT_') LIMIT 1").fetchone():
        text = "The export has no settings of the capture (META_DATA_CAPTURE), such as its command line and options:"
        diagnostics.note(db, "info", f"{text} they are missing in this report.")


def note_cut_texts(db: duckdb.DuckDBPyConnection) -> None:
    """Note how many texts were cut."""
    counts = " UNION ALL ".join(
        f"SELECT count(*) AS n FROM {table} WHERE strlen({column}) > {LONGEST} AND ends_with({column}, {quote(CUT)})"
        for table, column in TEXTS.items()
    )
    (count,) = db.execute(f"SELECT sum(n)::BIGINT FROM ({counts})").fetchone() or (0,)
    if count:
        was = "1 text was" if count == 1 else f"{count:,} texts were"
        diagnostics.note(db, "warning", f"{was} cut after {LONGEST:,} characters.")


def shorten_name(name: str) -> str:
    """Return the start of a name on one line."""
    flat = " ".join(name.split())
    return flat if len(flat) <= 80 else f"{flat[:79]}…"
