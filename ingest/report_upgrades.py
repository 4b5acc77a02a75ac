"""Upgrade reports of earlier versions whose sources are gone (conversion/schema_upgrade.py).

Each upgrade writes a new file that then replaces the old one, so the disk needs space for one more report and an
interrupted upgrade starts over. A report whose source is in the inbox is converted again instead, which reads more
data. A report that cannot be upgraded stays listed as it is.
"""

import logging
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from ingest import deferred_files
from ingest.conversion import limits
from ingest.conversion.messages import DATABASE, Outcome, Request
from ingest.conversion.runner import Runner
from profiledb.config import Settings
from profiledb.library.catalog import Manifest
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.library.report_list import Filters
from profiledb.library.version import OLDEST_SCHEMA
from profiledb.words import visible

_log = logging.getLogger("warpdeck")


@dataclass
class ReportUpgrades:
    """The reports of a library that wait for an upgrade; the worker holds the library's lock."""

    library: Library
    settings: Settings
    inbox: Inbox
    runner: Runner
    _tried: set[str] = field(default_factory=set)
    _not_before: float = 0.0

    def upgrade_next(self) -> bool:
        """Upgrade one report; return False if none is left."""
        if self.runner.stopped.is_set() or time.monotonic() < self._not_before or (report := self._find_next()) is None:
            return False
        outcome = self._upgrade_report(report)
        if self.runner.stopped.is_set():
            return False
        if outcome.state == "ready":
            _log.info("%s was upgraded.", visible(report.name))
            return True
        reason = outcome.trace or outcome.message
        _log.warning("%s could not be upgraded: %s", visible(report.name), reason)
        if outcome.state == deferred_files.STATE:
            self._not_before = time.monotonic() + deferred_files.AGAIN_S
            return False
        self._tried.add(report.id)
        return True

    def _find_next(self) -> Manifest | None:
        listing = self.library.catalog.listing
        if not (older := set(listing.ids(Filters(is_older=True))) - self._tried):
            return None
        reports = listing.get(older - self._list_reports_with_source()).values()
        return next((one for one in reports if one.schema_version >= OLDEST_SCHEMA), None)

    def _list_reports_with_source(self) -> set[str]:
        """Return the reports whose source file lies where the worker converts it again."""
        places = {self.inbox.root, self.settings.samples}
        return {
            job.report_id
            for job in self.library.catalog.jobs()
            if job.report_id
            and job.state in ("ready", "duplicate")
            and not places.isdisjoint((path := Path(job.path)).parents)
            and self.inbox.look(path) is not None
        }

    def _upgrade_report(self, report: Manifest) -> Outcome:
        path = self.library.outdated_database(report.id)
        if path is None:
            return Outcome("failed", message="Its file is gone.")
        self.library.fetch_file(report.id, path)
        self.library.work.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=self.library.work))
        try:
            most = limits.compute_limits(path.stat().st_size, self.library.folder, self.settings)
            request = Request(path, work, self.library.folder, most, "upgrade")
            (outcome,) = list(self.runner.run([request])) or [Outcome("failed")]
            if outcome.state == "ready":
                upgraded = Manifest.from_json(outcome.manifest)
                if upgraded.id != report.id:
                    return Outcome("failed", message="Its file is that of another report.")
                self.library.publish(work / DATABASE, _keep_known_facts(report, upgraded))
            return outcome
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _keep_known_facts(before: Manifest, upgraded: Manifest) -> Manifest:
    """Return the new manifest with the facts that the report's database does not contain."""
    facts = {name: getattr(before, name) for name in ("ingested_at", "seconds", "sample", "parts", "space", "name")}
    return replace(upgraded, **facts)
