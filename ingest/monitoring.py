"""Monitoring of a worker: Prometheus figures, health and log."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingest.conversion.failures import EndedJob
from profiledb.config import Settings
from profiledb.library import health
from profiledb.library.catalog import Job
from profiledb.library.health import Health
from profiledb.library.library import Library
from profiledb.monitoring import counters, logs, prometheus
from profiledb.monitoring.prometheus import Figures, Gauge, Listener

_log = logging.getLogger("warpdeck")


class WorkerMonitor:
    """Counts and logs the work of a worker."""

    def __init__(self) -> None:
        self._looked_at = time.time()
        self._running: set[str] = set()

    def note_look(self) -> None:
        """Record that the worker has looked at the inbox."""
        self._looked_at = time.time()

    def step(self, job: Job) -> None:
        """Record that a file is being converted, or without a message that it no longer is."""
        (self._running.add if job.message else self._running.discard)(job.path)

    def done(self, job: Job) -> None:
        """Count a file and log its outcome."""
        self._running.discard(job.path)
        state = job.state if job.state in counters.STATES else counters.OTHER
        counters.CONVERSIONS.add(state, job.seconds or 0.0)
        cause = job.cause if isinstance(job, EndedJob) else ""
        if job.state in ("failed", "deferred"):
            counters.FAILURES.add(cause or counters.OTHER)
        logs.log_event(
            "file", file=job.name, state=state, report=job.report_id, seconds=job.seconds, cause=cause or None
        )

    def gauges(self) -> list[Gauge]:
        """Return the gauges, which are read on each scrape."""
        return [
            Gauge(
                "warpdeck_worker_looked_seconds",
                "When the inbox was looked at last, Unix time.",
                "",
                self._read_last_look,
            ),
            Gauge("warpdeck_worker_files_at_hand", "Files that are converted now.", "", self._count_running),
        ]

    def _read_last_look(self) -> dict[str, float]:
        return {"": self._looked_at}

    def _count_running(self) -> dict[str, float]:
        return {"": float(len(self._running))}


@contextmanager
def monitor_worker(settings: Settings, library: Callable[[], Library]) -> Iterator[WorkerMonitor]:
    """Serve figures and health as the settings ask while the worker runs.

    Args:
        settings: settings of this worker.
        library: opens the worker's library.

    Raises:
        ConfigError: the address for figures is invalid or cannot be listened on.
    """
    logs.configure(settings.log)
    monitor = WorkerMonitor()
    address = prometheus.parse_address(settings.worker_metrics, "WARPDECK_WORKER_METRICS")
    listener = None
    if address is not None:
        library_health = Health(library)

        def check_health() -> tuple[bool, dict[str, str]]:
            states = library_health.parts() | health.check_inbox(settings)
            return all(state == health.OK for state in states.values()), states | health.check_confinement()

        listener = Listener(address, Figures(monitor.gauges()), check_health)
        listener.start()
    logs.log_event("worker_started")
    if health.UNSUPPORTED in health.check_confinement().values():
        _log.warning("This kernel has no Landlock: conversions run without it, with all rights of the worker's user.")
    try:
        yield monitor
    finally:
        if listener is not None:
            listener.stop()
        logs.log_event("worker_ended")
