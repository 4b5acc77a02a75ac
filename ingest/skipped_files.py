"""List the entries of an inbox that are not read, such as links and pipes, on the Library page and once in the log."""

import logging
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from profiledb.library.catalog import Catalog, Job
from profiledb.words import visible

STATE = "skipped"
MOST = 100
"""Most listed entries of an inbox; one more entry tells the number of the others."""
_MORE = "…/"
_COPY = "Copy the file itself into the inbox."
_REASONS = {
    "link": ("is a link, and links are not followed.", _COPY),
    "pipe": ("is a pipe, not a file.", _COPY),
    "socket": ("is a socket, not a file.", _COPY),
    "device": ("is a device, not a file.", _COPY),
    "name": ("has a name that is not UTF-8, so that it cannot be listed.", "Rename it."),
    "deep": ("lies too deep below the inbox.", "Move it up."),
    "unreadable": ("is a folder that the importer may not read.", "Give the importer permission to read it."),
    "gone": ("is not there.", "Nothing is deleted. Make the folder again, or mount its disk."),
}
_log = logging.getLogger("warpdeck")


def list_skipped(catalog: Catalog, skipped: Mapping[Path, str]) -> None:
    """Update the catalog's entries.

    Args:
        catalog: the catalog.
        skipped: paths with the reason for each, a key of ``_REASONS``.
    """
    now = {job.path: job for job in (_make_job(path, kind) for path, kind in islice(skipped.items(), MOST))}
    if more := len(skipped) - len(now):
        message = f"{more} more entries of the inbox are skipped, too."
        now[_MORE] = Job(_MORE, _MORE, str(more), STATE, message=message, hint="Remove what is no report.")
    before = {job.path: job for job in catalog.jobs() if job.state == STATE}
    new = [job for path, job in now.items() if path not in before or before[path].fingerprint != job.fingerprint]
    if new:
        catalog.put_job(*new)
    for job in new:
        _log.warning("%s %s", visible(job.message), job.hint)
    for path in before.keys() - now.keys():
        catalog.forget_job(path)


def _make_job(path: Path, kind: str) -> Job:
    """Return the entry of a path. Its key ends with a slash, so that it is never a file's key."""
    message, hint = _REASONS[kind]
    name = _make_printable(path.name if kind != "gone" else str(path))
    return Job(f"{_make_printable(str(path))}/", name, kind, STATE, message=f"{name} {message}", hint=hint)


def _make_printable(name: str) -> str:
    """Return a name that any encoding can hold: bytes that are no UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
