"""What goes by the rules of retention, and why: first a plan, which changes nothing, then each deletion by itself.

Samples never go, nor what somebody gave a label, nor what a report with a label is linked to. A date that cannot be
read, or that lies ahead, is no reason to delete.
"""

import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.operating import logs
from profiledb.report.catalog import Job, Manifest
from profiledb.report.library import Library
from profiledb.report.linked import LINKS
from profiledb.rules.retention import Rule, Rules

_TAKEN = ("ready", "duplicate")


@dataclass(frozen=True)
class Goes:
    """One thing that goes: a report, a file of the inbox, or the memory of a file that is gone.

    Args:
        what: ``report``, ``upload`` or ``record``.
        name: for people: untrusted text.
        why: the rule, as a part of a sentence.
        size: bytes that it takes.
        report_id: of the report.
        path: of the file.
    """

    what: str
    name: str
    why: str
    size: int = 0
    report_id: str = ""
    path: str = ""


def plan(library: Library, rules: Rules, settings: Settings, now: datetime) -> list[Goes]:
    """What goes now, the oldest first; nothing is changed. ``now`` has a time zone."""
    kept = _kept(library)
    reports = [one for one in library.list() if one.id not in kept and not one.sample]
    sizes = _sizes(library)
    series, spaces = _series(library, rules), _spaces(library, rules)
    going = {one.id: why for one in reports if (why := _by_age(one, rules, series, spaces, now))}
    going |= _over(library, rules, sizes, reports, going)
    told = [
        Goes("report", one.name, going[one.id], sizes.get(one.id, 0), one.id)
        for one in sorted(reports, key=lambda one: one.ingested_at)
        if one.id in going
    ]
    return told + list(_uploads(library, rules, settings, now))


def carry_out(library: Library, planned: list[Goes], settings: Settings) -> Iterator[Goes]:
    """Does what was planned, one by one, and gives what is gone; what changed since is left.

    A report that got a label meanwhile stays. One that cannot be deleted is logged, and tried at the next time.
    """
    for one in planned:
        try:
            done = _remove(library, one, settings)
        except (WarpdeckError, OSError) as error:
            logs.event("not_removed", what=one.what, file=one.name, cause=type(error).__name__)
            continue
        if done:
            _noted(library, one)
            yield one


def _remove(library: Library, one: Goes, settings: Settings) -> bool:
    if one.what == "report":
        if one.report_id in _kept(library):
            return False
        library.delete(one.report_id)
        return True
    path = Path(one.path)
    if one.what == "upload":
        return _drop(library, one, path, settings)
    if path.exists():
        return False
    library.catalog.forget_job(one.path)
    return True


def _drop(library: Library, one: Goes, path: Path, settings: Settings) -> bool:
    """Removes a file of the inbox, unless it is what a damaged report would be made of again."""
    job = library.catalog.job(one.path)
    needed = job is None or (job.state in _TAKEN and not library.intact(one.report_id))
    if needed or not _is_upload(path, settings):
        return False
    path.unlink()
    if path.parent != settings.inbox:
        with suppress(OSError):  # others lie in the folder
            path.parent.rmdir()
    return True


def _noted(library: Library, one: Goes) -> None:  # noqa: ARG001 (the audit of a library is written here)
    """Every deletion is written down: the one call to make for it."""
    logs.event("removed", what=one.what, file=one.name, report=one.report_id or None, bytes=one.size, cause=one.why)


def _kept(library: Library) -> set[str]:
    """Ids of the reports that somebody gave a label, and of those that they are linked to."""
    labeled = set(library.catalog.labels())
    for to in LINKS:
        for nsys_id, partner in library.catalog.links.all(to).items():
            if nsys_id in labeled or partner in labeled:
                labeled |= {nsys_id, partner}
    return labeled


def _sizes(library: Library) -> dict[str, int]:
    """Bytes of each report with all that lies beside it."""
    found: dict[str, int] = {}
    for path in library.reports.iterdir():
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            continue
        report_id = path.name.partition(".")[0]
        found[report_id] = found.get(report_id, 0) + size
    return found


def _series(library: Library, rules: Rules) -> Mapping[str, str]:
    """The name of the series of each report, where a rule asks for it."""
    if not any(rule.series for rule in rules.rules):
        return {}
    from profiledb.studies.trends.board import Board

    return {point.id: series.name for series in Board(library).series.values() for point in series.points}


def _spaces(library: Library, rules: Rules) -> Mapping[str, str]:
    """The space of each report that is in one alone, where a rule asks for it."""
    if not any(rule.space for rule in rules.rules):
        return {}
    return {key: space for key, spaces in library.catalog.spaces.of().items() if len(spaces) == 1 for space in spaces}


def _by_age(one: Manifest, rules: Rules, series: Mapping[str, str], spaces: Mapping[str, str], now: datetime) -> str:
    """The rule by which a report goes; empty where none fits."""
    fitting = (rule for rule in rules.rules if rule.space in ("", spaces.get(one.id)))
    return next((rule.words for rule in fitting if _fits(rule, one, series, now)), "")


def _fits(rule: Rule, one: Manifest, series: Mapping[str, str], now: datetime) -> bool:
    if not _older(one.ingested_at, rule.days, now) or rule.kind not in ("", one.kind):
        return False
    return not rule.series or (one.id in series and fnmatchcase(series[one.id], rule.series))


def _over(
    library: Library, rules: Rules, sizes: Mapping[str, int], reports: list[Manifest], going: Mapping[str, str]
) -> dict[str, str]:
    """The oldest reports that have to go so that the rest fits; those that stay in any case count, too."""
    if rules.total_gb is None:
        return {}
    left = sum(sizes.get(one.id, 0) for one in library.list() if one.id not in going)
    found: dict[str, str] = {}
    for one in sorted(reports, key=lambda one: one.ingested_at):
        if left <= rules.total_gb * 1e9:
            break
        if one.id not in going:
            found[one.id] = f"the oldest above {rules.total_gb:g} GB"
            left -= sizes.get(one.id, 0)
    return found


def _uploads(library: Library, rules: Rules, settings: Settings, now: datetime) -> Iterator[Goes]:
    """Files of the inbox whose report is in the library, or was deleted, and the memory of files that are gone.

    An export that lies beside a report goes before it: alone it would be taken for a report of its own.
    """
    if rules.uploads_days is None or not settings.inbox.is_dir():
        return
    why = f"uploads older than {rules.uploads_days:g} days"
    listed, jobs = set(library.catalog.report_ids()), library.catalog.jobs()
    beside = {job.path: job for job in jobs if job.state == "companion"}
    for job in reversed(jobs):
        path = Path(job.path)
        done = job.state == "deleted" or (job.state in _TAKEN and job.report_id in listed)
        if not done or not _older(job.changed_at, rules.uploads_days, now) or not path.is_relative_to(settings.inbox):
            continue
        if _is_upload(path, settings):
            for one in (beside.get(str(path.with_suffix(".sqlite"))), job):
                if one is not None and _is_upload(Path(one.path), settings):
                    yield _upload(one, why)
        elif not path.exists():
            yield Goes("record", job.name, why, 0, job.report_id or "", job.path)


def _upload(job: Job, why: str) -> Goes:
    return Goes("upload", job.name, why, Path(job.path).stat().st_size, job.report_id or "", job.path)


def _is_upload(path: Path, settings: Settings) -> bool:
    """Whether a path is a plain file of the inbox itself: no link, and nothing that a link leads to elsewhere."""
    try:
        inside = path.parent.resolve().is_relative_to(settings.inbox.resolve())
        plain = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
    return inside and plain and settings.samples not in path.parents


def _older(moment: str, days: float, now: datetime) -> bool:
    """Whether a moment (ISO 8601) is more days ago."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return False
    return now - (then if then.tzinfo else then.replace(tzinfo=UTC)) > timedelta(days=days)
