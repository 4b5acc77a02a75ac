"""How a conversion ended, and the words for every error that can end it."""

import json
import os
import traceback
from dataclasses import dataclass, fields, replace
from typing import Any

import duckdb

from ingest import scrub
from ingest.conversion.child import Request
from ingest.process_endings import ENDINGS, EndedError
from ingest.sidecars.files import ColumnsNeededError
from profiledb.errors import WarpdeckError
from profiledb.library import disk
from profiledb.library.catalog import OPEN_STATES, Job

LONGEST = 600
"""Characters of a sentence: names of files and cells may stand in it."""
CAUSES = (*ENDINGS, "disk", "store", "size", "rights", "damaged", "refused")
"""Why a file did not become a report: how its process ended; too little room; the bucket does not answer; too large;
no right to read it; it cannot be read; a reader says why not."""
_UNFINISHED = (*OPEN_STATES, "deferred")
_NAMES = 200
_NEAR = 0.95
"""Of the largest file that may be written: what stopped short of it did not stop because of it."""


@dataclass(frozen=True)
class Outcome:
    """How a conversion ended.

    Args:
        state: ready, duplicate, companion (the export of a report beside it), sidecar, columns (of a sidecar, to be
            named), failed, deferred (to be tried again), gone or changed.
        report_id: of what is ready or a duplicate.
        manifest: of what is ready, JSON.
        kind: of a sidecar.
        message: one sentence that says what is wrong.
        hint: one sentence that says what to do.
        detail: another program's words, without what may be secret; of ``columns`` their names, JSON.
        trace: where in this program an error came about that no format foresaw: for the log, without its words.
        cause: of ``failed`` and ``deferred``, one of ``CAUSES``.
    """

    state: str
    report_id: str | None = None
    manifest: str = ""
    kind: str = ""
    message: str = ""
    hint: str = ""
    detail: str = ""
    trace: str = ""
    cause: str = ""


@dataclass(frozen=True)
class Ended(Job):
    """A file with why it did not become a report: one of ``CAUSES``, which the catalog does not keep."""

    cause: str = ""


def ended(job: Job, cause: str, **changed: Any) -> Ended:
    """A file that has ended so; ``changed`` are fields that have another value now."""
    known = {one.name: getattr(job, one.name) for one in fields(Job)}
    return Ended(**known | changed, cause=cause)


def ended_attempts(job: Job | None, fingerprint: str) -> int:
    """How many attempts at this state of a file have been ended, by a signal or with their worker."""
    if job is None or job.fingerprint != fingerprint or job.state not in _UNFINISHED or not job.detail:
        return 0
    try:
        return int(json.loads(job.detail)["ended"])
    except (ValueError, TypeError, KeyError):
        return 0


def attempted(job: Job, attempts: int) -> Job:
    """A file that remembers how many attempts have been ended, also after a restart; it has no words of a converter
    before it has failed."""
    return replace(job, detail=json.dumps({"ended": attempts}) if attempts else "")


def failed(error: Exception, request: Request) -> Outcome:
    """The outcome of an error; nothing of what was read gets into it but through scrub."""
    outcome = _of(error, request)
    return replace(outcome, message=_sentence(outcome.message), hint=_sentence(outcome.hint))


def _of(error: Exception, request: Request) -> Outcome:
    name = request.source.name
    if isinstance(error, ColumnsNeededError):
        names = json.dumps([_sentence(column) for column in error.names[:_NAMES]])
        return Outcome("columns", message=error.message, hint=error.hint, detail=names)
    if trouble := disk.explain_error(error, request.work):
        return _without_room(error, request, trouble)
    if not os.path.lexists(request.source):  # whatever its reader makes of that
        return Outcome("gone", message=f"{name} was removed before it was read.")
    if end := _end(error, name):
        detail = scrub.words(end.detail)
        return Outcome("failed", message=end.message, hint=end.hint, detail=detail, cause=end.cause)
    if isinstance(error, WarpdeckError):
        detail = scrub.words(error.detail)
        return Outcome("failed", message=error.message, hint=error.hint, detail=detail, cause="refused")
    return _unforeseen(error, name)


def _end(error: BaseException, name: str) -> EndedError | None:
    """What ended a reader, where a format has put that into words of its own: those may say that a file is damaged."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, EndedError):
            return seen
        if isinstance(seen, (MemoryError, duckdb.OutOfMemoryException)):
            return EndedError("memory", name)
        seen = seen.__cause__ or seen.__context__
    return None


def _unforeseen(error: Exception, name: str) -> Outcome:
    detail = ""
    if isinstance(error, PermissionError):
        cause = "rights"
        message, hint = f"The importer may not read {name}.", "Give the importer read permission; it then tries again."
    else:
        cause = "damaged"
        message = f"{name} could not be read: it is damaged or not in the expected format."
        hint, detail = "Copy it again from its source, or capture again.", scrub.database(error)
    return Outcome("failed", message=message, hint=hint, detail=detail, trace=_trace(error), cause=cause)


def _without_room(error: Exception, request: Request, trouble: disk.Trouble) -> Outcome:
    """A library that takes nothing is waited for; a file that writes more than the setting allows is not."""
    largest = max((path.stat().st_size for path in request.work.rglob("*") if path.is_file()), default=0)
    limits = request.limits
    if limits.is_setting and (disk.is_too_long(error) or largest >= _NEAR * limits.file_bytes):
        also = " The disk is full as well." if disk.find_trouble(request.work) else ""
        return Outcome(
            "failed",
            message=f"{request.source.name} needs a file of more than {limits.file_bytes >> 20:,} MB.",
            hint=f"Capture a shorter window, or raise WARPDECK_CONVERT_DISK_MB.{also}",
            cause="size",
        )
    detail = scrub.words(error.detail) if isinstance(error, WarpdeckError) else scrub.database(error)
    return Outcome("deferred", message=trouble.message, hint=trouble.hint, detail=detail, cause="disk")


def _trace(error: Exception) -> str:
    return f"{type(error).__name__}\n" + "".join(traceback.format_tb(error.__traceback__)[-6:])


def _sentence(text: str) -> str:
    """A sentence that any encoding can hold, without tokens, cut where it is no sentence any more."""
    kept = scrub.visible(text.encode("utf-8", "replace").decode("utf-8"))
    return kept if len(kept) <= LONGEST else kept[: LONGEST - 1] + "…"
