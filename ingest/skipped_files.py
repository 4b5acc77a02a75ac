"""What lies in an inbox and is not read, such as links and pipes: an entry of the Library page and a line of the log
each, as long as it lies there."""

import logging
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from profiledb.library.catalog import Catalog, Job
from profiledb.words import visible

STATE = "skipped"
MOST = 100
"""Entries of an inbox at a time; one more says how many others there are."""
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


def tell(catalog: Catalog, found: Mapping[Path, str]) -> None:
    """Brings the entries in line with what was ``found``: paths with what each is, one of the reasons."""
    now = {job.path: job for job in (_entry(path, kind) for path, kind in islice(found.items(), MOST))}
    if more := len(found) - len(now):
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


def _entry(path: Path, kind: str) -> Job:
    """An entry; its key ends as no path of a file does, so that it is never taken for that of a file."""
    message, hint = _REASONS[kind]
    name = _legible(path.name if kind != "gone" else str(path))
    return Job(f"{_legible(str(path))}/", name, kind, STATE, message=f"{name} {message}", hint=hint)


def _legible(name: str) -> str:
    """A name as any encoding can hold it: bytes that are no UTF-8 as ``\\xNN``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
