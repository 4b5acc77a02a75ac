"""The answers of this page: the last few are kept, so that choosing another chart asks nothing."""

from copy import copy
from functools import lru_cache
from pathlib import Path

from app import script_queue, session
from profiledb.console import question_limits
from profiledb.console.question_process import Answer
from profiledb.console.question_process import ask as ask_process
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.visitor import Visitor
from profiledb.studies.trends.summary_store import FILE as SUMMARIES


def ask(manifest: Manifest, sql: str) -> Answer:
    """The answer as far as a page shows it; raises as ``profiledb.console.question_process``."""
    shelf = session.library()
    files = (shelf.path(manifest.id), *shelf.sidecars(manifest.id), shelf.folder / SUMMARIES)
    stamps = tuple(map(shelf.stamp, files))
    with script_queue.page_scripts.step_aside():
        found = _asked(shelf.folder, shelf.catalog.sight.reports(), shelf.catalog.visitor, manifest.id, sql, stamps)
    if isinstance(found, AnalysisError):
        raise copy(found)
    return found


def whole(shelf: Library, manifest: Manifest, sql: str, shown: Answer) -> Answer:
    """The answer as far as a file holds it; when a button is clicked, a library knows who asks, and no session does."""
    if not shown.cut:
        return shown
    return ask_process(shelf, manifest.id, sql, question_limits.saved(session.settings()))


@lru_cache(maxsize=8)
def _asked(
    folder: Path,  # noqa: ARG001 (part of the key)
    seen: frozenset[str] | None,  # noqa: ARG001 (part of the key)
    visitor: Visitor,  # noqa: ARG001 (part of the key: the audit says who asks what)
    report_id: str,
    sql: str,
    stamps: tuple[int, ...],  # noqa: ARG001 (part of the key)
) -> Answer | AnalysisError:
    try:
        return ask_process(session.library(), report_id, sql, question_limits.shown(session.settings()))
    except AnalysisError as error:
        return error
