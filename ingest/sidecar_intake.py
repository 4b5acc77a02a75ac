"""Sidecars in an inbox: find the reports they belong to and store their text beside these."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from ingest import formats
from ingest.conversion.messages import SIDECAR, Outcome
from ingest.sidecars.files import ENDINGS
from profiledb.library.catalog import Job
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.report.sidecar import DROPPED, SUFFIX, Columns, Kind, get_stem

ALONE = "alone"
COLUMNS = "columns"
SIDECAR_STATES = (ALONE, COLUMNS)
"""States of a valid sidecar that has no report yet, or whose columns nobody has named."""

Place = tuple[str, str]
"""Folder and stem that a sidecar shares with its report."""


@dataclass(frozen=True)
class SidecarIntake:
    """Knows the reports beside the files of an inbox.

    Args:
        library: library of the reports.
        inbox: inbox of the files.
        owners: ids of reports by the place of their source files.
    """

    library: Library
    inbox: Inbox
    owners: Mapping[Place, set[str]]

    @classmethod
    def from_jobs(cls, library: Library, inbox: Inbox, jobs: Iterable[Job]) -> "SidecarIntake":
        """Collect the reports that the catalog knows to come from files."""
        owners: dict[Place, set[str]] = {}
        for job in jobs:
            if job.report_id and job.state in ("ready", "duplicate") and job.file_kind == "report":
                folder, name = os.path.split(job.path)
                owners.setdefault((folder, get_stem(name)), set()).add(job.report_id)
        return cls(library, inbox, owners)

    def find_owners(self, path: Path) -> list[str]:
        """Return the intact reports that a sidecar belongs to."""
        owners = sorted(self.owners.get(_get_place(path), ()))
        return [report_id for report_id in owners if self.library.is_intact(report_id)]

    def fingerprint(self, path: Path) -> str | None:
        """Identify the state of a sidecar: the file, the reports beside it and the names given to its columns."""
        state = self.inbox.look(path)
        columns = self.library.catalog.columns(str(path))
        described = json.dumps(asdict(columns)) if columns else ""
        return None if state is None else f"{state}@{','.join(self.find_owners(path))}{described}"

    def store(self, job: Job, work: Path, outcome: Outcome) -> Job:
        """Store the text of a sidecar beside its reports and return the file's final state."""
        owners = self.find_owners(Path(job.path))
        if outcome.state == "sidecar":
            text = (work / SIDECAR).read_text(encoding="utf-8")
            for owner in owners:
                self.library.put_sidecar(owner, cast("Kind", outcome.kind), text)
            if not owners:
                return replace(job, state=ALONE, message=f"{job.name} waits for the report {get_stem(job.name)}.")
            return replace(job, state="ready", report_id=owners[0])
        in_use = any(self.library.has_sidecar(owner, kind) for owner in owners for kind in SUFFIX)
        if job.state == "failed" and in_use:
            job = replace(job, hint=f"{job.hint} The data read before stays in use.".strip())
        return replace(job, report_id=owners[0] if owners else None)

    @staticmethod
    def read_columns(library: Library, path: Path) -> dict[str, str]:
        """Return the meanings that a user gave to the columns of a table."""
        columns: Columns | None = library.catalog.columns(str(path))
        return asdict(columns) if columns else {}


def select_sidecars(paths: Sequence[Path], known: Mapping[str, Job], intake: SidecarIntake) -> set[Path]:
    """Return the files that their names make sidecars, now or later, and that are not known to be reports."""
    endings = formats.list_endings()
    candidates = {path for path in paths if path.suffix.lower() in ENDINGS and not path.name.lower().endswith(endings)}
    if not candidates:
        return set()
    places = set(intake.owners) | {_get_place(path) for path in paths if path not in candidates}
    return {
        path
        for path in candidates
        if (path.name.lower().endswith(DROPPED) or _get_place(path) in places) and not _is_report(known.get(str(path)))
    }


def _get_place(path: Path) -> Place:
    return str(path.parent), get_stem(path.name)


def _is_report(job: Job | None) -> bool:
    return job is not None and bool(job.report_id) and job.file_kind == "report"
