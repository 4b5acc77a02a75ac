"""Turn every error that can end a conversion into an outcome with a sentence for people."""

import json
import os
import traceback
from dataclasses import dataclass, fields, replace
from typing import Any

import duckdb

from ingest import scrub
from ingest.conversion.messages import Outcome, Request
from ingest.process_endings import EndedError
from ingest.sidecars.files import ColumnsNeededError
from profiledb.errors import WarpdeckError
from profiledb.library import disk
from profiledb.library.catalog import OPEN_STATES, Job

LONGEST = 600
"""Maximum characters of a sentence, which may contain names of files and cells."""
_UNFINISHED = (*OPEN_STATES, "deferred")
_MOST_COLUMNS = 200
_NEARLY = 0.95
"""A conversion that wrote less than this share of the largest allowed file did not stop because of that limit."""


@dataclass(frozen=True)
class EndedJob(Job):
    """A file with the reason why it did not become a report: one of ``CAUSES``, which the catalog does not store."""

    cause: str = ""


def end_job(job: Job, cause: str, **changed: Any) -> EndedJob:
    """Return the job with a cause; ``changed`` holds fields with new values."""
    values = {one.name: getattr(job, one.name) for one in fields(Job)}
    return EndedJob(**values | changed, cause=cause)


def count_ended_attempts(job: Job | None, fingerprint: str) -> int:
    """Return how many attempts at this state of a file were ended by a signal or with their worker."""
    if job is None or job.fingerprint != fingerprint or job.state not in _UNFINISHED or not job.detail:
        return 0
    try:
        return int(json.loads(job.detail)["ended"])
    except (ValueError, TypeError, KeyError):
        return 0


def note_ended_attempts(job: Job, attempts: int) -> Job:
    """Store the number of ended attempts in ``detail``, to survive a restart. Converter output needs that field only
    after a failure."""
    return replace(job, detail=json.dumps({"ended": attempts}) if attempts else "")


def describe_error(error: Exception, request: Request) -> Outcome:
    """Return the outcome of an error; text from the file passes scrub first."""
    outcome = _describe_error(error, request)
    return replace(outcome, message=_clean_sentence(outcome.message), hint=_clean_sentence(outcome.hint))


def _describe_error(error: Exception, request: Request) -> Outcome:
    name = request.source.name
    if isinstance(error, ColumnsNeededError):
        names = json.dumps([_clean_sentence(column) for column in error.names[:_MOST_COLUMNS]])
        return Outcome("columns", message=error.message, hint=error.hint, detail=names)
    if trouble := disk.explain_error(error, request.work):
        return _describe_full_disk(error, request, trouble)
    if not os.path.lexists(request.source):  # the reader's own error does not matter then
        return Outcome("gone", message=f"{name} was removed before it was read.")
    if ending := _find_ending(error, name):
        detail = scrub.scrub_output(ending.detail)
        return Outcome("failed", message=ending.message, hint=ending.hint, detail=detail, cause=ending.cause)
    if isinstance(error, WarpdeckError):
        detail = scrub.scrub_output(error.detail)
        return Outcome("failed", message=error.message, hint=error.hint, detail=detail, cause="refused")
    return _describe_unforeseen(error, name)


def _find_ending(error: BaseException, name: str) -> EndedError | None:
    """Return the error that ended a reader, even if a format wrapped it in its own words ("damaged")."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, EndedError):
            return seen
        if isinstance(seen, (MemoryError, duckdb.OutOfMemoryException)):
            return EndedError("memory", name)
        seen = seen.__cause__ or seen.__context__
    return None


def _describe_unforeseen(error: Exception, name: str) -> Outcome:
    detail = ""
    if isinstance(error, PermissionError):
        cause = "rights"
        message, hint = f"The importer may not read {name}.", "Give the importer read permission; it then tries again."
    elif isinstance(error, ImportError):
        cause = "package"
        message = f"{name} could not be read: Warpdeck is not installed completely."
        hint, detail = "Install it again with all its packages.", str(error)
    else:
        cause = "damaged"
        message = f"{name} could not be read: it is damaged or not in the expected format."
        hint, detail = "Copy it again from its source, or capture again.", scrub.scrub_database_error(error)
    return Outcome("failed", message=message, hint=hint, detail=detail, trace=_format_trace(error), cause=cause)


def _describe_full_disk(error: Exception, request: Request, trouble: disk.Trouble) -> Outcome:
    """Defer the file if the library takes no more; fail it if it writes a larger file than the setting allows."""
    largest = max((path.stat().st_size for path in request.work.rglob("*") if path.is_file()), default=0)
    limits = request.limits
    if limits.is_setting and (disk.is_too_long(error) or largest >= _NEARLY * limits.file_bytes):
        also = " The disk is full as well." if disk.find_trouble(request.work) else ""
        return Outcome(
            "failed",
            message=f"{request.source.name} needs a file of more than {limits.file_bytes >> 20:,} MB.",
            hint=f"Capture a shorter window, or raise WARPDECK_CONVERT_DISK_MB.{also}",
            cause="size",
        )
    detail = scrub.scrub_output(error.detail) if isinstance(error, WarpdeckError) else scrub.scrub_database_error(error)
    return Outcome("deferred", message=trouble.message, hint=trouble.hint, detail=detail, cause="disk")


def _format_trace(error: Exception) -> str:
    return f"{type(error).__name__}\n" + "".join(traceback.format_tb(error.__traceback__)[-6:])


def _clean_sentence(text: str) -> str:
    """Make a sentence valid UTF-8 without secrets, and cut it at ``LONGEST`` characters."""
    clean = scrub.scrub_text(text.encode("utf-8", "replace").decode("utf-8"))
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"
