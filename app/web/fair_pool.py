"""Places for work that many people want: so many at once, of these so many of one person, and no endless line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from profiledb.errors import BusyError
from profiledb.library.visitor import LOCAL, Visitor

T = TypeVar("T")


@dataclass
class _Queue:
    places: CapacityLimiter
    asked: int = 0


class FairPool:
    """Threads of a process for one kind of work. Its functions are called by the event loop alone.

    On a server without a login everybody is the same person, and no limit for one person holds.

    Args:
        at_once: pieces of work that run at the same time.
        each: of these, the ones of one person.
        waiting: further pieces of one person's work that may wait.
        again_s: seconds after which it makes sense to ask again.
    """

    def __init__(self, at_once: int, each: int, waiting: int, again_s: int) -> None:
        self._threads = CapacityLimiter(at_once)
        self._each = each
        self._most = each + waiting
        self._again_s = again_s
        self._lines: dict[tuple[str, str], _Queue] = {}

    async def run(self, person: Visitor, work: Callable[[], T]) -> T:
        """Does a piece of work in a thread.

        Raises:
            BusyError: as much of this person's work as may wait is waiting.
        """
        if person == LOCAL:
            return await to_thread.run_sync(work, limiter=self._threads)
        key = (person.way, person.name)
        line = self._lines.setdefault(key, _Queue(CapacityLimiter(self._each)))
        if line.asked >= self._most:
            raise BusyError(f"{line.asked} of your requests are being answered.", self._again_s)
        line.asked += 1
        try:
            async with line.places:
                return await to_thread.run_sync(work, limiter=self._threads)
        finally:
            line.asked -= 1
            if not line.asked:
                self._lines.pop(key, None)
