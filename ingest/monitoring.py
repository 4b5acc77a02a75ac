"""What whoever runs a worker sees of it: figures for Prometheus and whether it is well, and its log."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingest.conversion.outcome import Ended
from profiledb.config import Settings
from profiledb.library import health
from profiledb.library.catalog import Job
from profiledb.library.health import Health
from profiledb.library.library import Library
from profiledb.monitoring import counters, logs, prometheus
from profiledb.monitoring.prometheus import Figures, Gauge, Listener

_log = logging.getLogger("warpdeck")


class Operating:
    """What a worker tells of itself while it runs."""

    def __init__(self) -> None:
        self._looked = time.time()
        self._at_hand: set[str] = set()

    def looked(self) -> None:
        """Says that it has looked at the inbox."""
        self._looked = time.time()

    def step(self, job: Job) -> None:
        """Says that a file is at hand; without a message it is no more."""
        (self._at_hand.add if job.message else self._at_hand.discard)(job.path)

    def done(self, job: Job) -> None:
        """Counts a file, and logs what became of it."""
        self._at_hand.discard(job.path)
        state = job.state if job.state in counters.STATES else counters.OTHER
        counters.CONVERSIONS.add(state, job.seconds or 0.0)
        cause = job.cause if isinstance(job, Ended) else ""
        if job.state in ("failed", "deferred"):
            counters.FAILURES.add(cause or counters.OTHER)
        logs.event("file", file=job.name, state=state, report=job.report_id, seconds=job.seconds, cause=cause or None)

    def gauges(self) -> list[Gauge]:
        """What is looked at when somebody asks."""
        return [
            Gauge("warpdeck_worker_looked_seconds", "When the inbox was looked at last, Unix time.", "", self._last),
            Gauge("warpdeck_worker_files_at_hand", "Files that are converted now.", "", self._now),
        ]

    def _last(self) -> dict[str, float]:
        return {"": self._looked}

    def _now(self) -> dict[str, float]:
        return {"": float(len(self._at_hand))}


@contextmanager
def operated(settings: Settings, library: Callable[[], Library]) -> Iterator[Operating]:
    """Tells what the settings ask for, as long as the worker runs.

    Args:
        settings: of this worker.
        library: opens the library that it works for.

    Raises:
        ConfigError: the address for figures is none, or cannot be listened on.
    """
    logs.configure(settings.log)
    told = Operating()
    where = prometheus.parse_address(settings.worker_metrics, "WARPDECK_WORKER_METRICS")
    listener = None
    if where is not None:
        looked = Health(library)

        def parts() -> tuple[bool, dict[str, str]]:
            found = looked.parts() | health.check_inbox(settings)
            return all(word == health.OK for word in found.values()), found | health.check_confinement()

        listener = Listener(where, Figures(told.gauges()), parts)
        listener.start()
    logs.event("worker_started")
    if health.UNSUPPORTED in health.check_confinement().values():
        _log.warning("This kernel has no Landlock: conversions run without it, with all rights of the worker's user.")
    try:
        yield told
    finally:
        if listener is not None:
            listener.stop()
        logs.event("worker_ended")
