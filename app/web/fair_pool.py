"""A thread pool that one person cannot fill: limits for all, for each person, and for the queue of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from profiledb.errors import BusyError
from profiledb.library.visitor import LOCAL, Visitor

T = TypeVar("T")


@dataclass
class _Queue:
    slots: CapacityLimiter
    requests: int = 0
    """Running and waiting."""


class FairPool:
    """Threads for one kind of work. Call it from the event loop only.

    Without a login everybody counts as the same person, and only the limit for all holds.

    Args:
        at_once: pieces of work that run at the same time.
        each: of these, how many one person may have.
        waiting: further pieces of one person that may wait.
        again_s: seconds after which a refused request should be sent again.
    """

    def __init__(self, at_once: int, each: int, waiting: int, again_s: int) -> None:
        self._threads = CapacityLimiter(at_once)
        self._each = each
        self._max_requests = each + waiting
        self._again_s = again_s
        self._queues: dict[tuple[str, str], _Queue] = {}

    async def run(self, person: Visitor, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread and return its result.

        Raises:
            BusyError: the person's queue is full.
        """
        if person == LOCAL:
            return await to_thread.run_sync(work, limiter=self._threads)
        key = (person.way, person.name)
        queue = self._queues.setdefault(key, _Queue(CapacityLimiter(self._each)))
        if queue.requests >= self._max_requests:
            raise BusyError(f"{queue.requests} of your requests are being answered.", self._again_s)
        queue.requests += 1
        try:
            async with queue.slots:
                return await to_thread.run_sync(work, limiter=self._threads)
        finally:
            queue.requests -= 1
            if not queue.requests:
                self._queues.pop(key, None)
