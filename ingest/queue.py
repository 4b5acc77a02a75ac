"""The files that wait for a worker of a team: jobs of procrastinate, in the database of the catalog.

The catalog says what is to be done: a file in one of ``OPEN_STATES`` has a job, or gets one at the next look. So
nothing is lost where a process dies between two writes, and one key a file keeps it from being there twice.
"""

import hashlib
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
from profiledb.library.catalog import Job, now
from profiledb.library.database import Shared
from profiledb.library.inbox import Inbox

TASK = "convert"
ANY = "any"
"""The queue that every worker takes from; beside it each has one of its own nsys."""
FIRST = 200
"""The priority of a file that was at hand already: what is dropped meanwhile does not overtake it."""
_INBOX_FIRST = 100
_WAIT_S = 10.0
"""For a connection. psycopg tries again by itself, waits twice as long each time, and after this begins anew."""
_QUEUED = (
    "EXISTS (SELECT 1 FROM procrastinate.procrastinate_jobs AS queued WHERE queued.status IN (%s)"
    " AND queued.queueing_lock = encode(sha256(convert_to(job.path, 'UTF8')), 'hex'))"
)
_WAITS, _AT_HAND, _WAITS_OR_NOT = "'todo'", "'doing'", "'todo', 'doing'"


def app(settings: Settings) -> App:
    """The application of a worker, which also takes jobs."""
    kwargs = _arguments(settings.database)
    return App(
        connector=PsycopgConnector(kwargs=kwargs, min_size=1, max_size=4, timeout=_WAIT_S, reconnect_timeout=_WAIT_S)
    )


def of_nsys(version: str) -> str:
    """The queue of the workers that have this version."""
    return f"nsys {version}"


class Queue:
    """Puts files into the queue."""

    def __init__(self, settings: Settings, shared: Shared, inbox: Inbox) -> None:
        self._settings = settings
        self._inbox = inbox
        self._shared = shared
        connector = SyncPsycopgConnector(kwargs=_arguments(settings.database), min_size=1, max_size=1, timeout=_WAIT_S)
        self._app = App(connector=connector)

    def close(self) -> None:
        """Closes its connections."""
        self._app.close()

    def put_missing(self) -> int:
        """Puts all files there that are to be done and are not; how many that were."""
        states = ", ".join(f"'{state}'" for state in catalog.OPEN_STATES)
        missing = f"state IN ({states}) AND NOT {_QUEUED % _WAITS_OR_NOT}"
        query = f"SELECT path FROM job WHERE {missing} ORDER BY changed_at, path"
        with self._shared.connect() as db:
            paths = [row["path"] for row in db.execute(query)]
        return sum(self.put(path) for path in paths)

    def wait_again(self) -> None:
        """Has the catalog say that files wait which no worker has at hand any more."""
        freed = f"state IN ('converting', 'loading') AND {_QUEUED % _WAITS} AND NOT {_QUEUED % _AT_HAND}"
        with self._shared.connect(database.FILES) as db:
            if db.execute(f"SELECT 1 FROM job WHERE {freed} LIMIT 1").fetchone():  # what is written is news for pages
                db.execute(f"UPDATE job SET state = 'waiting', message = '', changed_at = ? WHERE {freed}", [now()])

    def give_back(self, number: int) -> None:
        """Notes that a job at hand is given back: that counts as no death of a worker."""
        with self._shared.connect("") as db:
            db.execute("UPDATE procrastinate.procrastinate_jobs SET attempts = attempts - 1 WHERE id = ?", [number])

    def put(self, path: str, queue: str = ANY) -> bool:
        """Puts a file into a queue, small ones first, samples last; False where it waits already."""
        lock = hashlib.sha256(path.encode()).hexdigest()
        size = state.bytes if (state := self._inbox.look(Path(path))) else 0
        first = 0 if self._settings.samples in Path(path).parents else _INBOX_FIRST
        with _told():
            self._app.open()
            deferrer = self._app.configure_task(
                TASK, queue=queue, lock=lock, queueing_lock=lock, priority=first - size.bit_length()
            )
            try:
                deferrer.defer(path=path)
            except AlreadyEnqueued:
                return False
        return True


def waiting(jobs: Iterable[Job], known: dict[str, Job]) -> list[Job]:
    """Files as they wait; a folder that was taken in before remembers as what, for the report to be replaced."""
    before = {path: job.report_id for path, job in known.items() if job.state == "ready"}
    return [Job(**vars(job) | {"state": "waiting", "report_id": before.get(job.path)}) for job in jobs]


@contextmanager
def _told() -> Iterator[None]:
    """Turns what procrastinate says of the database into our words."""
    try:
        yield
    except (ConnectorException, PoolTimeout) as error:
        raise CatalogError("The catalog's database cannot be reached.", hint="It is asked again by itself.") from error


def _arguments(url: str) -> dict[str, Any]:
    given = postgres.connection_arguments(url)
    return given | {"options": f"{given['options']} -c search_path=procrastinate"}
