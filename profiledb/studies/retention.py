"""Apply the rules of retention: plan, announce, and some days later delete one thing at a time.

The summary of a deleted report stays, so that trends and the gate keep its point (``Catalog.remove_report``). Samples
stay, and so do reports with a label and reports linked to those. A date that is unreadable or in the future is no
reason to delete.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.library.catalog import Job, Manifest
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.library.removals import Removal
from profiledb.library.report_links import LINKS
from profiledb.monitoring import logs
from profiledb.rules.retention import Rule, Rules
from profiledb.studies.trends import summary_refresh

_TAKEN = ("ready", "duplicate")


@dataclass(frozen=True)
class Deletion:
    """One thing to delete: a report, a file of the inbox, or the record of a missing file.

    Args:
        what: ``report``, ``upload`` or ``record``.
        name: for people; untrusted text.
        why: the rule, as part of a sentence.
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

    @property
    def thing(self) -> str:
        """Key of its announcement: the id of a report, else the path."""
        return self.report_id if self.what == "report" else self.path


def plan(library: Library, inbox: Inbox, rules: Rules, settings: Settings, now: datetime) -> list[Deletion]:
    """Return the removals that rules demand now, oldest first, without changing anything. ``now`` has a time zone."""
    labeled_ids = _find_labeled(library)
    reports = [one for one in library.list() if one.id not in labeled_ids and not one.sample]
    sizes = library.report_bytes()
    series, spaces = _map_series(library, rules), _map_spaces(library, rules)
    going = {one.id: why for one in reports if (why := _find_age_rule(one, rules, series, spaces, now))}
    going |= _find_excess(library, rules, sizes, reports, going)
    deletions = [
        Deletion("report", one.name, going[one.id], sizes.get(one.id, 0), one.id)
        for one in sorted(reports, key=lambda one: one.ingested_at)
        if one.id in going
    ]
    return deletions + list(_plan_uploads(library, inbox, rules, settings, now))


def announce(
    library: Library, inbox: Inbox, rules: Rules, settings: Settings, now: datetime
) -> tuple[list[Deletion], list[Removal]]:
    """Announce the removals within the days of notice; return those that are due, because they were announced as long
    ago, and all announcements. Records of missing files need no announcement.
    """
    notice = timedelta(days=rules.notice_days)
    coming = [
        Removal(one.what, one.thing, one.name, one.why, one.size)
        for one in plan(library, inbox, rules, settings, now + notice)
        if one.what != "record"
    ]
    announced = library.catalog.removals.announce(coming, now)
    ripe = {(one.what, one.thing) for one in announced if datetime.fromisoformat(one.announced_at) <= now - notice}
    due = plan(library, inbox, rules, settings, now)
    return [one for one in due if one.what == "record" or (one.what, one.thing) in ripe], announced


def carry_out(library: Library, inbox: Inbox, planned: list[Deletion]) -> Iterator[Deletion]:
    """Delete the planned things one by one and yield those deleted; things that changed since the plan stay.

    A report that got a label meanwhile stays. One that cannot be deleted is logged and tried again at the next run.
    """
    for one in planned:
        try:
            done = _remove_one(library, inbox, one)
        except (WarpdeckError, OSError) as error:
            logs.log_event("not_removed", what=one.what, file=one.name, cause=type(error).__name__)
            continue
        if done:
            report = one.report_id or None
            logs.log_event("removed", what=one.what, file=one.name, report=report, bytes=one.size, cause=one.why)
            yield one


def _remove_one(library: Library, inbox: Inbox, one: Deletion) -> bool:
    if one.what == "report":
        if one.report_id in _find_labeled(library):
            return False
        report = library.catalog.listing.get([one.report_id]).get(one.report_id)
        library.delete(one.report_id, summary_refresh.keep_summary(library, report) if report else "")
        return True
    path = Path(one.path)
    if one.what == "upload":
        return _remove_upload(library, inbox, one, path)
    if inbox.look(path):
        return False
    library.catalog.forget_job(one.path)
    return True


def _remove_upload(library: Library, inbox: Inbox, one: Deletion, path: Path) -> bool:
    """Remove a file of the inbox, unless it has changed or a damaged report needs it for another conversion."""
    job = library.catalog.job(one.path)
    if job is None or (job.state in _TAKEN and not library.is_safe(one.report_id)):
        return False
    if not inbox.is_upload(path) or not _is_as_imported(inbox, job):
        return False
    return inbox.remove(path)


def _find_labeled(library: Library) -> set[str]:
    """Return the ids of the reports with a label, and of those linked to them."""
    labeled = set(library.catalog.labels())
    for to in LINKS:
        for nsys_id, partner in library.catalog.links.all(to).items():
            if nsys_id in labeled or partner in labeled:
                labeled |= {nsys_id, partner}
    return labeled


def _map_series(library: Library, rules: Rules) -> Mapping[str, str]:
    """Return the name of each report's series, if a rule needs it."""
    if not any(rule.series for rule in rules.rules):
        return {}
    from profiledb.studies.trends.series_board import Board

    return Board(library).names_by_report()


def _map_spaces(library: Library, rules: Rules) -> Mapping[str, str]:
    """Return the space of each report that is in exactly one, if a rule needs it."""
    if not any(rule.space for rule in rules.rules):
        return {}
    return {
        key: space
        for key, spaces in library.catalog.spaces.spaces_by_report().items()
        if len(spaces) == 1
        for space in spaces
    }


def _find_age_rule(
    one: Manifest, rules: Rules, series: Mapping[str, str], spaces: Mapping[str, str], now: datetime
) -> str:
    """Return the rule by which a report is too old; empty for none."""
    fitting = (rule for rule in rules.rules if rule.space in ("", spaces.get(one.id)))
    return next((rule.words for rule in fitting if _fits_rule(rule, one, series, now)), "")


def _fits_rule(rule: Rule, one: Manifest, series: Mapping[str, str], now: datetime) -> bool:
    if not _is_older_than(one.ingested_at, rule.days, now) or rule.kind not in ("", one.kind):
        return False
    return not rule.series or (one.id in series and fnmatchcase(series[one.id], rule.series))


def _find_excess(
    library: Library, rules: Rules, sizes: Mapping[str, int], reports: list[Manifest], going: Mapping[str, str]
) -> dict[str, str]:
    """Return the oldest reports that have to go so that the rest fits the limit; reports that stay in any case
    count, too.
    """
    if rules.total_gb is None:
        return {}
    left = sum(sizes.get(one.id, 0) for one in library.list() if one.id not in going)
    reasons: dict[str, str] = {}
    for one in sorted(reports, key=lambda one: one.ingested_at):
        if left <= rules.total_gb * 1e9:
            break
        if one.id not in going:
            reasons[one.id] = f"the oldest above {rules.total_gb:g} GB"
            left -= sizes.get(one.id, 0)
    return reasons


def _plan_uploads(
    library: Library, inbox: Inbox, rules: Rules, settings: Settings, now: datetime
) -> Iterator[Deletion]:
    """Yield files of the inbox whose report is in the library or was deleted, and records of missing files.

    An export beside a report goes first: alone it would be imported as a report of its own.
    """
    if rules.uploads_days is None or (inbox.folder and not inbox.folder.is_dir()):
        return
    inbox.renew()
    why = f"uploads older than {rules.uploads_days:g} days"
    listed, jobs = set(library.catalog.report_ids()), library.catalog.jobs()
    companions = {job.path: job for job in jobs if job.state == "companion"}
    for job in reversed(jobs):
        path = Path(job.path)
        done = (job.state == "deleted" and job.report_id) or (job.state in _TAKEN and job.report_id in listed)
        if (
            not done
            or not _is_older_than(job.changed_at, rules.uploads_days, now)
            or not path.is_relative_to(inbox.root)
        ):
            continue
        if inbox.is_upload(path) and settings.samples not in path.parents:
            for one in (companions.get(str(path.with_suffix(".sqlite"))), job):
                if one is not None and inbox.is_upload(Path(one.path)) and (state := inbox.look(Path(one.path))):
                    yield Deletion("upload", one.name, why, state.bytes, one.report_id or "", one.path)
        elif not inbox.look(path):
            yield Deletion("record", job.name, why, 0, job.report_id or "", job.path)


def _is_as_imported(inbox: Inbox, job: Job) -> bool:
    """Return True if a file is in the state of its import, with which its fingerprint begins."""
    state = inbox.look(Path(job.path))
    return state is not None and re.match(rf"{re.escape(str(state))}(?![0-9a-f])", job.fingerprint) is not None


def _is_older_than(moment: str, days: float, now: datetime) -> bool:
    """Return True if a time (ISO 8601) is more than ``days`` ago."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return False
    return now - (then if then.tzinfo else then.replace(tzinfo=UTC)) > timedelta(days=days)
