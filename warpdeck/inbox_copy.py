"""Copy files into the inbox: each with its companions, atomically, into a folder named by its content.

So a file keeps its name, two files of one name do not collide, and the same file opened twice is in one place.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ingest.file_state import hash_contents
from ingest.formats import nsys_parquet
from profiledb.errors import ConversionError
from profiledb.library.catalog import OPEN_STATES
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.report.file_names import make_safe_name, require_accepted
from warpdeck import sources

FOLDER = "opened"


@dataclass(frozen=True)
class Copied:
    """A copied file.

    Args:
        name: its name for people.
        report_id: id of the report of its content.
        job: its path for the worker; None if the library has the report already.
    """

    name: str
    report_id: str
    job: Path | None


def copy_source(
    source: Path, library: Library, inbox: Inbox, on_read: Callable[[str], None] = lambda _: None
) -> Copied:
    """Copy a file into the inbox, unless the library has its report already.

    Args:
        source: a file, or a folder of Parquet files.
        library: library that may have its report.
        inbox: the worker's inbox, spelled as the worker does.
        on_read: called with the file's name before the file is read, which may take a while.

    Raises:
        ConversionError: the file does not exist, is not a regular file, or cannot be read or copied.
    """
    name = source.name
    _require_readable(source)
    on_read(name)
    try:
        report_id = hash_contents(source)[:16]
        companions = sources.list_companions(source)
        is_known = library.is_intact(report_id) and bool(library.catalog.listing.get([report_id]))
        if is_known and not companions:
            return Copied(name, report_id, None)
        job = inbox.holds(source) or _copy_file(source, companions, inbox, report_id)
    except OSError as error:
        raise ConversionError(f"{source} cannot be taken in: {error.strerror}.") from error
    if is_known:
        return Copied(name, report_id, None)
    before = library.catalog.job(str(job))
    if before and before.state not in OPEN_STATES:
        library.catalog.forget_job(str(job), asked=True)  # failed or deleted before: opening it again asks for it
    return Copied(name, report_id, job)


def _require_readable(source: Path) -> None:
    """Raise ConversionError for a missing or special file, and for a folder that is no export."""
    if not os.path.exists(source):  # noqa: PTH110 - False for a name that is too long
        raise ConversionError(f"There is no file {source}.")
    if source.is_dir() and not nsys_parquet.matches(source):
        raise ConversionError(f"{source} is a folder.", hint="Name the reports in it.")
    if not (source.is_dir() or source.is_file()):
        raise ConversionError(f"{source} is not a regular file.")
    require_accepted(source.name)


def _copy_file(source: Path, companions: Iterable[Path], inbox: Inbox, report_id: str) -> Path:
    """Copy a file after its companions and return its path."""
    name = make_safe_name(source.name)
    named = [(sidecar.get_stem(name) + one.name[len(sidecar.get_stem(source.name)) :], one) for one in companions]
    return inbox.lay(f"{FOLDER}/{report_id}", [*named, (name, source)]) / name
