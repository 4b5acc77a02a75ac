"""Files that lie beside a report (sidecars): which report is theirs, and what became of each."""

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from ingest.formats import ncu_csv
from ingest.sidecars import ENDINGS, ColumnsNeededError, read
from ingest.state import look
from profiledb.catalog import Job
from profiledb.errors import ConversionError
from profiledb.library import Library
from profiledb.sidecar import DROPPED, Columns, stem

ALONE = "alone"
COLUMNS = "columns"
STATES = (ALONE, COLUMNS)
"""States of a file that is fine but has no report yet, or columns that nobody has named."""
_MARK = "@"
"""Stands in the fingerprint of a sidecar, and of nothing else."""


def sidecars(paths: Sequence[Path], jobs: Iterable[Job]) -> list[Path]:
    """Those files that lie beside a report, or will: by what their names end in, or because the report is there."""
    found = [path for path in paths if path.suffix.lower() in ENDINGS and not _is_report(path, look(path))]
    if not found:
        return []
    there = set(_reports(jobs)) | {(str(path.parent), path.stem) for path in paths if path.suffix not in ENDINGS}
    return [path for path in found if path.name.lower().endswith(DROPPED) or _place(path) in there]


@lru_cache(maxsize=1000)
def _is_report(path: Path, state: object) -> bool:  # noqa: ARG001 - the state makes it look again
    """Whether it is a table that ncu printed; remembered, because up to a megabyte of it is read."""
    return ncu_csv.matches(path)


def take(library: Library, paths: Sequence[Path]) -> list[Job]:
    """Lays those files that are new, have changed or have found their report beside it; answers what became of each."""
    if not any(path.suffix.lower() in ENDINGS for path in paths):
        return []
    jobs = library.catalog.jobs()
    known, reports = {job.path: job.fingerprint for job in jobs}, _reports(jobs)
    done = []
    for path in sidecars(paths, jobs):
        owners = [one for one in sorted(reports.get(_place(path), ())) if library.path(one).exists()]
        columns = library.catalog.columns(str(path))
        mark = _mark(path, owners, columns)
        if mark is not None and mark != known.get(str(path)):
            job = _take(library, Job(str(path), path.name, mark, ALONE), owners, columns)
            library.catalog.put_job(job)
            done.append(job)
    return done


def _place(path: Path) -> tuple[str, str]:
    """Folder and name that a sidecar shares with its report."""
    return str(path.parent), stem(path.name)


def _reports(jobs: Iterable[Job]) -> dict[tuple[str, str], set[str]]:
    """Ids of reports by the folder and the name of the files that they were made of."""
    found: dict[tuple[str, str], set[str]] = {}
    for job in jobs:
        if job.report_id and job.state in ("ready", "duplicate") and _MARK not in job.fingerprint:
            folder, name = os.path.split(job.path)  # thousands of them at every look: twenty times as fast as a Path
            found.setdefault((folder, name.rpartition(".")[0] or name), set()).add(job.report_id)
    return found


def _mark(path: Path, owners: Sequence[str], columns: Columns | None) -> str | None:
    """Changes with the file, with the reports beside it, and with what was said of its columns."""
    state = look(path)
    said = json.dumps(asdict(columns)) if columns else ""
    return None if state is None else f"{state[0]}:{state[1]}{_MARK}{','.join(owners)}{said}"


def _take(library: Library, job: Job, owners: Sequence[str], columns: Columns | None) -> Job:
    started = time.monotonic()
    state, message, hint, detail = "ready", "", "", ""
    try:
        found = read(Path(job.path), columns)
        for owner in owners:
            library.put_sidecar(owner, found.kind, found.text)
        if not owners:
            state, message = ALONE, f"{job.name} waits for the report {stem(job.name)}."
    except ColumnsNeededError as error:
        state, message, hint, detail = COLUMNS, error.message, error.hint, json.dumps(error.names)
    except ConversionError as error:
        state, message, hint, detail = "failed", error.message, error.hint, error.detail
    except OSError as error:
        state, message, detail = "failed", f"{job.name} may not be read.", str(error)
    if state == "failed" and any(path.exists() for owner in owners for path in library.sidecars(owner)):
        hint = f"{hint} What was read before stays in use.".strip()
    return Job(
        job.path, job.name, job.fingerprint, state, owners[0] if owners else None, message, hint, detail,
        seconds=round(time.monotonic() - started, 3),
    )  # fmt: skip
