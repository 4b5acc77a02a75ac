"""Queue of files for the workers of a team: jobs of procrastinate in the catalog's database.

The catalog decides: a file in one of ``OPEN_STATES`` has a job or gets one at the next look. So nothing is lost if a
process dies between two writes, and a key per file prevents duplicates.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from psycopg_pool import PoolTimeout

from profiledb.config import Settings
from profiledb.errors import CatalogError
from profiledb.library import catalog, database, postgres
from profiledb.library.catalog import Job, read_clock
from profiledb.library.database import Shared
from profiledb.library.inbox import Inbox

TASK = "convert"
ANY_WORKER = "any"
"""Queue that every worker takes from. Each also takes from the queue of its nsys version."""
FIRST_PRIORITY = 200
"""Priority of a file that a worker had started, above that of every new file: none overtakes it."""
_DOUBLING_S = 5
"""Seconds by which a file lets later ones of half its size overtake it. Without a limit, a steady stream of small files
kept a slightly larger one waiting forever."""
_SAMPLES_S = 3_600
"""Seconds by which samples let files of the inbox overtake them."""
_EPOCH_S = 1_767_225_600
"""2026-01-01: priorities have 32 bits."""
_WAIT_S = 10.0
"""Seconds to wait for a connection. psycopg retries by itself with growing pauses; after this time it starts over."""
_QUEUED = (
    "EXISTS (SELECT 1 FROM procrastinate.procrastinate_jobs AS queued WHERE queued.status IN (%s)"
    " AND queued.queueing_lock = encode(sha256(convert_to(job.path, 'UTF8')), 'hex'))"
)
_WAITING, _RUNNING, _WAITING_OR_RUNNING = "'todo'", "'doing'", "'todo', 'doing'"


def make_app(settings: Settings) -> App:
    """Return the application of a worker, which also takes jobs."""
    kwargs = _build_connection_arguments(settings.database)
    return App(
        connector=PsycopgConnector(kwargs=kwargs, min_size=1, max_size=4, timeout=_WAIT_S, reconnect_timeout=_WAIT_S)
    )


def name_queue(version: str) -> str:
    """Return the name of the queue of workers with this nsys version."""
    return f"nsys {version}"


class Queue:
    """Puts files into the queue."""

    def __init__(self, settings: Settings, shared: Shared, inbox: Inbox) -> None:
        self._settings = settings
        self._inbox = inbox
        self._shared = shared
        connector = SyncPsycopgConnector(
            kwargs=_build_connection_arguments(settings.database), min_size=1, max_size=1, timeout=_WAIT_S
        )
        self._app = App(connector=connector)

    def close(self) -> None:
        self._app.close()

    def put_missing(self) -> int:
        """Queue all open files that are not queued and return their number."""
        states = ", ".join(f"'{state}'" for state in catalog.OPEN_STATES)
        missing = f"state IN ({states}) AND NOT {_QUEUED % _WAITING_OR_RUNNING}"
        query = f"SELECT path FROM job WHERE {missing} ORDER BY changed_at, path"
        with self._shared.connect() as db:
            paths = [row["path"] for row in db.execute(query)]
        return sum(self.put(path) for path in paths)

    def wait_again(self) -> None:
        """Set files back to waiting that no worker is converting any more."""
        freed = f"state IN ('converting', 'loading') AND {_QUEUED % _WAITING} AND NOT {_QUEUED % _RUNNING}"
        with self._shared.connect(database.FILES) as db:
            if db.execute(f"SELECT 1 FROM job WHERE {freed} LIMIT 1").fetchone():  # each write makes pages look again
                db.execute(
                    f"UPDATE job SET state = 'waiting', message = '', changed_at = ? WHERE {freed}", [read_clock()]
                )

    def give_back(self, number: int) -> None:
        """Record that a worker gives its job back, which does not count as the death of a worker."""
        with self._shared.connect("") as db:
            db.execute("UPDATE procrastinate.procrastinate_jobs SET attempts = attempts - 1 WHERE id = ?", [number])

    def put(self, path: str, queue: str = ANY_WORKER) -> bool:
        """Queue a file, small ones before others of their time, samples last; return False if it waits already."""
        lock = hashlib.sha256(path.encode()).hexdigest()
        size = state.bytes if (state := self._inbox.look(Path(path))) else 0
        is_sample = self._settings.samples in Path(path).parents
        with _translate_errors():
            self._app.open()
            priority = compute_priority(size, time.time(), is_sample=is_sample)
            deferrer = self._app.configure_task(TASK, queue=queue, lock=lock, queueing_lock=lock, priority=priority)
            try:
                deferrer.defer(path=path)
            except AlreadyEnqueued:
                return False
        return True


def compute_priority(size: int, now_s: float, *, is_sample: bool = False) -> int:
    """Return the priority of a file that arrives now: earlier files have a higher one, and so have smaller ones.

    Args:
        size: of the file, in bytes.
        now_s: seconds since 1970.
        is_sample: the file is one of the samples.
    """
    return _EPOCH_S - int(now_s) - _DOUBLING_S * size.bit_length() - (_SAMPLES_S if is_sample else 0)


def mark_waiting(jobs: Iterable[Job], known: dict[str, Job]) -> list[Job]:
    """Return files as waiting. A folder that was imported before keeps its report's id, so that the new report replaces
    it."""
    before = {path: job.report_id for path, job in known.items() if job.state == "ready"}
    return [Job(**vars(job) | {"state": "waiting", "report_id": before.get(job.path)}) for job in jobs]


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn procrastinate's connection errors into CatalogError."""
    try:
        yield
    except (ConnectorException, PoolTimeout) as error:
        raise CatalogError("The catalog's database cannot be reached.", hint="It is asked again by itself.") from error


def _build_connection_arguments(url: str) -> dict[str, Any]:
    arguments = postgres.build_connection_arguments(url)
    return arguments | {"options": f"{arguments['options']} -c search_path=procrastinate"}
