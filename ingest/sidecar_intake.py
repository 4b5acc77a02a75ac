"""Files that lie beside a report (sidecars): which report is theirs, and what became of each."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ingest.conversion.child import SIDECAR
from ingest.sidecars.files import ENDINGS
from profiledb.library.catalog import Job
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.report.sidecar import DROPPED, SUFFIX, TRACES, Columns, stem

ALONE = "alone"
COLUMNS = "columns"
STATES = (ALONE, COLUMNS)
"""States of a file that is fine but has no report yet, or columns that nobody has named."""
_MARK = "@"
"""Stands in the fingerprint of a sidecar, and of nothing else."""

Place = tuple[str, str]
"""Folder and name that a sidecar shares with its report."""


@dataclass(frozen=True)
class Shelf:
    """What the files of an inbox lie beside.

    Args:
        library: whose reports they are.
        inbox: where the files lie.
        owners: ids of reports by the place of the files that they were made of.
    """

    library: Library
    inbox: Inbox
    owners: Mapping[Place, set[str]]

    @classmethod
    def of(cls, library: Library, inbox: Inbox, jobs: Iterable[Job]) -> "Shelf":
        """The reports that the catalog knows to be made of files."""
        owners: dict[Place, set[str]] = {}
        for job in jobs:
            if job.report_id and job.state in ("ready", "duplicate") and not is_sidecar(job):
                folder, name = os.path.split(job.path)
                owners.setdefault((folder, stem(name)), set()).add(job.report_id)
        return cls(library, inbox, owners)

    def owners_of(self, path: Path) -> list[str]:
        """The reports that a sidecar belongs to, as far as they are there."""
        known = sorted(self.owners.get(place(path), ()))
        return [report_id for report_id in known if self.library.is_intact(report_id)]

    def mark(self, path: Path) -> str | None:
        """What identifies a sidecar's state: the file, the reports beside it and the word on its columns."""
        state = self.inbox.look(path)
        columns = self.library.catalog.columns(str(path))
        described = json.dumps(asdict(columns)) if columns else ""
        return None if state is None else f"{state}{_MARK}{','.join(self.owners_of(path))}{described}"

    def lay(self, job: Job, work: Path, outcome: Mapping[str, Any]) -> Job:
        """Puts the text of a sidecar beside its reports and says what became of the file."""
        owners = self.owners_of(Path(job.path))
        if outcome["state"] == "sidecar":
            text = (work / SIDECAR).read_text(encoding="utf-8")
            for owner in owners:
                self.library.put_sidecar(owner, outcome["kind"], text)
            if not owners:
                return replace(job, state=ALONE, message=f"{job.name} waits for the report {stem(job.name)}.")
            return replace(job, state="ready", report_id=owners[0])
        in_use = any(self.library.has_sidecar(owner, kind) for owner in owners for kind in SUFFIX)
        if job.state == "failed" and in_use:
            job = replace(job, hint=f"{job.hint} The data read before stays in use.".strip())
        return replace(job, report_id=owners[0] if owners else None)


def is_sidecar(job: Job) -> bool:
    """Whether a file was taken for one that lies beside a report."""
    return _MARK in job.fingerprint


def apart(paths: Sequence[Path], known: Mapping[str, Job], shelf: Shelf) -> set[Path]:
    """Those files that by their names lie beside a report, or will, and are not known to be one themselves."""
    chosen = {path for path in paths if path.suffix.lower() in ENDINGS and not path.name.lower().endswith(TRACES)}
    if not chosen:
        return set()
    there = set(shelf.owners) | {place(path) for path in paths if path not in chosen}
    return {
        path
        for path in chosen
        if (path.name.lower().endswith(DROPPED) or place(path) in there) and not _is_report(known.get(str(path)))
    }


def columns_of(library: Library, path: Path) -> dict[str, str]:
    """What a reader said of the columns of a table."""
    columns: Columns | None = library.catalog.columns(str(path))
    return asdict(columns) if columns else {}


def place(path: Path) -> Place:
    """Folder and name that a sidecar shares with its report."""
    return str(path.parent), stem(path.name)


def _is_report(job: Job | None) -> bool:
    return job is not None and bool(job.report_id) and not is_sidecar(job)
