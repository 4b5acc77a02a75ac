"""Messages between the worker and the processes that read dropped files, and the names of files that both know."""

import re
import resource
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from ingest.process_endings import ENDINGS

ROOT = Path(__file__).resolve().parents[2]
"""Folder in which processes start."""
DATABASE = "report.duckdb"
PREVIEW = "preview.duckdb"
SIDECAR = "sidecar"
"""Names of the results in the folder of a conversion: the report and its preview, or the text of a sidecar."""
LONGEST_LINE = 4 << 20
"""Maximum bytes of a message. The longest is the manifest of a report, which has a row count per table."""
PLAIN, ARRAYS, PREPARE = b"plain", b"arrays", b"prepare"
"""Orders to the fork server: fork a process; fork one that has numpy and pyarrow; prepare files for later processes."""
FILES = 3
"""Files that come with the order for a process: its standard input, output and errors."""
CAUSES = (*ENDINGS, "disk", "store", "size", "rights", "package", "damaged", "refused")
"""Why a file did not become a report: how its process ended; no space; the bucket does not answer; too large; no
permission to read it; a package is missing here; it cannot be read; a reader refused it."""

Task = Literal["convert", "companion", "sidecar", "upgrade"]
"""Convert a file to a report; check whether an export belongs to a report beside it; read a sidecar; convert a report
of an earlier version."""
State = Literal[
    "ready", "duplicate", "companion", "sidecar", "report", "columns", "failed", "deferred", "gone", "changed"
]
_PATHS = ("source", "work", "library")
_REPORT_ID = re.compile("[0-9a-f]{1,64}")


@dataclass(frozen=True)
class Limits:
    """Limits of one conversion.

    Args:
        time_s: processor seconds of all its processes.
        memory_bytes: address space of a process.
        file_bytes: largest file it may write.
        threads: threads of DuckDB; 0 means one per core.
        idle_s: seconds without any progress.
        is_setting: whether ``file_bytes`` is the setting; otherwise it is the free space.
    """

    time_s: float
    memory_bytes: int
    file_bytes: int
    threads: int = 0
    idle_s: float = 120.0
    is_setting: bool = True

    def apply(self) -> None:
        """Limit memory and file sizes of this process and its children, and disable core dumps."""
        _lower_limit(resource.RLIMIT_CORE, 0)
        _lower_limit(resource.RLIMIT_AS, self.memory_bytes)
        _lower_limit(resource.RLIMIT_FSIZE, self.file_bytes)


def _lower_limit(kind: int, value: int) -> None:
    """Set both limits of a kind, but never above the present hard limit."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


@dataclass(frozen=True)
class Request:
    """A task for one file.

    Args:
        source: the file or folder.
        work: an empty folder that receives all output.
        library: the library's folder, to look up whether the report exists already.
        limits: limits of the conversion.
        task: a ``companion`` or ``sidecar`` that turns out to be neither has the outcome ``report``.
        columns: meanings of a sidecar's columns as a user named them (sidecar.Columns as a dict).
        ended: earlier attempts at this file that something ended (``Ending.again``).
        preview: whether a preview of the report is wanted.
    """

    source: Path
    work: Path
    library: Path
    limits: Limits
    task: Task = "convert"
    columns: dict[str, str] = field(default_factory=dict)
    ended: int = 0
    preview: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain data for JSON."""
        return asdict(self) | {name: str(getattr(self, name)) for name in _PATHS}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Request":
        """Read the result of ``to_dict``."""
        paths = {name: Path(values[name]) for name in _PATHS}
        return cls(**values | paths | {"limits": Limits(**values["limits"])})


@dataclass(frozen=True)
class Outcome:
    """How a conversion ended.

    Args:
        state: ``companion``: the export of a report beside it. ``columns``: a sidecar whose columns a user has to
            name. ``deferred``: to be tried again later. ``report``: no sidecar or companion, but a report by itself.
        report_id: set for ``ready`` and ``duplicate``.
        manifest: JSON, set for ``ready``.
        kind: kind of a sidecar.
        message: one sentence about the problem.
        hint: one sentence about the remedy.
        detail: output of another program without secrets; for ``columns`` the column names as JSON.
        trace: traceback of an unforeseen error for the log, without the error's own text.
        cause: one of ``CAUSES``, set for ``failed`` and ``deferred``.
    """

    state: State
    report_id: str | None = None
    manifest: str = ""
    kind: str = ""
    message: str = ""
    hint: str = ""
    detail: str = ""
    trace: str = ""
    cause: str = ""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Outcome":
        """Read an outcome as a process sent it. The process has read a hostile file, so every value is checked.

        Raises:
            ValueError, TypeError: the values are not an outcome.
        """
        outcome = cls(**values)
        texts = [getattr(outcome, one.name) for one in fields(cls) if one.name != "report_id"]
        if not all(isinstance(text, str) for text in texts) or outcome.state not in get_args(State):
            raise ValueError("not an outcome")
        if outcome.report_id is not None and not _REPORT_ID.fullmatch(outcome.report_id):
            raise ValueError("not the id of a report")
        if outcome.cause not in ("", *CAUSES):
            raise ValueError("not a cause")
        return outcome
