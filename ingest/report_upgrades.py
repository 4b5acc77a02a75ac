"""Brings reports up to date that an earlier version made and whose sources are gone (conversion/schema_upgrade.py).

One at a time, each into a file of its own that then takes the place of the old one: so the disk needs room for one more
report, and whoever is stopped at any moment begins that report again. A report whose source is in the inbox is
converted again instead, because that reads more. What cannot be brought up to date stays listed as it is.
"""

import logging
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from ingest import deferred_files
from ingest.conversion import limits
from ingest.conversion.child import DATABASE, Request, Runner
from profiledb.config import Settings
from profiledb.library.catalog import Manifest
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.library.version import OLDEST_SCHEMA
from profiledb.words import visible

_log = logging.getLogger("warpdeck")


@dataclass
class Upgrading:
    """The reports that are left to do; of a library that this worker holds."""

    library: Library
    settings: Settings
    inbox: Inbox
    runner: Runner
    _tried: set[str] = field(default_factory=set)
    _not_before: float = 0.0

    def look(self) -> bool:
        """Brings one report up to date; False where none is left that can be."""
        if self.runner.stopped.is_set() or time.monotonic() < self._not_before or (report := self._next()) is None:
            return False
        outcome = self._upgrade(report)
        if self.runner.stopped.is_set():
            return False
        if outcome["state"] == "ready":
            _log.info("%s was brought up to date.", visible(report.name))
            return True
        said = outcome.get("trace") or outcome.get("message", "")
        _log.warning("%s stays as an older version made it: %s", visible(report.name), said)
        if outcome["state"] == deferred_files.STATE:
            self._not_before = time.monotonic() + deferred_files.AGAIN_S
            return False
        self._tried.add(report.id)
        return True

    def _next(self) -> Manifest | None:
        older = [one for one in self.library.list() if one.is_older and one.schema_version >= OLDEST_SCHEMA]
        if not older:
            return None
        kept = self._with_source()
        return next((one for one in older if one.id not in kept and one.id not in self._tried), None)

    def _with_source(self) -> set[str]:
        """Reports of which a file lies where the worker takes it up again."""
        places = {self.inbox.root, self.settings.samples}
        return {
            job.report_id
            for job in self.library.catalog.jobs()
            if job.report_id
            and job.state in ("ready", "duplicate")
            and not places.isdisjoint((path := Path(job.path)).parents)
            and self.inbox.look(path) is not None
        }

    def _upgrade(self, report: Manifest) -> dict[str, str]:
        path = self.library.outdated_database(report.id)
        if path is None:
            return {"state": "failed", "message": "Its file is gone."}
        self.library.fetch_file(report.id, path)
        self.library.work.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=self.library.work))
        try:
            most = limits.of(path.stat().st_size, self.library.folder, self.settings)
            request = Request(path, work, self.library.folder, most, "upgrade")
            (outcome,) = list(self.runner.run([request])) or [{"state": "failed"}]
            if outcome["state"] == "ready":
                made = Manifest.from_json(outcome["manifest"])
                if made.id != report.id:
                    return {"state": "failed", "message": "Its file is that of another report."}
                self.library.publish(work / DATABASE, _as_known(report, made))
            return outcome
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _as_known(before: Manifest, made: Manifest) -> Manifest:
    """The manifest with what the report's database does not know of itself."""
    kept = {name: getattr(before, name) for name in ("ingested_at", "seconds", "sample", "parts", "space", "name")}
    return replace(made, **kept)
