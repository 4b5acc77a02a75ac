"""Apply a selection to a cursor: find the chosen and the excluded ranges, and create the views of the remaining
rows.
"""

import duckdb

from profiledb.errors import AnalysisError
from profiledb.report.schema import count_rows, quote
from profiledb.selection import views
from profiledb.selection.model import INSTANCE, Selection
from profiledb.selection.views import Content


def apply(cursor: duckdb.DuckDBPyConnection, selection: Selection) -> None:
    """Make the views ``selected_*`` of this cursor show the selection, and its macros return mode, warm-up and GPU.

    Raises:
        AnalysisError: the report has no such range, no such instance of it, or no steps.
    """
    if selection == Selection():
        return  # the views show all of it anyway
    set_mode(cursor, selection.mode)
    if selection.everything:
        return
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO selected_warmup() AS '{selection.warmup}'")
    if selection.device is not None:
        cursor.execute(f"CREATE OR REPLACE TEMP MACRO selected_device() AS {selection.device}")
    if selection.skip_first and not selection.ranges:
        raise AnalysisError("skip_first counts instances of a range.", hint="Choose one: --param range=NAME")
    chosen = _choose_ranges(cursor, selection)
    skipped = _skip_warmups(cursor) if selection.warmup == "exclude" else None
    views.create_views(cursor, selection, chosen, skipped)
    if selection.within != "all":
        views.create_views(cursor, selection, chosen, skipped, _keep_within(cursor, selection))


def set_mode(cursor: duckdb.DuckDBPyConnection, mode: str) -> None:
    """Set the mode of attribution that ``selected_mode`` of this cursor returns."""
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO selected_mode() AS {quote(mode)}")


def _choose_ranges(cursor: duckdb.DuckDBPyConnection, selection: Selection) -> Content | None:
    """Collect the chosen instances in ``chosen``; return their content, or None if none is asked for."""
    if not selection.ranges:
        return None
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS {_NO_RANGE}")
    for text in selection.ranges:
        before = count_rows(cursor, "chosen")
        column, paths, first, last = _find_paths(cursor, text)
        ids = ", ".join(map(str, paths))
        cursor.execute(f"""
            INSERT INTO chosen
            SELECT range_id, path_id, pre, post, {column == "path"} FROM range WHERE path_id IN ({ids})
            QUALIFY row_number() OVER (PARTITION BY global_tid, path_id ORDER BY start_ns, pre)
                BETWEEN {max(first, 1 + selection.skip_first)} AND {last}
        """)
        if count_rows(cursor, "chosen") == before:
            raise AnalysisError(f"The range {text!r} has no such instance.", hint="Instances count from 1.")
    return views.collect_content(cursor, "chosen")


def _find_paths(cursor: duckdb.DuckDBPyConnection, text: str) -> tuple[str, list[int], int, int]:
    """Resolve a text; return whether it is a path or a name, the matching paths, and the first and last instance."""
    if matching := _match_paths(cursor, text):
        return *matching, 1, _ALL
    match = INSTANCE.fullmatch(text)
    if match and (matching := _match_paths(cursor, match["path"])):
        return *matching, int(match["first"]), int(match["last"] or match["first"])
    raise AnalysisError(f"No range of this report is called {text!r}.", hint="The analysis nvtx_tree lists all paths.")


_ALL = 2**62
_NO_RANGE = "SELECT range_id, path_id, pre, post, false AS by_path FROM range LIMIT 0"


def _match_paths(cursor: duckdb.DuckDBPyConnection, text: str) -> tuple[str, list[int]] | None:
    encoded = text.encode(errors="backslashreplace").hex()  # SQL ends at a NUL, even between quotation marks
    for column in ("path", "name"):
        query = f"SELECT path_id FROM range_path WHERE {column} = decode(unhex('{encoded}'))"
        rows = cursor.execute(query).fetchall()
        if rows:
            return column, [path_id for (path_id,) in rows]
    return None


def _keep_within(cursor: duckdb.DuckDBPyConnection, selection: Selection) -> Content:
    """Collect the steps, or all ranges, of the selection so far in ``unit`` (with times); return their content."""
    kind, mode = quote(selection.within), quote(selection.mode)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE unit AS FROM selected_unit({kind}, {mode})")
    if not count_rows(cursor, "unit"):
        raise AnalysisError(f"The selection has no {selection.within}.", hint="Leave out the parameter within.")
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO selected_within() AS {kind}")
    return views.collect_content(cursor, "unit")


def _skip_warmups(cursor: duckdb.DuckDBPyConnection) -> Content | None:
    """Collect warm-ups in ``skipped``, except chosen ranges and those in a chosen path; return their content."""
    cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS chosen AS {_NO_RANGE}")
    cursor.execute("""
        CREATE OR REPLACE TEMP TABLE skipped AS
        WITH RECURSIVE above AS (
            SELECT parent_id AS path_id FROM range_path
            WHERE path_id IN (SELECT path_id FROM chosen WHERE by_path)
            UNION SELECT parent_id FROM range_path JOIN above USING (path_id)
        )
        SELECT range_id, path_id, pre, post FROM range JOIN range_path USING (path_id)
        ANTI JOIN chosen USING (range_id) ANTI JOIN above USING (path_id)
        WHERE is_warmup(name)
    """)
    if not count_rows(cursor, "skipped"):
        return None
    _skip_driven_threads(cursor)
    return views.collect_content(cursor, "skipped")


def _skip_driven_threads(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add ranges of driven threads that were open within a warm-up of their driver: libraries open ranges anywhere."""
    cursor.execute("""
        INSERT INTO skipped
        SELECT DISTINCT one.range_id, one.path_id, one.pre, one.post
        FROM thread_driver AS driven JOIN range AS one ON one.global_tid = driven.global_tid
        JOIN (SELECT range.* FROM range SEMI JOIN skipped USING (range_id)) AS around
            ON around.global_tid = driver_tid AND one.start_ns >= around.start_ns AND one.end_ns <= around.end_ns
        ANTI JOIN chosen ON chosen.range_id = one.range_id
    """)
