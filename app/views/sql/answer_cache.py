"""The answers of this page: they are kept, so that choosing another chart asks nothing."""

from app import session
from profiledb.console import question_limits
from profiledb.console.question_process import Answer
from profiledb.console.question_process import ask as ask_process
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.trends.team_summary_store import summaries_of


def ask(manifest: Manifest, sql: str) -> Answer:
    """Return the answer as far as a page shows it; raises as ``profiledb.console.question_process``.

    Each visitor has it asked anew: the audit says who asks what.
    """
    shelf = session.library()
    seen = (shelf.catalog.visibility.report_ids(), shelf.catalog.visitor, summaries_of(shelf).version())
    return session.asked(
        session.key(manifest.id, "SQL", {}, (sql, seen)),
        lambda: ask_process(shelf, manifest.id, sql, question_limits.page_limits(session.settings())),
    )


def whole(shelf: Library, manifest: Manifest, sql: str, shown: Answer) -> Answer:
    """The answer as far as a file holds it; when a button is clicked, a library knows who asks, and no session does."""
    if not shown.cut:
        return shown
    return ask_process(shelf, manifest.id, sql, question_limits.file_limits(session.settings()))
