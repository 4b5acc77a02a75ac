"""Puts files into the inbox: each into a folder named by its content, whole at once, with what lies beside it.

So a file keeps its name, two files of one name do not meet, and the same file opened twice is in one place.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.file_state import contents
from ingest.fingerprints import EXPORT_SUFFIX, NSYS_SUFFIXES
from ingest.formats import nsys_parquet
from profiledb.errors import ConversionError
from profiledb.library.catalog import OPEN_STATES
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.report.file_names import require_accepted, safe_name

FOLDER = "opened"


@dataclass(frozen=True)
class Taken:
    """A file that was taken.

    Args:
        name: its name for people.
        report_id: the report that its content is, or becomes.
        job: the path under which the worker knows it; None if the library has the report already.
    """

    name: str
    report_id: str
    job: Path | None


def sources(paths: Sequence[Path]) -> list[Path]:
    """The files to take, each once: what lies beside another one of them comes along with that."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    along = {os.path.realpath(one) for path in unique.values() for one in beside(path)}
    return [path for real, path in unique.items() if real not in along]


def beside(path: Path) -> list[Path]:
    """What belongs to a report: the export of the same capture, and what its program said of itself."""
    if not os.path.isfile(path) or path.name.lower().endswith(sidecar.DROPPED):  # noqa: PTH113
        return []
    endings = [*sidecar.DROPPED, ".csv", *([EXPORT_SUFFIX] if path.suffix in NSYS_SUFFIXES else [])]
    found = [path.with_name(sidecar.stem(path.name) + ending) for ending in endings]
    return [one for one in found if one != path and os.path.isfile(one)]  # noqa: PTH113 (False for a name that is too long)


def take(source: Path, library: Library, inbox: Inbox, begin: Callable[[str], None] = lambda _: None) -> Taken:
    """Takes a file in, unless the library has its report already.

    Args:
        source: a file, or a folder of Parquet files.
        library: where its report would be.
        inbox: that the worker watches, as the worker spells it.
        begin: called with the file's name before it is read, which takes a while where it is large.

    Raises:
        ConversionError: there is no such file, it is no regular file, or it cannot be read or copied.
    """
    shown = source.name
    _require(source)
    begin(shown)
    try:
        report_id = contents(source)[:16]
        extra = beside(source)
        known = library.is_intact(report_id) and any(report.id == report_id for report in library.list())
        if known and not extra:
            return Taken(shown, report_id, None)
        job = inbox.holds(source) or _copy(source, extra, inbox, report_id)
    except OSError as error:
        raise ConversionError(f"{source} cannot be taken in: {error.strerror}.") from error
    if known:
        return Taken(shown, report_id, None)
    before = library.catalog.job(str(job))
    if before and before.state not in OPEN_STATES:
        library.catalog.forget_job(str(job), asked=True)  # it failed or was deleted: who opens it again wants it
    return Taken(shown, report_id, job)


def _require(source: Path) -> None:
    """Raises ConversionError for what is no file, and for a folder that is no export."""
    if not os.path.exists(source):  # noqa: PTH110 (a name that is too long is one of no file)
        raise ConversionError(f"There is no file {source}.")
    if source.is_dir() and not nsys_parquet.matches(source):
        raise ConversionError(f"{source} is a folder.", hint="Name the reports in it.")
    if not (source.is_dir() or source.is_file()):
        raise ConversionError(f"{source} is not a regular file.")
    require_accepted(source.name)


def _copy(source: Path, extra: Iterable[Path], inbox: Inbox, report_id: str) -> Path:
    """Copies a file and what lies beside it, which comes first, and returns where the file is."""
    name = safe_name(source.name)
    beside_it = [(sidecar.stem(name) + one.name[len(sidecar.stem(source.name)) :], one) for one in extra]
    return inbox.lay(f"{FOLDER}/{report_id}", [*beside_it, (name, source)]) / name
