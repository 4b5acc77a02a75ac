"""Cached answers of the SQL page, so that changing the chart runs no query."""

from app import session
from profiledb.console import question_limits
from profiledb.console.question_process import Answer
from profiledb.console.question_process import ask as ask_process
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.trends.team_summary_store import open_summaries


def ask(manifest: Manifest, sql: str) -> Answer:
    """Return the answer, truncated to the page limits. Raises the errors of ``profiledb.console.question_process``.

    The cache key includes the visitor, so that the audit log records every visitor's query.
    """
    shelf = session.library()
    visible = shelf.catalog.visibility
    seen = (
        visible.cache_key(), None if visible.sees_all else shelf.catalog.version(), shelf.catalog.visitor,
        open_summaries(shelf).version(),
    )  # fmt: skip
    return session.ask_once(
        session.make_key(manifest.id, "SQL", {}, (sql, seen)),
        lambda: ask_process(shelf, manifest.id, sql, question_limits.read_page_limits(session.get_settings())),
    )


def read_whole(shelf: Library, manifest: Manifest, sql: str, shown: Answer) -> Answer:
    """Return the answer up to the file limits.

    The caller passes the library, because the callback of a download button runs outside the visitor's session.
    """
    if not shown.cut:
        return shown
    return ask_process(shelf, manifest.id, sql, question_limits.read_file_limits(session.get_settings()))
